// Package session is one peer's protocol: everything between a transport that carries messages on two channels and a
// sync strategy. It says who may play (the handshake and its refusals), hands a peer the state of the match (late
// join, resync, spectating are one image transfer), carries the strategy's messages as opaque bytes, and adds chat,
// round trips, reconnect tokens and a proper end.
//
// [Server] is the room's end of one connection, [Client] the peer's. Both are sans-IO: messages and the time come in
// as arguments, messages leave through a [Transport], and what the owner must act on comes back as an [Event]. Neither
// reads a clock, starts a goroutine or keeps what it was given.
//
// The package is not a transport (net/link is), not a room (net/room decides on seats and drives the strategy), and
// it knows nothing of what a strategy says.
//
//	s := session.NewServer(config, transport, now)
//	switch e := s.Receive(channel, message, now); e.Kind {
//	case session.EventHello:
//		s.Welcome(session.Welcome{Strategy: "relay", Rate: 60, Seat: 2, Epoch: epoch, Image: true}, now)
//		s.SendImage(image, epoch)
//	case session.EventReady: // the client holds State(e.Tick)
//		strategy.Open(peer, 2, e.Tick, now, outbox)
//	case session.EventStrategy:
//		err = strategy.Receive(peer, e.Channel, e.Message, now)
//	}
//	s.Frame(now, tick) // once per tick
//	if s.Err() != nil { … }
//
// # Hostile bytes
//
// Both ends check everything that arrives. A message that cannot be used changes nothing and is counted; a peer that
// sends too many of them, or too much, is let go ([CodeProtocol], [CodeFlood]). What a session holds is bounded: its
// queue of reliable messages by QueueBytes, an image under way by what has arrived of it and by MaxImage.
//
// # Epochs
//
// Messages on the datagram channel and all messages of a strategy carry the epoch under which they were sent. The
// room gives a new one with each welcome and each image. The client changes over when it has loaded the image and
// says so (Ready); the server when it reads that. So the server drops late datagrams of before and no reliable
// message, and the client drops what the strategy said before it was opened anew, which it will hear again.
//
// # Tasks
//
//   - serve a peer: [NewServer], [Server.Receive], [Server.Frame]
//   - let one in or not: [Server.Welcome], [Server.Refuse]; without a session: [AppendRefusal]
//   - give one the state: [NewImage], [Server.SendImage]
//   - join: [NewClient], [Client.Receive], [Client.Ready], [Client.Live]
//   - tell a player what went wrong: [Error]
package session
