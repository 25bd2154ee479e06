// Package state replicates the server's world to clients by datagrams that may be lost. Strategies with server authority put
// its deltas into their messages.
//
// On the server, one [Changes] observes the world after each tick and stores the last values of everything as numbers. A
// [Sender] for each client stores the acknowledged tick of each entity. It writes a delta of limited size with differences
// from those values. The most urgent come first, and each entity is sent within a second if there is room for that. An
// entity that equals the client's replica takes no bytes.
//
//	changes.Observe(state, changed)                            // after each tick
//	message = sender.Append(message, room, interest)           // for each client
//	err := sender.Acked(ack)                                   // when it has answered
//
// On the client, a [Receiver] makes a world the replica, one whole delta at a time.
//
//	err := receiver.Receive(delta)
//	ack := receiver.Ack()                                      // with the next message to the server
//
// A delta needs no delta before it, only the acknowledged values that it builds on. If acknowledgements cover all values of a
// tick, the delta names that tick alone; otherwise it names the tick of each value. A client that lacks such values reports
// it and receives whole values. Overtaken deltas are ignored. The first state is an image: [Sender.Open], [Receiver.Load].
//
// Even motion takes almost no bytes. Stored values predict the next one, and the difference from the prediction is coded. The
// course of the prediction and the last differences select the models of the code. Rotations are predicted if they are declared:
// see ecs.NewComponent. The code continues with the models of a delta that the client has acknowledged. Each side stores models
// for eight deltas, 36 bytes for each declared field and kind of number. In a game of six fields, those of a delta take about 4 KiB.
//
// Senders of a tick whose deltas are equal encode them once: clients with the same baselines, whose deltas have room for all that
// is due. [Sender.Align] makes the numbers of their deltas agree.
//
// The package does not choose the relevant entities: Append takes them as an argument. It carries the scalars of
// [image.Snapshot.AppendScalars]: components, resources and the set of players, without inputs, events and random source. A
// replica equals the server's state in fields that are exact or rounded to a step. Declare steps, since every bit of a
// number takes room.
//
// [Changes.All] sends all entities, [Changes.OmitPositions] leaves positions to motion records, [SenderStats] shows whether
// the budget is enough, and [Receiver.Complete] and [Receiver.Current] whether the replica equals the server's state.
package state
