// Package session is the protocol between a room and one peer, above a transport with two channels and below the sync
// strategy. A handshake compares the versions. The state of the match is sent to new peers and to those whose state
// differs. The messages of the strategy are carried as opaque bytes. Chat, names, pauses, verdicts, round trip times, reconnect
// tokens and an orderly end are part of the protocol.
//
// [Server] is the end on the server, [Client] the end on the client. Both are sans-IO: messages and the time are
// arguments, messages are sent through a [Transport], and Receive returns an [Event] for the owner. Neither end reads a
// clock, starts a goroutine or keeps its arguments.
//
// The package does not assign seats and does not drive a strategy: see net/room. The transport is net/link.
//
//	s := session.NewServer(config, transport, now)
//	switch e := s.Receive(channel, message, now); e.Kind {
//	case session.EventHello:
//		s.Welcome(session.Welcome{Strategy: "relay", Rate: 60, Seat: 2, Epoch: epoch, Image: true}, 0, now)
//		s.SendImage(image, epoch, now)
//	case session.EventReady: // the client holds State(e.Tick)
//		s.Opened()
//		strategy.Open(peer, 2, e.Tick, now, outbox)
//	case session.EventStrategy:
//		err = strategy.Receive(peer, e.Channel, e.Message, now, outbox)
//	}
//	s.Frame(now, tick) // once per tick
//	if s.Err() != nil { … }
//
// # Hostile messages
//
// Both ends check every message. A malformed message has no effect and is counted. Too many malformed messages, or too
// many messages, end the session ([CodeProtocol], [CodeFlood]). The memory of a session is bounded: an incomplete image takes
// at most twice the bytes received, and at most 64 MB. A full queue of the transport ends the session ([CodeSlow]).
//
// # Epochs
//
// Datagrams, and all messages of a strategy, carry an epoch. The room gives a new epoch with each Welcome and each image.
// The client uses it once it has loaded the image, and sends Ready. The server uses it once it receives Ready. A Welcome without
// an image begins its epoch at once. Messages of another epoch are dropped; the strategy sends their content again.
//
// # Tasks
//
//   - serve a peer: [NewServer], [Server.Receive], [Server.Frame]
//   - accept or refuse a client: [Server.Welcome], [Server.Refuse]; without a session: [AppendRefusal], [AppendToken]
//   - send the state: [NewImage], [Server.SendImage]
//   - join: [NewClient], [Client.Receive], [Client.Ready], [Client.Live]
//   - show a player the reason of an end: [Error]
package session
