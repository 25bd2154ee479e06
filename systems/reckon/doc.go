// Package reckon is dead reckoning, the position sync of Cloud Wu's development note 12: a client moves its own entity at
// once and tells how it moves, the server goes on from that to its own present and tells the others, and each of them
// goes on to his. Nobody waits for anybody, so that movement feels the same at 20 ms and at 2 s; what is shown of the
// others is where they are believed to be.
//
// [Strategy] plays games by it (--sync reckon). A player's avatars, which are the entities in his region whose ecs.Seat
// names him and that have a place, are where his client says, within what [Guard] allows. Everything else is the
// server's: it runs the game's systems with the players' inputs, and enters where the avatars are as orders of kind
// ecs.OrderMotion, so that recordings and journals carry them. Where a system moves an avatar far, as a respawn does, the
// server has the last word. Of everything that moves the others are told by records; the rest of the state comes a few
// times a second by systems/state, without the places of what moves, and what a player's own avatar holds beside its place
// is predicted and put right. A client's systems find others where records have them.
//
// It is not for games in which the exact place decides. Its rules can be had without the strategy: what a record says and
// how it is coded, how it is continued, when one is sent, how a ghost is brought to where it should be, and what a server
// believes.
//
// Records of clients are always absolute, though those of the server are relative where they can be: a client sends at
// most ten a second beside sixty messages of inputs, 3.8 kB a second at a round trip of 100 ms, so that it would save less
// than 3 % of what it sends.
//
// A stamp on the wire is 12 bits: neither side can read records before its systems/clock exchange knows the other's
// clock. All positions are fixed point. Times are arguments: a stamp counts units of 10 ms on its sender's clock.
//
// # Example
//
//	// On the client that owns the entity, once a tick, and for the server's view of it:
//	if why := sender.Update(&record, now, 0); why != reckon.Not {
//		record.Append(&w)
//		own.Sent(&record, now)
//	}
//	if own.Echo(position, echo, rtt, now) {
//		position = echo                                           // and tell it, as a teleport
//	}
//	// On the server, for what it receives:
//	record.Read(&r, near)
//	switch guard.Check(&record, now) {
//	case reckon.Accepted, reckon.Clamped:
//		age := reckon.Dating{}.Age(record.Stamp, clientNow)       // of that client's clock, from systems/clock
//		believed, age := reckon.Arrived(record, age)
//		broadcast(rules.Forward(believed, age, reckon.StampOf(now)))
//	}
//	// On everybody else's client:
//	ghost.Receive(&config, record, reckon.Dating{}.Age(record.Stamp, serverNow), serverNow)
//	motion, ok := ghost.Shown(&config, serverNow)
//
// # Tasks
//
//   - Play a game by it: [Strategy], [New], [Config].
//   - See and do more than a view shows: [Client.Shown], [Client.Presence], [Client.Cast], [Client.Action].
//   - Say how an entity moves: [Record], [Mode], [Flags].
//   - Code it in under 10 bytes: [Record.Against], [Record.On], [Anchor].
//   - Continue it: [Rules.Predict], [Rules.Forward], [Arrived].
//   - Decide when to send: [Sender].
//   - Show others: [Ghost], [Correction]; what they do: [Track].
//   - Treat the own entity's echo: [Own].
//   - Doubt clients: [Guard].
//   - Notice that nobody speaks: [Silence], [Presence].
//   - Do without clocks: [Dating].
package reckon
