package ecs_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/rollback"
)

// The lines of DETERMINISM.md are those of this file.

type Soldier struct {
	Pos    fixed.Vec2
	Target ecs.Entity // the entity that it aims at
	Ammo   int32
	Marks  ecs.List[Mark, [4]Mark]
	_      uint32 // the same size on 32-bit targets
}

type Mark struct{ X, Y int16 }

type Hands struct {
	DX, DY int8
	Fire   bool
	Jump   bool `tendon:"press"`
}

// Crew is how many soldiers each player has.
type Crew struct{ Of [4]int32 }

var (
	soldier  = ecs.NewComponent[Soldier]("soldier")
	owner    = ecs.NewComponent[ecs.Seat]("owner")
	hands    = ecs.NewInput[Hands]()
	shot     = ecs.NewEvent[Mark]("shot")
	fallen   = ecs.NewIrreversibleEvent[ecs.Player]("fallen")
	soldiers = ecs.NewQuery2(ecs.Write(soldier), ecs.Read(owner))
	targets  = ecs.NewQuery1(ecs.Read(soldier))
)

var crew = ecs.NewDerived("crew",
	func(w *ecs.World, into *Crew) {
		*into = Crew{}
		for e := range soldiers.All(w) {
			into.Of[e.B.Player]++
		}
	},
	func(a, b *Crew) bool { return *a == *b })

func squad(systems ...func(w *ecs.World)) *ecs.Game {
	return &ecs.Game{
		Name: "squad", TickRate: 60, MaxPlayers: 4, Input: hands, Components: ecs.Components(soldier, owner),
		Events: ecs.Events(shot, fallen), Derived: []ecs.AnyDerived{crew}, Systems: ecs.Systems(systems...),
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			e := w.Spawn(ecs.OwnedBy(p), soldier, owner)
			owner.Put(w, e, ecs.Seat{Player: p})
			soldier.Put(w, e, Soldier{Ammo: 30})
			crew.Of(w).Of[p]++
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range soldiers.All(w) {
				if e.B.Player == p {
					w.Despawn(e.Entity())
				}
			}
			crew.Of(w).Of[p] = 0
		},
	}
}

// Types that are not plain data are refused before the first tick, with the field's name.
func ExampleGame_Check() {
	type Hero struct{ Name string }
	type Path struct{ Steps []Mark }
	type Hunter struct{ Prey *Hero }
	type Wallet struct{ Gold int }
	type Score struct{ Of map[uint8]int32 }
	type Brain struct{ Next func() }
	g := squad()
	g.Components = ecs.Components(
		ecs.NewComponent[Hero]("hero"), ecs.NewComponent[Path]("path"), ecs.NewComponent[Hunter]("hunter"),
		ecs.NewComponent[Wallet]("wallet"), ecs.NewComponent[Score]("score"), ecs.NewComponent[Brain]("brain"))
	fmt.Println(g.Check())
	// Output:
	// ecs: the game is not complete: ecs: component "hero": ecs_test.Hero.Name: a string points outside the image; use a byte array or an index into Game.Assets
	// ecs: component "path": ecs_test.Path.Steps: a slice points outside the image; use an array or ecs.List
	// ecs: component "hunter": ecs_test.Hunter.Prey: a pointer cannot be rewound; store an ecs.Entity
	// ecs: component "wallet": ecs_test.Wallet.Gold: int has another size on other targets; use int32, int64, uint32 or uint64
	// ecs: component "score": ecs_test.Score.Of: a map points outside the image and has no order; use ecs.List, or ecs.Derived for an index
	// ecs: component "brain": ecs_test.Brain.Next: a func cannot be rewound; store a number that selects it
}

func aim(w *ecs.World) {
	for e := range soldiers.All(w) {
		nearest, best := ecs.Entity{}, fixed.Max
		for t := range targets.All(w) { // rows upwards: of two equal distances, every peer takes the same
			if d := t.A.Pos.Sub(e.A.Pos).Len(); t.Entity() != e.Entity() && d < best {
				nearest, best = t.Entity(), d
			}
		}
		e.A.Target = nearest
	}
}

func shoot(w *ecs.World) {
	for e := range soldiers.All(w) {
		in, before := hands.Of(w, e.B.Player), hands.Last(w, e.B.Player)
		if !in.Fire || before.Fire || e.A.Ammo == 0 {
			continue // only the tick in which the trigger goes down
		}
		e.A.Ammo--
		target, alive := soldier.Read(w, e.A.Target)
		if !alive {
			continue // removed since; the row may have another entity
		}
		at := Mark{int16(target.Pos.X.Int()), int16(target.Pos.Y.Int())}
		shot.Emit(w, e.Entity(), at)
		if w.Rand().Chance(1, 3) {
			fallen.Emit(w, e.A.Target, e.B.Player)
			w.Despawn(e.A.Target)
		}
	}
}

func march(w *ecs.World) {
	speed := fixed.FromRatio(3, 60) // 3 m/s at 60 ticks a second
	for e := range soldiers.All(w) {
		in := hands.Of(w, e.B.Player)
		way := fixed.Vec2{X: fixed.FromInt(int(in.DX)), Y: fixed.FromInt(int(in.DY))}
		e.A.Pos = e.A.Pos.Add(way.Limit(fixed.One).Scale(speed))
	}
}

