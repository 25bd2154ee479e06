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
// A client that reconnects in time skips loading: it continues from its newest final state, if that is still part of the
// match on the server. Predicted ticks are discarded. Another process of the client does the same from the ticks that
// Config.Log has stored: see Config.Resume. A resync skips loading as well: the player plays on until the state of the
// server has arrived. So does a change of the strategy: the image that arrives names it, and the client constructs its half
// if the strategy is among Config.Strategies.
//
// # Pauses of the server or of this host
//
// When nothing has arrived for half a second, the client waits for the server: see Stats.Waiting. Soon after, its time stops, as
// that of a room that stood still. A client that stood still itself continues with the present of the server. It gives no inputs
// for the time that has passed. While it computes the ticks of that time, for three seconds at most, the view stays as it was.
//
// # Tasks
//
//   - connect over UDP with a token: [Dial], [DialConfig], [Client]
//   - play: [NewCore], [Core.SetInput], [Core.Frame], [Core.View], [Core.Effects]
//   - send a reliable order: [Core.Order], [Core.Orders]; learn that it was refused: Refused of [Config]; chat: [Core.Chat]; pause: [Core.Pause]; leave: [Core.Leave]
//   - show the state of the client: [Core.State], [Core.Progress], [Core.Err], [Core.Stats], [Core.Desyncs]
package client
