// Package state keeps a client's replica of the server's world near what it is, by datagrams that may be lost: what a
// client holds of each entity, and bodies that bring it the differences. Strategies in which the server's state is the
// authority put these bodies into their messages.
//
// On the server, one [Changes] looks at the world after each tick and keeps the last values of everything, as numbers.
// A [Sender] for each client knows which tick of each entity the client is known to hold, and writes a body of at most
// so many bytes: differences from just those values, what is most urgent first, and everything within a second if there
// is room for that. What is as the client holds it takes nothing.
//
//	changes.Observe(world)                                     // after each tick
//	message = sender.Append(message, room, interest)           // for each client
//	err := sender.Acked(ack)                                   // when it has answered
//
// On the client, a [Receiver] makes a world the replica, whole bodies at a time, and keeps the last replicas to draw
// between.
//
//	err := receiver.Receive(body)
//	ack := receiver.Ack()                                      // with the next message to the server
//	before, after := receiver.Samples(entity, tick)            // what to draw between
//
// A body stands for itself: it needs no body before it, but only the values it builds on, of which an acknowledgement
// has said that they are held. Where acknowledgements say all of what a client holds of a tick, the body names that tick
// and no others; else it names the tick of each value. A client that did not take what was said of such a tick says so,
// and is sent whole values. Bodies that were overtaken are passed over. The first state comes as an image:
// [Sender.Open], [Receiver.Load].
//
// Things that go on evenly take next to nothing: what is coded is the difference from the course that two held values
// give, where that is nearer than the last value.
//
// The package does not say who hears of what: that is the interest which Append is handed. It carries what
// [ecs.Snapshot.AppendScalars] takes apart: components, resources and the set of players, but no inputs, events and no
// random source. A replica equals the server's state in fields that are exact or rounded to a step; declare steps, since
// every bit of a number is paid for.
//
// # Tasks
//
//   - find out what changed, once for all clients: [NewChanges], [Changes.Observe], [Changes.State]
//   - tell a client: [NewSender], [Sender.Open], [Sender.Append], [Sender.Acked]
//   - tell it everything: [Changes.All]
//   - leave out where things are, because others tell: [Changes.SetAside]
//   - know whether the budget is enough: [SenderStats]
//   - follow: [NewReceiver], [Receiver.Load], [Receiver.Receive], [Receiver.Ack]
//   - draw between two states: [Receiver.Samples], [Receiver.Updates]
//   - know when all is there: [Receiver.Complete]
package state