func muster(w *ecs.World) { // updates crew, because soldiers fall
	into := crew.Of(w)
	*into = Crew{}
	for e := range soldiers.All(w) {
		into.Of[e.B.Player]++
	}
}

// The systems of this file follow the rules of DETERMINISM.md.
func Example_aSoundGame() {
	report, err := rollback.SyncTest(rollback.SyncTestConfig{Game: squad(aim, shoot, march, muster), Seed: 3})
	fmt.Println(report.Ticks, "ticks, error", err)
	// Output: 600 ticks, error <nil>
}

// A predicted input repeats held keys and no presses. A press that is late is not lost.
func ExampleInput_Predict() {
	g := squad()
	last := hands.Pack(Hands{DX: 1, Fire: true, Jump: true})
	fmt.Printf("predicted %+v\n", hands.Unpack(g.Input.Predict(last)))
	fmt.Printf("merged    %+v\n", hands.Unpack(g.Input.MergeLate(last, hands.Pack(Hands{DX: -1}))))
	// Output:
	// predicted {DX:1 DY:0 Fire:true Jump:false}
	// merged    {DX:-1 DY:0 Fire:false Jump:true}
}

var steps int32 // state outside the image

func count(w *ecs.World) {
	steps++ // runs again with each resimulation
	for e := range soldiers.All(w) {
		e.A.Ammo = steps
	}
}

// A variable outside the world is not rewound.
func Example_stateOutsideTheImage() {
	steps = 0
	desync := desyncOf(squad(count))
	fmt.Println(desync)
	// Output: rollback: desync in tick 1: soldier of entity 0 of player 0 born in tick 1: Ammo is 1 here and 2 there
}

var looking = ecs.NewQuery2(ecs.Read(soldier), ecs.Read(owner))

func drain(w *ecs.World) {
	for run := range looking.Runs(w) { // declared as read
		for i := range run.A {
			run.A[i].Ammo-- // but written
		}
	}
}

// A write to a component that was declared read is not marked, so a save would miss it.
func Example_undeclaredWrite() {
	fmt.Println(desyncOf(squad(drain)))
	// Output: rollback: desync in tick 1: drain wrote past what its queries declare: soldier.Ammo from 30 to 29 in row 0x100000 born in tick 1
}

func desert(w *ecs.World) {
	for e := range soldiers.All(w) {
		if w.Tick()%50 == 0 && e.B.Player == 0 {
			w.Despawn(e.Entity()) // but crew still counts it
		}
	}
}

// Systems that change the state must update derived data.
func ExampleNewDerived() {
	fmt.Println(desyncOf(squad(desert)))
	// Output: rollback: desync in tick 50: ecs: derived "crew" differs from the value built from the state: update it in every system that changes the state
}

func rank(w *ecs.World) {
	byAmmo := map[int32]ecs.Entity{}
	for e := range soldiers.All(w) {
		byAmmo[e.A.Ammo%7] = e.Entity()
	}
	for _, first := range byAmmo { // a different one each time
		soldier.Write(w, first).Ammo++
		break
	}
}

func rankInOrder(w *ecs.World) {
	var list []ecs.Entity
	for e := range soldiers.All(w) {
		list = append(list, e.Entity())
	}
	slices.SortStableFunc(list, func(a, b ecs.Entity) int { // stable: equal ones keep the order of the query
		x, _ := soldier.Read(w, a)
		y, _ := soldier.Read(w, b)
		return cmp.Compare(x.Ammo, y.Ammo)
	})
	if len(list) > 0 {
		soldier.Write(w, list[0]).Ammo++
	}
}

// Go visits a map in a different order each time, on purpose.
func Example_theOrderOfAMap() {
	fmt.Println("with a map, differs:", desyncOf(squad(rank)) != nil)
	fmt.Println("with a slice, differs:", desyncOf(squad(rankInOrder)) != nil)
	// Output:
	// with a map, differs: true
	// with a slice, differs: false
}

func number(w *ecs.World) {
	n := int32(0)
	for e := range soldiers.All(w) {
		n++ // another core begins at 0 too
		e.A.Ammo = n
	}
}

// A parallel system must not depend on the order of rows.
func Example_parallelSystem() {
	for _, system := range []func(w *ecs.World){march, number} {
		g := squad(system)
		g.Systems[0].Parallel = ecs.Queries(soldiers)
		fmt.Println(desyncOf(g))
	}
	// Output:
	// <nil>
	// rollback: desync in tick 2: soldier of entity 0 of player 1 born in tick 2: Ammo is 2 here and 1 there
}

// desyncOf returns the desync that SyncTest finds in a game, nil if there is none.
func desyncOf(g *ecs.Game) error {
	_, err := rollback.SyncTest(rollback.SyncTestConfig{Game: g, Seed: 3})
	if desync := (*rollback.DesyncReport)(nil); errors.As(err, &desync) {
		return desync
	}
	if err != nil {
		panic(err)
	}
	return nil
}
