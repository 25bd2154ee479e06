// Package state replicates the server's world to clients by datagrams that may be lost. Strategies with server authority put
// its bodies into their messages.
//
// On the server, one [Changes] observes the world after each tick and keeps the last values of everything as numbers. A
// [Sender] for each client keeps the acknowledged tick of each entity. It writes a body of limited size with differences
// from those values. The most urgent come first, and each entity is sent within a second if there is room for that. An
// entity that equals the client's replica takes no bytes.
//
//	changes.Observe(world)                                     // after each tick
//	message = sender.Append(message, room, interest)           // for each client
//	err := sender.Acked(ack)                                   // when it has answered
//
// On the client, a [Receiver] makes a world the replica, one whole body at a time. It keeps the last replicas for
// interpolation.
//
//	err := receiver.Receive(body)
//	ack := receiver.Ack()                                      // with the next message to the server
//	before, after := receiver.Samples(entity, tick)            // for interpolation
//
// A body needs no body before it, only the acknowledged values that it builds on. If acknowledgements cover all values of a
// tick, the body names that tick alone; otherwise it names the tick of each value. A client that lacks such values reports
// it and receives whole values. Overtaken bodies are ignored. The first state is an image: [Sender.Open], [Receiver.Load].
//
// Even motion takes almost no bytes. Two held values predict the next one, and the difference from the prediction is coded
// where it is smaller.
//
// The package does not choose the relevant entities: Append takes them as an argument. It carries the scalars of
// [ecs.Snapshot.AppendScalars]: components, resources and the set of players, without inputs, events and random source. A
// replica equals the server's state in fields that are exact or rounded to a step. Declare steps, since every bit of a
// number takes room.
//
// # Tasks
//
//   - find the changes once for all clients: [NewChanges], [Changes.Observe], [Changes.State]
//   - send to a client: [NewSender], [Sender.Open], [Sender.Append], [Sender.Acked]
//   - send all entities: [Changes.All]
//   - omit positions that motion records replicate: [Changes.OmitPositions]
//   - see whether the budget is enough: [SenderStats]
//   - follow: [NewReceiver], [Receiver.Load], [Receiver.Receive], [Receiver.Ack]
//   - draw between two states: [Receiver.Samples], [Receiver.Updates]
//   - know when all is there: [Receiver.Complete]
package state
