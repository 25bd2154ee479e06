// Package sample is a game for the tests of ecs and ecs/image: every shape of component that the store knows, and systems
// that spawn and despawn.
package sample

import (
	"slices"
	"strings"
	"testing"

	"github.com/yohamta/donburi"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

type Pos struct{ X, Y fixed.Num }
type Vel struct{ X, Y fixed.Num }

// Mixed has padding, nesting, arrays, booleans, floats and references.
type Mixed struct {
	Alive  bool
	Lives  int32
	Inner  struct{ A, B int16 }
	Slots  [3]uint8
	_      uint8
	Heat   float32
	_      uint32
	Target ecs.Entity
	Energy float64
	Flags  [2]bool
	Depth  uint16
	_      uint32
}
type Bag struct {
	Items Items
	Gold  uint64
}
type Item struct {
	Kind  uint16
	Count uint32
}
type Items = ecs.List[Item, [4]Item]
type Wide struct{ Cells [100]uint64 } // five rows in a page

type Score struct{ Points [4]int32 }
type Clock struct {
	Left  uint32
	Phase uint8
}

type Pad struct {
	DX, DY int8
	Fire   bool `tendon:"press"`
	Aim    uint32
}

type Purchase struct {
	Amount uint8
	Gift   bool
	_      uint32
	For    ecs.Entity
	Items  Items
}

type Hit struct {
	Damage uint16
	_      uint32
	By     uint64
}

var (
	Positions  = ecs.NewComponent[Pos]("pos")
	Velocities = ecs.NewComponent[Vel]("vel")
	Mixtures   = ecs.NewComponent[Mixed]("mixed")
	Bags       = ecs.NewComponent[Bag]("bag")
	Wides      = ecs.NewComponent[Wide]("wide")
	Seats      = ecs.NewComponent[ecs.Seat]("seat")
	Tags       = ecs.NewComponent[struct{}]("tag")
	Scores     = ecs.NewResource[Score]("score")
	Clocks     = ecs.NewResource[Clock]("clock")
	Hits       = ecs.NewEvent[Hit]("hit")
	Deaths     = ecs.NewIrreversibleEvent[uint32]("death")
	Pads       = ecs.NewInput[Pad]()
	Buys       = ecs.NewOrder[Purchase]("buy")

	Moving   = ecs.NewQuery2(ecs.Write(Positions), ecs.Read(Velocities))
	Placed   = ecs.NewQuery1(ecs.Read(Positions))
	Steered  = ecs.NewQuery2(ecs.Write(Velocities), ecs.Read(Seats))
	Carrying = ecs.NewQuery2(ecs.Write(Bags), ecs.Read(Seats))
	Seated   = ecs.NewQuery1(ecs.Read(Seats))
	Aging    = ecs.NewQuery2(ecs.Write(Mixtures), ecs.Read(Positions))
)

// Bare returns a fresh declaration without systems.
func Bare() *ecs.Game {
	return &ecs.Game{Name: "t", TickRate: 60, MaxPlayers: 4, Input: Pads,
		Components: ecs.Components(Positions, Velocities, Mixtures, Bags, Wides, Seats, Tags),
		Resources:  ecs.Resources(Scores, Clocks),
		Events:     ecs.Events(Hits, Deaths)}
}

// Busy returns the test game with systems that move, fire, collect and kill.
func Busy() *ecs.Game {
	g := Bare()
	g.Systems = ecs.Systems(steer, Move, fire, age, collect)
	g.Setup = func(w *ecs.World) {
		for i := range 20 {
			e := w.Spawn(ecs.OwnedByWorld, Positions, Velocities, Mixtures)
			Positions.Put(w, e, Pos{fixed.FromInt(i), fixed.FromInt(w.Rand().IntN(100))})
			Mixtures.Put(w, e, Mixed{Lives: int32(60 + i*7), Energy: float64(i) / 4})
		}
		*Clocks.Write(w) = Clock{Left: 3600}
	}
	g.Join = func(w *ecs.World, p ecs.Player, _ ecs.Card) {
		e := w.Spawn(ecs.OwnedBy(p), Positions, Velocities, Seats, Bags)
		Seats.Put(w, e, ecs.Seat{Player: p})
	}
	g.Leave = func(w *ecs.World, p ecs.Player) {
		for e := range Seated.All(w) {
			if e.A.Player == p {
				w.Despawn(e.Entity())
			}
		}
	}
	g.Orders = ecs.Orders(Buys.Do(buy).If(mayBuy))
	return g
}

func buy(w *ecs.World, p ecs.Player, _ ecs.Entity, bought Purchase) {
	Scores.Write(w).Points[p] += int32(bought.Amount)
}

func mayBuy(_ *ecs.World, _ ecs.Player, _ ecs.Entity, bought Purchase) string {
	if bought.Amount > 100 {
		return "too dear"
	}
	return ""
}

func steer(w *ecs.World) {
	for e := range Steered.All(w) {
		in := Pads.Of(w, e.B.Player)
		e.A.X, e.A.Y = fixed.FromInt(int(in.DX)), fixed.FromInt(int(in.DY))
	}
}

func Move(w *ecs.World) {
	for r := range Moving.Runs(w) {
		for i := range r.A {
			r.A[i].X += r.B[i].X
			r.A[i].Y += r.B[i].Y
		}
	}
}

func fire(w *ecs.World) {
	for p := range w.Players().All() {
		if Pads.Of(w, p).Fire && !Pads.Last(w, p).Fire {
			e := w.Spawn(ecs.OwnedBy(p), Positions, Velocities, Mixtures)
			Velocities.Put(w, e, Vel{X: fixed.FromInt(w.Rand().IntN(5)), Y: 1})
			Mixtures.Put(w, e, Mixed{Alive: true, Lives: 25, Heat: 1.5})
			Hits.Emit(w, e, Hit{Damage: 3, By: uint64(p)})
		}
	}
}

func age(w *ecs.World) {
	for e := range Aging.All(w) {
		e.A.Lives--
		e.A.Heat *= 0.5
		if e.A.Lives <= 0 {
			w.Despawn(e.Entity())
			Deaths.Emit(w, e.Entity(), uint32(w.Tick()))
			n := w.Spawn(e.Entity().Owner(), Positions, Mixtures)
			Mixtures.Put(w, n, Mixed{Lives: int32(20 + w.Rand().IntN(90))})
		}
	}
	c := Clocks.Write(w)
	c.Left--
	c.Phase = uint8(c.Left / 100)
}

func collect(w *ecs.World) {
	for e := range Carrying.All(w) {
		if w.Tick()%7 == 0 && !e.A.Items.Append(Item{Kind: uint16(w.Tick()), Count: 1}) {
			e.A.Items.RemoveAt(0)
			e.A.Gold += 5
		}
	}
}

// Inputs returns the inputs and orders of a tick, the same for every run.
func Inputs(f ecs.Tick) (in ecs.TickInputs) {
	in.Players = make([]ecs.InputBytes, 4)
	for p := range in.Players {
		z := mix(uint64(f)<<8 | uint64(p))
		in.Players[p] = Pads.Pack(Pad{DX: int8(z % 5), DY: int8(z >> 8 % 3), Fire: z>>16%4 == 0, Aim: uint32(z >> 32)})
	}
	switch {
	case f >= 1 && f <= 4:
		in.Orders = []image.Order{{Kind: image.OrderJoin, Player: ecs.Player(f - 1)}}
	case f%97 == 0:
		in.Orders = []image.Order{{Kind: image.OrderLeave, Player: 2}, {Kind: image.OrderGame, Player: 1, Payload: []byte{0, 3}}}
	case f%97 == 20:
		in.Orders = []image.Order{{Kind: image.OrderJoin, Player: 2}}
	}
	return in
}

// NewWorld returns a world of the game in State(0).
func NewWorld(t testing.TB, g *ecs.Game) *ecs.World {
	t.Helper()
	return Must(ecs.NewWorld(g, 1))
}

// InSystem computes a tick in which f is the last system.
func InSystem(w *ecs.World, f func()) {
	g := w.Game()
	systems := g.Systems
	g.Systems = append(systems[:len(systems):len(systems)], ecs.System{Name: "f", Run: func(*ecs.World) { f() }})
	w.Step(ecs.TickInputs{})
	g.Systems = systems
}

// Saved returns a snapshot of the world.
func Saved(w *ecs.World) *image.Snapshot {
	s := &image.Snapshot{}
	w.Image().Save(s)
	return s
}

// Play steps a world to tick until.
func Play(w *ecs.World, until ecs.Tick) {
	for w.Tick() < until {
		w.Step(Inputs(w.Tick() + 1))
	}
}

type Health struct{ Points int32 }

var (
	// ShownPositions is blended, Healths shown only as confirmed, Tags and Velocities as they are.
	ShownPositions = ecs.NewComponent[Pos]("pos", ecs.Roles[Pos]{Lerp: func(a, b Pos, t float64) Pos {
		return Pos{a.X + fixed.FromFloat(t*(b.X-a.X).Float()), a.Y + fixed.FromFloat(t*(b.Y-a.Y).Float())}
	}})
	Healths    = ecs.NewComponent[Health]("health", ecs.Roles[Health]{ConfirmedOnly: true})
	ShownWides = ecs.NewComponent[Wide]("wide", ecs.Roles[Wide]{Lerp: func(a, b Wide, t float64) Wide {
		a.Cells[99] += uint64(t * float64(b.Cells[99]-a.Cells[99]))
		return a
	}})
)

func NewView(t testing.TB, g *ecs.Game) *ecs.View {
	t.Helper()
	return Must(ecs.NewView(g))
}

func PosAt(x, y int) Pos { return Pos{fixed.FromInt(x), fixed.FromInt(y)} }

// MustPanic fails unless f panics with a message that contains want.
func MustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if r, _ := recover().(string); !strings.Contains(r, want) {
			t.Errorf("panic %q does not say %q", r, want)
		}
	}()
	f()
}

