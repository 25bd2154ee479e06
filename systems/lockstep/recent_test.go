package lockstep

import (
	"testing"

	"tendon/ecs"
)

// A client that datagrams have brought a whole window beyond the frame after which the server began to send the rest
// over the reliable channel still knows the inputs that the rest is coded against. It did not, and was stuck for good: a
// swarm's seed 27.
func TestWhatTheOtherChannelBeginsWithIsStillRemembered(t *testing.T) {
	var r recent
	game := &ecs.Game{MaxPlayers: 2}
	r.init(game)
	for f := ecs.Tick(1000); f <= 1000+redundant+1; f++ {
		r.put(f, []ecs.InputBytes{{byte(f)}, {}})
	}
	if in := r.at(1000); in == nil || in[0][0] != 1000%256 {
		t.Fatalf("inputs of frame 1000: %v", in)
	}
}
