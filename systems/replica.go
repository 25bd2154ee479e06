package systems

import "tendon/ecs"

// RestTime is how long an entity must have rested before every replica has its place.
const RestTime = 2 * Second

// Unreplicated appends for each of image.Schema.Columns whether a half's whole replica may differ in it from the server's state.
func Unreplicated(dst []bool, g *ecs.Game, half Replicated) []bool {
	for range UnreplicatedColumns {
		dst = append(dst, true)
	}
	for range len(g.Schema().Columns()) - UnreplicatedColumns - len(g.Components) {
		dst = append(dst, false)
	}
	for i := range g.Components {
		lacks := false
		for _, s := range g.Schema().Components[i].Scalars() {
			lacks = lacks || s.Place && !half.Places()
		}
		dst = append(dst, lacks)
	}
	return dst
}

// UnreplicatedColumns is the number of columns, the first of image.Schema.Columns, that a replica never has: the tick with the random
// source, and the inputs.
const UnreplicatedColumns = 2
