package corpus

import (
	"slices"

	"tendon/cmd/tendon/corpus/lib"
	"tendon/ecs"
)

var steps int32

func packageVariable(w *ecs.World) {
	steps++ // want `the package variable steps is not rewound: keep it in a component or a resource`
	store(w, steps)
}

func capturedVariable() func(*ecs.World) {
	n := int32(0)
	return func(w *ecs.World) {
		n++ // want `the captured variable n is not rewound`
		store(w, n)
	}
}

type counter struct{ n int32 }

func (c *counter) receiver(w *ecs.World) { // want `receiver, given as Systems, writes to its receiver, which is not rewound`
	c.n++
	store(w, c.n)
}

var visits = map[ecs.Tick]int32{}

func visit(m map[ecs.Tick]int32, t ecs.Tick) int32 {
	m[t]++
	return m[t]
}

func writingHelper(w *ecs.World) {
	store(w, visit(visits, w.Tick())) // want `visit writes to the package variable visits, which is not rewound`
}

var score struct{ total int32 }

func aliasedVariable(w *ecs.World) {
	s := &score
	s.total++ // want `the package variable score is not rewound`
	store(w, s.total)
}

func counterElsewhere(w *ecs.World) {
	store(w, lib.Next()) // want `at lib/lib.go:15: the package variable next is not rewound`
}

// haggle is the condition of an order. Only the server and peers that execute the order call it.
func haggle(w *ecs.World, _ ecs.Player, _ ecs.Entity, _ struct{}) string {
	if w.Rand().Chance(1, 2) { // want `World.Rand changes the world in a hook that only reads: read with Component.Read`
		return "another time"
	}
	return ""
}

// cheat is a bot. Only the peer of the bot calls it.
func cheat(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes {
	for e := range units.All(w) {
		if e.B.Player == p {
			e.A.Count += 100 // want `a write through a query changes the world in a hook that only reads`
		}
	}
	return keys.Pack(Keys{Move: int8(r.IntN(3) - 1), Fire: r.Chance(1, 9)})
}

// punish validates an input. Only the server calls it.
func punish(w *ecs.World, _ ecs.Player, in ecs.InputBytes) bool {
	if keys.Unpack(in).Fire {
		w.Spawn(ecs.OwnedByWorld, unit) // want `World.Spawn changes the world in a hook that only reads`
	}
	return true
}

func readRun(w *ecs.World) {
	for run := range watched.Runs(w) {
		for i := range run.A {
			run.A[i].Count++ // want `run.A is declared as read, and a save misses the write: declare it with ecs.Write`
		}
	}
}

func fill(list []Unit, n int32) {
	for i := range list {
		list[i].Count = n
	}
}

func readRunElsewhere(w *ecs.World) {
	for run := range watched.Runs(w) {
		fill(run.A, int32(w.Tick())) // want `fill writes to run.A, which is declared as read`
		slices.Reverse(run.A)        // want `slices.Reverse writes to run.A, which is declared as read`
	}
}

func lostWrite(w *ecs.World) {
	for e := range watched.All(w) {
		e.A.Count = 0 // want `e.A is a copy, and the write to it is lost: use ecs.Write in the query`
	}
}

// stale reads derived data that no rule updates.
func stale(w *ecs.World) {
	store(w, numbers.Of(w).Of[0])
}

// number is a parallel system whose rows depend on each other.
func number(w *ecs.World) {
	n := int32(0)
	for e := range units.All(w) {
		n++
		e.A.Count = n
	}
}
