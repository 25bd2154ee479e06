// Package matchtest plays whole matches over the simulated network, for the tests of games, strategies and rooms: a
// room and its clients as they run in production, without sockets, in virtual time, the same in every run.
//
// A game's author writes two tests:
//
//	func TestMyGameIsDeterministic(t *testing.T) { matchtest.SyncTest(t, game) }
//	func TestMyGameStaysInStep(t *testing.T)     { matchtest.Match(t, game, "P5") }
//
// A strategy's author writes one:
//
//	func TestConformance(t *testing.T) { matchtest.Conformance(t, mine.Strategy) }
//
// Whoever needs more control builds a [Harness]: a room, clients with a network profile and a clock each, that join
// and leave when they are told to, and faults. One with a [Journal] can kill its room and begin it again, with or
// without the end of the journal, and holds the match to every tick that any client had confirmed.
//
// It is not the simulated network (net/simnet is) and not a benchmark.
//
// # Tasks
//
//   - find out whether a game is deterministic: [SyncTest]
//   - find out whether peers stay in step: [Match]
//   - hold a strategy to what rooms and clients expect of it: [Conformance]
//   - play a match of one's own: [New], [Harness.Join], [Harness.Run], [Client.Fault], [Client.Restart]
//   - end the server and begin it again: [Harness.Crash], [Harness.Recover]; without a harness: [Journal.Attach], [Journal.Resume]
package matchtest
