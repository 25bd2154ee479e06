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
	// Places says that this holds of places, too: of the scalars that are marked so. Where not, the half is told by other
	// means where things are, and of what has moved within RestTime or has jumped its replica has an older place.
	Places() bool
}

// RestTime is how long something must have rested for its place to be in every replica.
const RestTime = 2 * Second

// Untold appends of each of Game.Columns whether it may differ between a half's whole replica and the server's state.
func Untold(dst []bool, g *ecs.Game, half Replicated) []bool {
	for range UntoldColumns {
		dst = append(dst, true)
	}
	for range len(g.Columns()) - UntoldColumns - len(g.Components) {
		dst = append(dst, false)
	}
	for i := range g.Components {
		untold := false
		for _, s := range g.ComponentScalars(i) {
			untold = untold || s.Place && !half.Places()
		}
		dst = append(dst, untold)
	}
	return dst
}

// UntoldColumns is how many of a state's parts, the first of Game.Columns, a replica is not told: the tick with the random
// source, and the inputs.
const UntoldColumns = 2
