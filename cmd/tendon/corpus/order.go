package corpus

import (
	"cmp"
	"maps"
	"slices"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/filter"

	"tendon/ecs"
)

func mapOrder(w *ecs.World) {
	byRow := map[uint32]int32{}
	for e := range watched.All(w) {
		byRow[e.Entity().Row] = int32(e.Entity().Row)
	}
	for _, row := range byRow { // want `the order of a map differs each time: sort the keys first`
		store(w, row)
		break
	}
}

func mapKeys(w *ecs.World) {
	byRow := map[uint32]bool{}
	for e := range watched.All(w) {
		byRow[e.Entity().Row] = true
	}
	if rows := slices.Collect(maps.Keys(byRow)); len(rows) > 0 { // want `maps.Keys has no order: sort the keys first`
		store(w, int32(rows[0]))
	}
}

func mapSum(w *ecs.World) {
	sum := 0.0
	for _, x := range map[int]float64{0: 1e16, 1: 1, 2: -1e16, 3: 3} { // want `the order of a map differs each time`
		sum += x
	}
	store(w, int32(sum))
}

var walkers = donburi.NewQuery(filter.Contains(unit))

func donburiWalk(w *ecs.World) {
	n := int32(0)
	for entry := range walkers.Iter(w.Donburi()) { // want `Query.Iter visits entities in donburi's order, which depends on history: use a query of ecs, or ecs.Ordered`
		n++
		unit.Get(entry).Count = n
	}
}

func unstable(w *ecs.World) {
	var list []ecs.Entity
	for e := range watched.All(w) {
		list = append(list, e.Entity())
	}
	slices.SortFunc(list, func(a, b ecs.Entity) int { // want `slices.SortFunc gives equal elements no order: use a stable sort, or compare an ecs.Entity`
		x, _ := unit.Read(w, a)
		y, _ := unit.Read(w, b)
		return cmp.Compare(x.X, y.X)
	})
	if len(list) > 0 {
		store(w, int32(list[0].Row))
	}
}
