// Package swarm holds one test, the swarm: whole matches of which everything is drawn from one seed. The arena or a
// smaller game, who plays, over which networks, with which clocks, who comes and goes, and what goes wrong when.
//
// A run has two phases. In the first, faults happen and nothing may be lost: every state that a client confirms is
// the server's, each press counts at most once, and what cannot be taken back is told once and in order. Then all links
// are good again, and within ten seconds everybody must be in the match and keep up with the server. A run that saw
// nothing happen fails.
//
// The seed is the bug report: a failing run prints it, what it drew, and the command that plays it again.
//
//	go test ./cmd/arena/swarm                                   as many seeds as fit a minute
//	go test ./cmd/arena/swarm -run 'TestSwarm$' -swarm.seeds=2000
//	go test ./cmd/arena/swarm -run 'TestSwarm$' -swarm.seed=17 -v
//
// Seeds that failed once are tests of their own, with names that say what was wrong.
//
// # Tasks
//
//   - what a seed draws: options_test.go
//   - what is played, and how a change of structure that was taken back is seen: game_test.go
//   - how a match is played and what it must hold to: run_test.go
//   - what is seen of a client beside its state: witness_test.go, ear_test.go, halves_test.go
//   - that nothing grows: memory_test.go
//   - how many seeds, and what all of them together must have seen: swarm_test.go
//
// It exports nothing and is no part of the arena.
package swarm
