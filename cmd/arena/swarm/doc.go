// Package swarm tests whole matches that are drawn from a seed: the game, the players, their networks and clocks, the
// joins and leaves, and the faults.
//
// Messages are sent over net/link with its congestion control, as between a real client and a real server.
//
// A run has two phases. In the first, faults occur. Every state that a client confirms must be the server's. Each press
// counts at most once. Irreversible events are reported once and in order. Then all links are good again, and within
// ten seconds each client must be in the match and keep up with the server. A run in which nothing occurred fails.
//
// A failing run prints its seed, what it drew, and the command that repeats it.
//
//	go test ./cmd/arena/swarm                                   as many seeds as fit a minute
//	go test ./cmd/arena/swarm -run 'TestSwarm$' -swarm.seeds=2000
//	go test ./cmd/arena/swarm -run 'TestSwarm$' -swarm.seed=17 -v
//
// Seeds that failed once are tests of their own in regression_test.go.
//
// # Tasks
//
//   - the options of a seed: options_test.go
//   - the games, and the detection of structural changes that were rolled back: game_test.go
//   - a match and its checks: run_test.go
//   - the checks of a client's messages, inputs and effects: monitor_test.go, effects_test.go, clients_test.go
//   - bounded memory: memory_test.go
//   - the number of seeds, and the coverage of all seeds together: swarm_test.go
package swarm