// Must returns v. It panics if err is not nil.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Sprite is a component that only views have; no image could hold it.
type Sprite struct {
	Name string
	Of   *int
}

var Sprites = donburi.NewComponentType[Sprite]()

// mix is the finalizer of SplitMix64.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Scatter spawns entities of several owners and components and returns them in the order of their rows.
func Scatter(w *ecs.World) (all []ecs.Entity) {
	InSystem(w, func() {
		for i := range 200 {
			for o := range image.Owner(5) {
				if (i+int(o))%3 == 0 {
					continue
				}
				e := w.Spawn(o, Positions)
				Positions.Put(w, e, Pos{X: 1, Y: 2})
				if i%2 == 0 {
					Velocities.Add(w, e, Vel{X: 10})
				}
				if i%5 == 0 {
					Mixtures.Add(w, e, Mixed{Lives: 100})
				}
				if i%7 == 0 {
					Tags.Add(w, e, struct{}{})
				}
				if i%4 == 1 {
					Wides.Add(w, e, Wide{})
				}
				all = append(all, e)
			}
		}
	})
	slices.SortFunc(all, func(a, b ecs.Entity) int { return int(a.Row) - int(b.Row) })
	return all
}

// Declared returns the declaration of a component or resource.
func Declared(c any) *image.Declaration {
	if c, ok := c.(ecs.AnyResource); ok {
		return (&ecs.Game{Resources: ecs.Resources(c)}).Schema().Resources[0]
	}
	return (&ecs.Game{Components: ecs.Components(c.(ecs.AnyComponent))}).Schema().Components[0]
}

// SameAsQueries fails unless the donburi world holds exactly the world's entities, each with its components.
func SameAsQueries(t *testing.T, w *ecs.World) {
	t.Helper()
	world := w.Donburi()
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for e := range Saved(w).Entities {
		n++
		entry := w.Entry(e)
		if entry == nil || !entry.Valid() {
			t.Fatalf("%v has no valid entry", e)
		}
		if back, ok := ecs.EntityOf(entry); !ok || back != e {
			t.Fatalf("entry of %v leads back to %v, %t", e, back, ok)
		}
		for k, c := range w.Game().Components {
			column := w.Image().Column(w.Image().Schema().Components[k])
			has := column.Has(e.Owner(), e.Index())
			if entry.HasComponent(c) != has {
				t.Fatalf("%v: donburi has %s = %t", e, c.Name(), !has)
			}
			if has && entry.Component(c) != column.At(e.Owner(), e.Index()) {
				t.Fatalf("%v: %s does not point at its row", e, c.Name())
			}
		}
	}
	if world.Len() != n {
		t.Fatalf("donburi has %d entities, the world %d", world.Len(), n)
	}
}
