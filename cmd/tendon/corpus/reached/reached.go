// Package reached holds the ways in which a tick reaches a fault.
package reached

import (
	"slices"
	"sort"
	"time"

	"tendon/cmd/tendon/corpus/lib"
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/space"
)

// Unit has a position.
type Unit struct{ Pos fixed.Vec2 }

// Keys have rules of their own for predictions.
type Keys struct{ Move int8 }

// Predict is called in every tick that is predicted.
func (k Keys) Predict() Keys {
	k.Move = int8(time.Now().Second()) // want `time.Now`
	return k
}

var (
	unit = ecs.NewComponent("unit", ecs.Roles[Unit]{
		Lerp: func(a, b Unit, t float64) Unit {
			a.Pos.X = fixed.Num(time.Now().Second()) // want `time.Now`
			a.Pos.Y = fixed.FromFloat(t)
			a.Pos.Y += fixed.FromFloat(t * t) // want `fixed.FromFloat of a float` `some processors fuse`
			return a
		},
		Quantise: func(u *Unit) {
			u.Pos.X = fixed.Num(time.Now().Second()) // want `time.Now`
		},
	})
	keys  = ecs.NewInput[Keys]()
	units = ecs.NewQuery1(ecs.Write(unit))
	ages  = ecs.NewDerived("ages", func(w *ecs.World, into *int32) {
		*into = int32(time.Now().Second()) // want `time.Now`
		for e := range units.All(w) {
			e.A.Pos = fixed.Vec2{} // want `a write through a query changes the world`
		}
	}, func(a, b *int32) bool { return *a == *b })
)

var grid = space.NewGrid(unit, space.GridConfig[Unit]{Cell: fixed.One, Bounds: func(u Unit) space.Bounds {
	time.Now() // want `time.Now`
	return space.Bounds{Min: u.Pos, Max: u.Pos}
}})

func throughGrid(w *ecs.World) {
	for range grid.SeenIn(w, 0, space.Bounds{}) {
	}
}

var now = func() int { return time.Now().Second() } // want `time.Now`

func throughVariable(*ecs.World) { now() }

type rule interface{ run(w *ecs.World) }

type rain struct{}

func (rain) run(*ecs.World) { time.Now() } // want `time.Now`

var rules = []rule{rain{}}

func throughInterface(w *ecs.World) {
	for _, r := range rules {
		r.run(w)
	}
}

var table = map[string]func(*ecs.World){"snow": snow}

func snow(*ecs.World) { time.Now() } // want `time.Now`

func throughTable(w *ecs.World) { table["snow"](w) }

func twice[T any](f func() T) (T, T) { return f(), f() }

func throughGeneric(*ecs.World) {
	twice(func() int { return time.Now().Second() }) // want `time.Now`
}

func throughDefer(*ecs.World) {
	defer func() { time.Now() }() // want `time.Now`
}

type weather struct{ base }

type base struct{}

func (base) change(*ecs.World) { time.Now() } // want `time.Now`

func throughEmbedded(w *ecs.World) { weather{}.change(w) }

// every returns a rule that runs in each n-th tick.
func every(n ecs.Tick, f func(*ecs.World)) func(*ecs.World) {
	return func(w *ecs.World) {
		if w.Tick()%n == 0 {
			f(w)
		}
	}
}

func throughResult(*ecs.World) { time.Now() } // want `time.Now`

type byTime []int

func (l byTime) Len() int           { return len(l) }
func (l byTime) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l byTime) Less(i, j int) bool { return time.Now().Second() > 3 } // want `time.Now`

func throughSort(*ecs.World) {
	sort.Stable(byTime{1, 2})
}

func throughLibrary(w *ecs.World) { lib.Run(rain2{}) }

type rain2 struct{}

func (rain2) Apply() int32 { return int32(time.Now().Second()) } // want `time.Now`

var scratch []ecs.Entity

func throughScratch(w *ecs.World) {
	list := append(scratch[:0], ecs.Entity{}) // want `the package variable scratch is not rewound`
	_ = list
	slices.Reverse(scratch) // want `slices.Reverse writes to the package variable scratch`
}

func throughUnsorted(w *ecs.World) {
	var list []int
	for k := range map[int]bool{1: true, 2: true} { // want `the order of a map`
		list = append(list, k)
	}
	units.All(w)
	_ = list
}

type spell struct{ cast func(*ecs.World) }

func cast(*ecs.World) { time.Now() } // want `time.Now`

var spells = []spell{{cast: cast}}

func throughStruct(w *ecs.World) {
	for _, s := range spells {
		s.cast(w)
	}
}

type match struct{ score map[ecs.Player]int }

func (m *match) count(p ecs.Player) { m.score[p]++ }

func newRules(m *match) func(*ecs.World) {
	return func(*ecs.World) {
		m.count(0) // want `count writes to the captured variable m`
	}
}

func throughField(w *ecs.World) { time.Now() } // want `time.Now`

func throughAssignment(w *ecs.World) { time.Now() } // want `time.Now`

func throughSlice(w *ecs.World) { time.Now() } // want `time.Now`

func makeGame() *ecs.Game {
	g := &ecs.Game{
		Name: "reached", TickRate: 60, MaxPlayers: 4, Input: keys, Components: ecs.Components(unit), Derived: []ecs.AnyDerived{ages, grid.Derived()},
		Systems: []ecs.System{{Name: "field", Run: throughField}, {Name: "literal", Run: throughLiteral}},
		Join:    func(*ecs.World, ecs.Player, ecs.Card) { time.Now() }, // want `time.Now`
	}
	g.Setup = throughAssignment
	list := []func(*ecs.World){throughVariable, throughInterface, throughTable, throughGeneric, throughDefer, throughEmbedded,
		every(3, throughResult), throughSort, throughLibrary, throughGrid, throughScratch, throughUnsorted, throughStruct, newRules(new(match))}
	list = append(list, throughSlice)
	g.Systems = append(g.Systems, ecs.Systems(list...)...)
	g.Validate = func(*ecs.World, ecs.Player, ecs.InputBytes) bool { return time.Now().Second() > 3 } // want `time.Now`
	g.Physics.Floor = func(x, y fixed.Num) fixed.Num { return fixed.Num(time.Now().Second()) }        // want `time.Now`
	return g
}

func throughLiteral(*ecs.World) { time.Now() } // want `time.Now`

// Game is the game of the rules.
var Game = makeGame()

// A reason is required.
func unreasoned() {
	/* want `tendon:allow without a reason` */ //tendon:allow
}

var _ = unreasoned
