// Package halves runs the server half and the client halves of a strategy against each other, below the room: for the
// strategies' own tests and the benchmarks.
//
// A [Match] runs them over the message layer of the simulated network, with as much of a session as they rely on. Images
// arrive after the delay of the link, a loaded client is opened on the server, and messages of an earlier connection are
// dropped. A [Loop] runs them with fixed delays in ticks and without a network: it does not allocate, so that tests count
// allocations and bytes with it.
//
// [Ships] is a game for both.
//
// Whole matches, with rooms and sessions, are in package matchsim.
package halves
