// Package client plays a match that a room serves: it connects, loads the state, catches up, gives inputs, shows the
// view, and comes back when the connection breaks.
//
// [Core] is the whole of it without sockets and clocks: messages and the time come in as arguments. It asks for a
// connection through Config.Dial, and is told by Lost that one is gone. A game's loop makes three calls:
//
//	core.SetInput(input)
//	if err := core.Frame(now); err != nil {
//		return err // the match is over for this client; the sentence says why
//	}
//	view := core.View(now)
//
// and whoever owns the connection one more, for every message: core.Receive(channel, message, now).
//
// The package is not a strategy (it drives the client half of one) and not a window.
//
// # States
//
//	connecting → loading → catching up → live
//	     ↑                                 │
//	     └───────── reconnecting ←─────────┘        any → ended
//
// Who comes back in time goes from reconnecting to catching up: it goes on from its newest final state, if the server
// says that it lies on the match. What was predicted is given up. So does another process of the client, from what
// Config.Log was told: Config.Resume.
//
// In loading, [Core.Progress] is the share of the image that has arrived. A resync passes through catching up only: the
// player plays on until the server's state is here, and [Core.Desyncs] keeps where the two differed.
//
// # Tasks
//
//   - connect over UDP with a token, with a socket and a clock: [Dial], [DialConfig], [Client]
//   - play: [NewCore], [Core.SetInput], [Core.Frame], [Core.View], [Core.Effects]
//   - act rarely and reliably: [Core.Order]; talk: [Core.Chat]; leave: [Core.Leave]
//   - say what is going on: [Core.State], [Core.Progress], [Core.Err], [Core.Stats], [Core.Desyncs]
package client
