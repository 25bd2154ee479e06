// Package matchtest holds the tests that the author of a game or of a strategy calls: whole matches in virtual time, the
// same in every run.
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
// In a game with orders, both tests of a game give random orders, valid and invalid.
//
// Tests that need more control use package matchsim directly.
//
// # Tasks
//
//   - check that a game is deterministic: [SyncTest]
//   - check that peers stay in step: [Match]
//   - check what rooms and clients expect of a strategy: [Conformance]
package matchtest
