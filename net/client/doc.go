// Package client plays a match that a room serves. It connects, loads the state, catches up, sends inputs, updates the
// view, and reconnects when the connection is lost.
//
// A [Client] has a UDP socket and a clock. The loop of a game makes three calls: SetInput, Frame and View. A [Core] has
// neither: messages and the time are arguments, connections come from Config.Dial, [Core.Receive] processes each message,
// and [Core.Lost] reports that a connection is lost.
//
// # States
//
//	connecting → loading → catching up → live
//	     ↑                                 │
//	     └───────── reconnecting ←─────────┘        any → ended
//
// A client that reconnects in time skips loading: it goes on from its newest final state, if that is still part of the
// match on the server. Predicted ticks are discarded. Another process of the client does the same from the ticks that
// Config.Log has stored: see Config.Resume. A resync skips loading as well: the player plays on until the state of the
// server has arrived.
//
// # Tasks
//
//   - connect over UDP with a token: [Dial], [DialConfig], [Client]
//   - play: [NewCore], [Core.SetInput], [Core.Frame], [Core.View], [Core.Effects]
//   - send a reliable order: [Core.Order]; chat: [Core.Chat]; leave: [Core.Leave]
//   - show the state of the client: [Core.State], [Core.Progress], [Core.Err], [Core.Stats], [Core.Desyncs]
package client
