// Package ecs declares games and runs them: components, resources, inputs, events, queries and systems, and a [World] that
// computes their ticks. The package example is a whole game.
//
// The state of a World is one memory image; package ecs/image has its snapshots, checksums, codecs and comparisons.
// Networks, clocks and state history are in packages net, systems and rollback. A World reads no clock, no file and no
// random source but its own. The same state and the same inputs give the same next state on every machine.
//
// # State
//
// A component is plain data: booleans, sized numbers, arrays and structs of them, [Entity] and [List]. An entity is a row
// and the tick in which it was born. Every component type has a column, in which the entity has the same row. Each owner
// (the world, each player) has a region of rows of its own: spawns of one player never move the entities of another. Rows
// without an entity and padding are zero, so equal states have equal bytes.
//
// # Time
//
// State(0) is the state after [Game.Setup]. Tick f ≥ 1 turns State(f−1) into State(f) with the inputs of tick f. A tick
// executes its orders, then its systems. A system can fill an entity immediately after it has spawned it. Queries yield the
// entity after the system has returned, and [World.Despawn], [Component.Add] and [Component.Remove] take effect then. A row
// that is freed in a tick is not allocated again in that tick.
//
// # Access
//
// A query declares which components it reads and which it writes: [Read] yields values, [Write] pointers. A save compares
// only pages that were declared written. A write that was not declared is a bug; SyncTest of package rollback reports it.
// Queries visit rows upwards, so their order follows from the state alone.
//
// A client that predicts some entities limits its ticks to them (see [image.Image.SetPredicted]). Systems can read every
// entity. A query that writes yields only predicted entities, and changes that [Component.Write] makes to the others
// are discarded. [World.MayWrite] distinguishes them, and [World.DiscardedWrites] counts the changes.
//
// # Hidden information
//
// A component with the role Private has values that only some players may know (see [Roles]). Fields with the tag
// `tendon:"private"` are private too. See of [Game] decides which players see the private values of an entity. Without See, that is its owner
// alone. Private fields of resources are known to the server alone, such as the order of a deck. A private event reaches only
// the players who see the entity that it is about: [Event.Private]. Spectators see nothing private.
//
//	type Hand struct{ Cards ecs.List[uint8, [10]uint8] }
//	type Deck struct {
//		Left  uint8 // public
//		Cards [52]uint8 `tendon:"private"`
//	}
//
//	var hand = ecs.NewComponent("hand", ecs.Roles[Hand]{Private: true}) // its owner sees it
//	var deck = ecs.NewResource[Deck]("deck")
//	var drew = ecs.NewEvent[Drew]("drew").Private()
//
// The strategies verify, predict and reckon never send such values to other clients, in images, states or events. So recordings
// of players do not contain them either. Clients have zero in their place. The inputs and orders of other players are not sent either. Neither is the random
// source, from which the next numbers follow. Relay and lockstep compute the whole match on each client, so they refuse such a
// game.
//
// All else is public: which entities exist, their owners, births and components, and all other values. A private hand hides its
// number of cards too. Publish the number in a field that is not private, if players may know it. To hide that an entity
// exists, use interest management, and let the world own it. Reasons of refused orders and results of matches are public. The
// length of a message may show that a public or an own value has changed.
//
// A client computes rules with zeros in place of hidden values, and with random numbers of its own. The results are
// predictions, which the server corrects. So a hand of zeros must not make a rule panic; SyncTest of package rollback tests that. A
// rule that needs hidden values or random numbers is best an order. Orders are never predicted.
//
// The server keeps a state for each seat. In each tick, it copies and compares the pages with private values for each seat. It
// calls See for each seat and each row with private values other than zero.
//
// [World.Rand] is fast but not cryptographic. From many of its numbers, a program can compute the next ones. So do not publish
// numbers as they were drawn.
//
// # Several cores
//
// A system that lists its writing queries in Parallel of [System] can run on several cores: once for each share of the rows.
// It computes each row by itself, so the state is the same on any number of cores. Calls that affect more than the rows of
// its queries panic, on one core too. Systems run one after the other. The goroutines are those of ecs/internal/workers; ecs
// and ecs/image start none.
//
// # Tasks
//
//   - declare data: [NewComponent], [NewResource], [NewInput], [NewEvent], [NewOwnEvent], [NewDerived], [List]
//   - declare a game and check it: [Game], [Game.Check]; check other targets: [Game.Schema], [image.Schema.Portable]
//   - visit entities: [NewQuery1] to [NewQuery4], with [With] and [Without]; fast loops over slices: [Query.Runs]
//   - visit entities by more than four components: [JoinQueries]
//   - use several cores: Parallel of [System], SplitRows of [Game]
//   - read or write one entity: [Component.Read], [Component.Write], [Component.Put]
//   - change structure: [World.Spawn], [World.Despawn], [Component.Add], [Component.Remove]
//   - tie children to a parent, with which they are removed: [NewHierarchy]
//   - wait a number of ticks: [World.Timer], [World.Every]
//   - find shapes that overlap and entities that are near: package ecs/space
//   - draw random numbers, choices with weights and random orders: [World.Rand]
//   - hide cards, roles and other values from players: Private of [Roles], See of [Game], [Event.Private], [World.Sees]
//   - report something to views: [Event.Emit], [World.Events]
//   - run a tick: [NewWorld], [World.Step]
//   - declare orders: [NewOrder], [Order.Do], [OrderRule.If], Orders of [Game]; give them: [Order.Give]; find those that a
//     tick refused: [World.Refusals]
//   - report the result of a match: Result of [Game]
//   - rewind and compare states: [World.Image], [image.Image.Save], [image.Image.Restore], [image.FirstDifference]
//   - simulate a past state in a second world: [View.Past]; keep more of them: History of [Screen]
//   - read an older state: [Component.ReadAt]; hit what a player saw (lag compensation): [Component.Seen], [image.Image.Targets]
//   - round values to the resolution of a wire: the tag `tendon:"step=1/512"`, Quantise of [Roles]
//   - check that two peers can play: [Game.Fingerprint], [image.Schema.HasFloats]
//   - find stale derived data and changed donburi entries: [World.Check]
//   - draw: [NewView], [Screen], [Canvas]; entities on several timelines: [View.Compose] to [View.Dress]
//   - use donburi code: [World.Donburi], [World.Entry], [Ordered]
//
// The image's bytes are those of little-endian targets. [Game.Check] refuses other targets.
package ecs
