package systems

import "tendon/ecs"

// Replicated is a client's half that is told states instead of computing them. Its newest one is what Client.View
// returns as confirmed.
//
// What it is not told is the inputs and the random source, so the checksum of the whole differs from the server's; of what
// is in it, no bit does. It is for tests and tools that hold clients against the server.
type Replicated interface {
	// Replica returns the newest state that was told, nil before there is one. whole says that it has everything that is
	// in the server's state of that tick; otherwise entities may be missing, or be as they were before.
	Replica() (s *ecs.Snapshot, whole bool)
	// Told returns the last tick that brought an entity anew, 0 for none: it is as in the server's state of that tick.
	Told(e ecs.Entity) ecs.Tick
}

// UntoldColumns is how many of a state's parts, the first of Game.Columns, a replica is not told: the tick with the random
// source, and the inputs.
const UntoldColumns = 2
