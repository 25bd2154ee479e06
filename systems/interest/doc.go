// Package interest says who hears of whom: the sets of entities that each client is told of. It is why dead reckoning and
// state synchronisation scale.
//
// Positions are pushed in, changes come out:
//
//	sets, err := interest.New(interest.Config{Radius: fixed.FromInt(50), Rate: 60})
//	...
//	for row, pos := range everything {          // after each tick of the server
//		sets.Place(row, pos)
//	}
//	sets.Watch(client, itsPosition)
//	for _, e := range sets.Update() {
//		switch e.Kind {
//		case interest.Enter:
//			told[e.Watcher].add(e.Marker) // its full state first
//		case interest.Leave, interest.Gone:
//			told[e.Watcher].drop(e.Marker)
//		}
//	}
//
// A watcher is a client, a marker is an entity; both are small integers that the caller gives out and takes back, such
// as the client's index and the row's. An entity that is nowhere does not belong here: who is to hear of it is for the
// caller to say.
//
// A marker enters at a distance of R or less and leaves after a second beyond 1.25·R, so that one that goes to and fro at
// the border does neither. What moves far at once is like any other: what is new enters in the same Update, what was left
// behind leaves a second later. What is removed leaves at once, and its id may be used again in the same tick.
//
// # What it is not
//
// It is no part of the world that is rewound: positions come from ticks that are final, and sets are never taken back.
// It is not for lockstep and relay, where everybody simulates everything. It is no visibility: whoever is near is heard
// through walls. It never asks a client where it is. It spends no bytes: what goes first when not all fits, and that nothing
// waits for more than a second, is for the Sender of tendon/systems/state, by priorities for which [Sets.Distance] helps.
//
// # Determinism
//
// Distances are compared exactly, in fixed point; no floats, no maps and no clock. Equal positions give equal events in
// equal order (watcher, then marker), with every backend.
//
// # Index
//
//   - who is near: [New], [Sets.Watch], [Sets.Place], [Sets.Update], [Sets.Set], [Sets.Has]
//   - somebody is gone: [Sets.Unwatch], [Sets.Remove]
//   - which backend: [Grid], [Pairs], [Brute]
//   - how near: [Sets.Distance]
//   - set sizes, work: [Sets.Counts]
package interest
