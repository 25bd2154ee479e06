// Package ecs holds a game's simulated state as one memory image, and what a
// game author writes: components, resources, inputs, events, queries and
// systems. A [World] is one copy of a match; [World.Step] turns its state
// into the next tick's; [World.Save] and [World.Restore] go back and forth
// between states for the price of the pages that differ; [Snapshot.Checksum]
// tells two states apart, and [FirstDifference] says where.
//
// It is not a network, a clock or a ring of states (packages systems, net and
// rollback are), and it decides nothing about who simulates what. It reads no
// clock, no file and no dice of its own: the same state and the same inputs
// give the same next state on every machine.
//
// # State
//
// A component is plain data: booleans, sized numbers, arrays and structs of
// them, [Entity] and [List]. Each component type has a column of rows, cut
// into pages; an entity is a row and the tick it was born in, and its data
// stands in the same row of every column. Rows without an entity are zero, and
// so is padding, so equal states are equal bytes, whatever road led there.
// Every owner (the world, each player) has a region of rows of its own: one
// player's spawns never move another's entities.
//
// # Time
//
// State(0) is the state after [Game.Setup]. Tick f ≥ 1 turns State(f−1) into
// State(f) with the inputs of tick f. A tick runs its orders in their order,
// then the systems in theirs. What a system spawns it can fill at once;
// queries see it, and [World.Despawn], [Component.Add] and [Component.Remove]
// take effect, when the system has returned. A row freed in a tick is not
// taken again in that tick.
//
// # Access
//
// A query says what it reads and what it writes: [Read] yields values, [Write]
// pointers. Only pages that were declared written are compared when a state is
// saved, so a write past the declaration is a bug, which
// [World.UndeclaredWrite] finds and [World.Strays] counts. Queries walk rows
// upwards: their order follows from the state alone.
//
// A client that is not the authority predicts some rows and is told the rest.
// [World.SetPredicted] makes that a property of the world: systems stay as they
// are, read everything and write what is predicted, and whatever else they do
// does not outlast their tick.
//
// # A game
//
//	type Body struct{ X, VX fixed.Num }
//	type Pad struct{ DX int8 }
//
//	var (
//		body   = ecs.NewComponent[Body]("body")
//		seat   = ecs.NewComponent[ecs.Seat]("seat")
//		pad    = ecs.NewInput[Pad]()
//		moving = ecs.NewQuery2(ecs.Write(body), ecs.Read(seat))
//	)
//
//	func move(w *ecs.World) {
//		for e := range moving.All(w) {
//			e.A.VX = fixed.FromInt(int(pad.Of(w, e.B.Player).DX))
//			e.A.X += e.A.VX
//		}
//	}
//
//	var dots = &ecs.Game{
//		Name: "dots", TickRate: 60, MaxPlayers: 2,
//		Components: ecs.Components(body, seat), Input: pad,
//		Systems: ecs.Systems(move),
//		Join: func(w *ecs.World, p ecs.Player) {
//			seat.Put(w, w.Spawn(ecs.OwnedBy(p), body, seat), ecs.Seat{Player: p})
//		},
//	}
//
// # Tasks
//
//   - declare data: [NewComponent], [NewResource], [NewInput], [NewEvent], [NewDerived], [List]
//   - declare a game and check it: [Game], [Game.Check], [Portable]
//   - walk entities: [NewQuery1] to [NewQuery4], with [With] and [Without]; fast loops over slices: [Query2.Runs]
//   - read or write one entity: [Component.Read], [Component.Write], [Component.Put]
//   - change structure: [World.Spawn], [World.Despawn], [Component.Add], [Component.Remove]
//   - draw random numbers: [World.Rand]; outside the state: [NewRand]
//   - tell the view something: [Event.Emit], [World.Events]; a client that did not simulate: [World.AppendEvents], [Game.ReadEvents]
//   - run a tick: [NewWorld], [World.Step]
//   - refuse an order, say how a match ended: the hooks ValidateOrder and Result of [Game]
//   - rewind: [World.Save], [World.Restore]
//   - predict some rows only: [World.SetPredicted] with a [RowSet]; lay the server's state under them: [World.Overlay]; see how far a prediction was off: [Deviation]
//   - read an older state: [Component.ReadAt], [ExistsAt]
//   - judge by what a player saw: [World.SetPast], an order of kind [OrderView], [Component.Seen], [World.Targets], [World.ViewOf]
//   - let a client say where its avatar is: an order of kind [OrderMotion], [Placement], [World.Placed]
//   - compare states: [Snapshot.Checksum], [Snapshot.ComponentChecksums], [FirstDifference], [Differences]
//   - send or store a state: [Snapshot.AppendImage], [World.LoadImage]
//   - send what changed in a state: [Snapshot.AppendDelta], [World.ApplyDelta]
//   - tell a replica of entities: [Changed], [Snapshot.AppendScalars], [World.PutEntity]; round what a wire carries: the tag
//     `tendon:"step=1/512"` on a field, Quantise of [Roles]
//   - check that two peers can play: [Game.Fingerprint], [Game.HasFloats]; by which strategy: [Game.HasMotion],
//     [Game.HasSetMotion], [Game.HasLerp]
//   - clean, predict and merge inputs: [Game.CleanInput], [Game.PredictInput], [Game.MergeLate]
//   - find undeclared writes and stale derived data: [World.UndeclaredWrite], [World.CheckDerived]
//   - draw: [NewView], [Canvas]; entities on several timelines: [View.Compose] to [View.Dress]; use donburi code: [World.Donburi], [World.Entry]
//   - measure systems: [World.SetObserver]
//
// The image's bytes are those of little-endian targets, which all targets of
// games are; [Game.Check] refuses others.
package ecs
