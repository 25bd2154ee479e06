package systems

import "tendon/ecs"

// RestTime is how long an entity must have rested before every replica has its place.
const RestTime = 2 * Second

// Untold appends for each of Game.Columns whether a half's whole replica may differ in it from the server's state.
func Untold(dst []bool, g *ecs.Game, half Replicated) []bool {
	for range UntoldColumns {
		dst = append(dst, true)
	}
	for range len(g.Schema().Columns()) - UntoldColumns - len(g.Components) {
		dst = append(dst, false)
	}
	for i := range g.Components {
		untold := false
		for _, s := range g.Schema().Components[i].Scalars() {
			untold = untold || s.Place && !half.Places()
		}
		dst = append(dst, untold)
	}
	return dst
}

// UntoldColumns is the number of columns, the first of Game.Columns, that a replica never has: the tick with the random
// source, and the inputs.
const UntoldColumns = 2
