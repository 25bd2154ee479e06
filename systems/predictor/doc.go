// Package predictor holds what the client halves of the sync strategies share.
//
// A half is a list of named systems. [Half] runs them, and [Core] is the context that they share: the phase of the
// client, its send timer, its counters. [Line] is the timeline of a client that computes ticks before the server has
// confirmed them, in relay and predict. [Mirror] is the half of a client that receives states, in predict and reckon.
//
// # Tasks
//
//   - follow a client from its first state to the match: [Phase], [Core.Answered]
//   - decide when to send: [SendTimer]
//   - keep inputs arriving just before they are used: [Line.Steer], [Line.Sample]
//   - receive states and events: [Mirror]
//   - report checksums of confirmed ticks: [Checksums]
package predictor
