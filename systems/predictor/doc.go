// Package predictor holds what the client halves of the sync strategies share.
//
// A half is a list of named systems. [Half] runs them, and [Core] is the context that they share: the phase of the
// client, its send timer, its counters. [Line] is the time line of a client that computes ticks before the server has
// confirmed them. It keeps the inputs arriving in time, and delays them where the prediction window is too small.
// [Replica] is the part of a client that receives states instead of computing them.
//
//	           Core   Line   Replica
//	relay      yes    yes    no
//	lockstep   yes    no     no
//	predict    yes    yes    yes
//	reckon     yes    no     yes
//	verify     yes    no     no
//
// # Tasks
//
//   - follow a client from its first state to the match: [Phase], [Core.Answered]
//   - decide when to send: [SendTimer]
//   - keep inputs arriving just before they are used: [Line.Steer], [Line.Sample]
//   - receive states and events: [Replica]
//   - report checksums of confirmed ticks: [Checksums]
package predictor
