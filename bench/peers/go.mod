module tendon/bench/peers

go 1.26.0

require (
	github.com/mlange-42/ark v0.8.1
	github.com/xtaci/kcp-go/v5 v5.6.72
	github.com/yohamta/donburi v1.15.7
	tendon v0.0.0
)

replace tendon => ../..
