package matchtest

import "tendon/ecs"

// crowdSize is how many entities stand around in the crowd: enough that its state is many pieces of an image.
const crowdSize = 5000

// dust is noise: it does not compress away.
type dust struct{ A, B, C, D uint64 }

var (
	crowdDust  = ecs.NewComponent[dust]("dust")
	crowdDusty = ecs.NewQuery1(ecs.Write(crowdDust))
)

// crowd is the game that Conformance plays: Dots in a world whose state takes seconds to send.
func crowd() *ecs.Game {
	g := Dots()
	g.Name = "crowd"
	g.Components = append(g.Components, crowdDust)
	g.Setup = func(w *ecs.World) {
		r := w.Rand()
		for range crowdSize {
			crowdDust.Put(w, w.Spawn(ecs.OwnedByWorld, crowdDust), dust{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()})
		}
	}
	return g
}

// flipDust makes one bit wrong, which no system sets right again.
func flipDust(w *ecs.World) {
	for e := range crowdDusty.All(w) {
		e.A.C ^= 1 << 17
		return
	}
}

// avatarOf returns the entity of a player, the zero one if there is none.
func avatarOf(w *ecs.World, p ecs.Player) (avatar ecs.Entity) {
	for e := range dotSteered.All(w) {
		if e.B.Player == p {
			avatar = e.Entity()
		}
	}
	return avatar
}
