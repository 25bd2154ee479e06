package rules

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/space"
)

// arena is a match that a test steps, with counts of its events.
type arena struct {
	t        testing.TB
	w        *ecs.World
	dice     []*ecs.Rand
	in       []ecs.InputBytes // index = player
	happened counts
	gone     map[ecs.Player]bool // dead at the last count
}

type counts struct {
	shots, hits, rockets, explosions, pickups, deaths, kills, respawns, points, results int
	lastResult                                                                          image.EmittedEvent
}

func newArena(t testing.TB, players int, seed uint64) *arena {
	t.Helper()
	w, err := ecs.NewWorld(Game(), seed)
	if err != nil {
		t.Fatal(err)
	}
	a := &arena{t: t, w: w, in: make([]ecs.InputBytes, players), gone: map[ecs.Player]bool{}}
	for p := range players {
		a.dice = append(a.dice, image.NewRand(seed*100+uint64(p)))
	}
	w.Step(ecs.TickInputs{Orders: joins(players)})
	return a
}

func joins(players int) (list []image.Order) {
	for p := range players {
		list = append(list, image.Order{Kind: image.OrderJoin, Player: ecs.Player(p)})
	}
	return list
}

// bots fills the inputs of the next tick.
func (a *arena) bots() {
	for p := range a.in {
		a.in[p] = a.w.Game().Bot(a.w, ecs.Player(p), a.dice[p])
	}
}

// step computes a tick with the inputs as they stand and counts what happened.
func (a *arena) step(orders ...image.Order) {
	a.w.Step(ecs.TickInputs{Players: a.in, Orders: orders})
	a.count()
}

// run steps n ticks.
func (a *arena) run(n int) {
	for range n {
		a.step()
	}
}

func (a *arena) count() {
	g, h := a.w.Game(), &a.happened
	for _, e := range a.w.Events() {
		if _, ok := Shots.Decode(g, e); ok {
			h.shots++
		}
		if _, ok := Hits.Decode(g, e); ok {
			h.hits++
		}
		if _, ok := Explosions.Decode(g, e); ok {
			h.explosions++
		}
		if _, ok := Pickups.Decode(g, e); ok {
			h.pickups++
		}
		if d, ok := Deaths.Decode(g, e); ok {
			h.deaths++
			if d.Killer != d.Victim {
				h.kills++
			}
		}
		if _, ok := Points.Decode(g, e); ok {
			h.points++
		}
		if _, ok := Results.Decode(g, e); ok {
			h.results++
			h.lastResult = e
		}
	}
	for e := range flying.All(a.w) {
		if e.Entity().Born == a.w.Tick() {
			h.rockets++
		}
	}
	for e := range seats.All(a.w) {
		now := dead.Has(a.w, e.Entity())
		if a.gone[e.A.Player] && !now {
			h.respawns++
		}
		a.gone[e.A.Player] = now
	}
}

// hold makes p's pad this from now on.
func (a *arena) hold(p ecs.Player, in Pad) { a.in[p] = pad.Pack(in) }

// put places p, standing still, and brings the scene in step.
func (a *arena) put(p ecs.Player, x, y string) {
	b := body.Write(a.w, avatar(a.w, p))
	*b = Body{Pos: lifted(point(x, y), 0), Radius: bodyRadius}
	survey(a.w)
}

func point(x, y string) fixed.Vec2 {
	return fixed.Vec2{X: fixed.MustParse(x), Y: fixed.MustParse(y)}
}

func (a *arena) body(p ecs.Player) Body {
	b, ok := body.Read(a.w, avatar(a.w, p))
	if !ok {
		a.t.Fatalf("player %d has no body", p)
	}
	return b
}

func (a *arena) health(p ecs.Player) Health {
	h, _ := health.Read(a.w, avatar(a.w, p))
	return h
}

func (a *arena) checksum() image.Checksum {
	var s image.Snapshot
	a.w.Image().Save(&s)
	sum := s.Checksum()
	s.Release()
	return sum
}

// survey makes derived data follow a state that a test has changed.
func survey(w *ecs.World) {
	if err := w.Check(); err != nil {
		panic(err)
	}
}

// inspect fails the test if an invariant of every tick does not hold.
func (a *arena) inspect() {
	a.t.Helper()
	const slack = fixed.One >> 20 // roundings of a push against a corner
	s := scene.Of(a.w)
	for who := range alive.All(a.w) {
		b := who.A
		if speed := flat(b.Vel).Len(); speed > dashSpeed {
			a.t.Fatalf("tick %d: player %d moves at %v m/s, above the dash speed %v", a.w.Tick(), who.B.Player, speed, dashSpeed)
		}
		if b.Pos.Z < 0 {
			a.t.Fatalf("tick %d: player %d is %v below the floor", a.w.Tick(), who.B.Player, b.Pos.Z)
		}
		b.Radius -= slack
		if c, ok := s.touch(&b); ok {
			a.t.Fatalf("tick %d: player %d at %v is inside a wall or a door: %+v", a.w.Tick(), who.B.Player, b.Pos, c)
		}
	}
	for e := range flying.All(a.w) {
		if dot := space.Circle(flat(e.A.Pos), fixed.Epsilon); level.tiles.Overlap(&dot, solidAt(e.A.Pos.Z)) {
			a.t.Fatalf("tick %d: a rocket at %v is inside a wall", a.w.Tick(), e.A.Pos)
		}
	}
	if err := a.w.Check(); err != nil {
		a.t.Fatalf("tick %d: %v", a.w.Tick(), err)
	}
}

var surrendering = Surrender.Pack(Game(), struct{}{})
