// Package predictor holds the parts that the client halves of the sync strategies share: the phase of a client, the
// time line on which it runs ahead of the server, the player's inputs, the send timer, checksums and statistics.
//
// [Core] serves all five strategies. [Line] serves those in which a client computes ticks before the server has
// confirmed them: it keeps the inputs arriving in time, and delays them where the prediction window is too small for
// the connection. [Replica] serves those in which a client receives states instead of computing them.
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
//   - follow a client from its first state to the match: [Phase], [Core.Heard]
//   - decide when to send: [SendTimer]
//   - keep inputs arriving just before they are used: [Line.Steer], [Line.Sample]
//   - receive states and events: [Replica]
//   - report checksums of confirmed ticks: [Checksums]
package predictor
