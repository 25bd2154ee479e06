// Package interest computes relevance sets: which entities are near enough to each client to be replicated to it.
//
// The caller sets positions and receives the changes:
//
//	sets, err := interest.New(interest.Config{Radius: fixed.FromInt(50), Rate: 60})
//	...
//	for row, pos := range positions {           // after each tick of the server
//		sets.Place(row, pos)
//	}
//	sets.Watch(client, itsPosition)
//	for _, e := range sets.Update() {
//		switch e.Kind {
//		case interest.Enter:
//			relevant[e.Watcher].add(e.Marker) // send its full state first
//		case interest.Leave, interest.Gone:
//			relevant[e.Watcher].remove(e.Marker)
//		}
//	}
//
// A watcher is a client and a marker is an entity. Both are small integers that the caller assigns, such as the index of
// the client and of the entity's row. Entities without a position are not markers; the caller decides which clients
// receive them.
//
// A marker enters at a distance of R or less. It leaves after one second beyond 1.25·R, so that a marker that oscillates
// at the border causes no events. After a teleport, markers enter in the same Update and leave one second later. A
// removed marker leaves at once, and its id may be reused in the same tick.
//
// # Limits
//
// Positions must be those of final ticks: sets are not rewound. Lockstep and relay do not use the package, since their
// clients simulate everything. Walls do not matter: a near entity is relevant even if it is hidden. Positions of clients
// must be the server's. The package sends nothing; tendon/systems/state chooses the updates that fit the bandwidth, by
// priorities for which [Sets.Distance] can be used.
//
// Distances are compared exactly, in fixed point, without floats, maps or a clock. Equal positions give equal events in
// the same order (watcher, then marker).
package interest
