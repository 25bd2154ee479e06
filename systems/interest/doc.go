// Package interest says who hears of whom, and what of it first: the sets of entities that each client is told of, and
// the order in which a byte budget is spent on them. It is why dead reckoning and state synchronisation scale.
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
//			queues[e.Watcher].Add(e.Marker) // the first update is its full state
//		case interest.Leave, interest.Gone:
//			queues[e.Watcher].Drop(e.Marker)
//		}
//	}
//
// A watcher is a client, a marker is an entity; both are small integers that the caller gives out and takes back, such
// as the client's index and the row's. An entity that enters sets without having a place does not belong here: it goes
// to every Queue by hand.
//
// A marker enters at a distance of R or less and leaves after a second beyond 1.25·R, so that one that goes to and fro at
// the border does neither. What moves far at once is like any other: what is new enters in the same Update, what was left
// behind leaves a second later. What is removed leaves at once, and its id may be used again in the same tick.
//
// Each client has a Queue, filled once per datagram:
//
//	queue.Fill(1100, func(row int) fixed.Num {
//		return weights.Priority(interest.Facts{Distance: sets.Distance(client, row), Radius: radius, FiredSince: -1})
//	}, func(row, room int) int {
//		return encode(row, room) // bytes, or interest.Refused
//	})
//
// # What it is not
//
// It is no part of the world that is rewound: positions come from ticks that are final, and sets are never taken back.
// It is not for lockstep and relay, where everybody simulates everything. It is no visibility: whoever is near is heard
// through walls. And it never asks a client where it is.
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
//   - what is sent first: [Queue.Fill], [Weights]
//   - what must not stay wrong: [Queue.Rested], [Queue.Acked]
//   - set sizes, starvation, work: [Sets.Counts], [Queue.Counts]
package interest
