package matchtest

import (
	"tendon/ecs"
	"tendon/net/matchsim/halves"
)

// dustCount is the number of dust entities: enough that an image of the state takes many pieces.
const dustCount = 5000

// dust is random data, so that it does not compress.
type dust struct{ A, B, C, D uint64 }

var (
	dustOf    = ecs.NewComponent[dust]("dust")
	dustQuery = ecs.NewQuery1(ecs.Write(dustOf))
)

// largeGame returns the game that Conformance plays: halves.Dots in a world whose image takes seconds to send.
func largeGame() *ecs.Game { return dustyGame(dustCount) }

// dustyGame returns Dots with this many dust entities.
func dustyGame(count int) *ecs.Game {
	g := halves.Dots()
	g.Name = "crowd"
	g.Components = append(g.Components, dustOf)
	g.Setup = func(w *ecs.World) {
		r := w.Rand()
		for range count {
			dustOf.Put(w, w.Spawn(ecs.OwnedByWorld, dustOf), dust{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()})
		}
	}
	return g
}

// flipDust flips one bit, which no system changes back.
func flipDust(w *ecs.World) {
	for e := range dustQuery.All(w) {
		e.A.C ^= 1 << 17
		return
	}
}
