package predictor

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/systems"
	"tendon/systems/interp"
)

// glider is a world of one dot, with a view and offsets.
type glider struct {
	t    *testing.T
	w    *ecs.World
	v    *ecs.View
	o    Offsets
	dot  ecs.Entity
	at   interp.Vec // shown
	most float64    // longest step of a frame
}

const gliderTop = 6.0 // world units per second

func newGlider(t *testing.T) *glider {
	g := &glider{t: t, w: halves.NewWorld(t, halves.Dots(), 1)}
	g.w.Step(ecs.TickInputs{Players: make([]ecs.InputBytes, 8), Orders: []image.Order{{Kind: image.OrderJoin}}})
	g.dot = halves.Dot(g.w, 0)
	var err error
	if g.v, err = ecs.NewView(g.w.Game()); err != nil || g.dot.IsZero() {
		t.Fatal(err, g.dot)
	}
	g.o.OffsetConfig = OffsetConfig{Bounded: true, TopSpeed: gliderTop}
	g.place(interp.Vec{}, interp.Vec{})
	g.frame()
	g.most = 0
	return g
}

func (g *glider) place(pos, vel interp.Vec) {
	g.w.Image().SetMotion(g.dot, ecs.Motion{Pos: pos.Fixed(), Vel: vel.Fixed()})
}

func (g *glider) saved() *image.Snapshot {
	s := &image.Snapshot{}
	g.w.Image().Save(s)
	return s
}

// correct moves the dot by a resimulation of some seconds.
func (g *glider) correct(pos, vel interp.Vec, seconds float64) {
	s := g.saved()
	g.o.Before(s, s)
	s.Release() // as the timeline does
	g.place(pos, vel)
	now := g.saved()
	g.o.After(now, now, 0.5, seconds)
}

// frame shows the present and notes the step.
func (g *glider) frame() {
	s := g.saved()
	g.v.Compose(image.Shown{Cur: s, Confirmed: s, Own: image.EveryRow()}, 1)
	g.o.Show(g.v, systems.Second/60)
	g.v.Dress()
	m, _ := g.v.Sim.Image().Motion(g.dot)
	at := interp.VecOf(m.Pos)
	g.most, g.at = max(g.most, at.Sub(g.at).Len()), at
}

// An offset starts with no jump, decays within the bound of the speed, and ends, though the entity runs ahead of it all the
// time.
func TestAnOffsetDecaysWithinTheTopSpeed(t *testing.T) {
	for name, speed := range map[string]float64{"standing": 0, "running ahead": gliderTop, "running towards": -gliderTop} {
		g := newGlider(t)
		x, frames := 3.5, 0
		g.correct(interp.Vec{X: x, Y: 2}, interp.Vec{X: speed}, 0.4)
		if g.o.Len() != 1 {
			t.Fatalf("%s: no offset", name)
		}
		for ; g.o.Len() > 0 && frames < 1000; frames++ {
			x += speed / 60
			g.place(interp.Vec{X: x, Y: 2}, interp.Vec{X: speed})
			g.frame()
		}
		if most := 1.2 * gliderTop / 60; g.most > most || g.most < most/2 {
			t.Errorf("%s: a frame moves the dot by %v, want at most %v", name, g.most, most)
		}
		if frames > 5*60 || g.at.Sub(interp.Vec{X: x, Y: 2}).Len() > 0.01 {
			t.Errorf("%s: %d frames until the offset ended, shown at %v", name, frames, g.at)
		}
	}
}

// A correction that top speed does not explain is a teleport, which is shown at once. So is one that would take too long.
func TestATeleportHasNoOffset(t *testing.T) {
	for name, correct := range map[string]func(g *glider){
		"a correction farther than the resimulated time explains": func(g *glider) { g.correct(interp.Vec{X: 5}, interp.Vec{}, 0.4) },
		"corrections that add up": func(g *glider) {
			g.correct(interp.Vec{X: 3.5}, interp.Vec{}, 0.4)
			g.correct(interp.Vec{X: 7}, interp.Vec{}, 0.4)
		},
		"a teleport while an offset decays": func(g *glider) {
			g.correct(interp.Vec{X: 1.5}, interp.Vec{}, 0.4)
			g.frame()
			g.place(interp.Vec{X: -5}, interp.Vec{})
		},
	} {
		g := newGlider(t)
		correct(g)
		g.frame()
		m, _ := g.w.Image().Motion(g.dot)
		if g.o.Len() != 0 || g.at.Sub(interp.VecOf(m.Pos)).Len() > 1e-6 {
			t.Errorf("%s: %d offsets, shown at %v", name, g.o.Len(), g.at)
		}
	}
}

// The state never contains an offset, and an entity that is gone loses its own.
func TestAnOffsetIsOfOneEntity(t *testing.T) {
	g := newGlider(t)
	g.correct(interp.Vec{X: 1}, interp.Vec{}, 0.4)
	before := g.saved().Checksum()
	g.frame()
	if g.saved().Checksum() != before || g.at.X > 0.5 || g.o.Of(g.dot).X >= -0.5 {
		t.Errorf("shown at %v with offset %v", g.at, g.o.Of(g.dot))
	}
	if again := (ecs.Entity{Row: g.dot.Row, Born: g.dot.Born + 1}); g.o.Of(again) != (interp.Vec{}) {
		t.Error("a later entity of the row has the offset")
	}
	g.w.Step(ecs.TickInputs{Players: make([]ecs.InputBytes, 8), Orders: []image.Order{{Kind: image.OrderLeave}}})
	if g.w.Exists(g.dot) {
		t.Fatal("the dot is still there")
	}
	g.frame()
	if g.o.Len() != 0 {
		t.Error("an entity that is gone has an offset")
	}
}

// An entity that a resimulation replaces in its row has no offset, though it was born in the same tick. An entity with other
// components is another one, unless it only gained or lost some.
func TestAnEntityOfAnotherKindHasNoOffset(t *testing.T) {
	kept := map[string]bool{"the same": true, "one component more": true}
	for name, replace := range map[string]func(g *glider){
		"the same":           nil,
		"one component more": func(g *glider) { halves.Sparks.Add(g.w, g.dot, halves.Spark{Left: 9}); g.w.Image().Flush() },
		"another kind": func(g *glider) {
			halves.Seats.Remove(g.w, g.dot)
			halves.Sparks.Add(g.w, g.dot, halves.Spark{Left: 9})
			g.w.Image().Flush()
		},
		"a later one": func(g *glider) { g.replace() },
	} {
		g := newGlider(t)
		g.correct(interp.Vec{X: 1}, interp.Vec{}, 0.4)
		g.frame()
		s := g.saved()
		g.o.Before(s, s)
		s.Release()
		if replace != nil {
			replace(g)
		}
		g.place(interp.Vec{X: 1.5}, interp.Vec{})
		now := g.saved()
		g.o.After(now, now, 0.5, 0.4)
		if has := g.o.Of(g.dot) != (interp.Vec{}); has != kept[name] {
			t.Errorf("%s: an offset of %v", name, g.o.Of(g.dot))
		}
	}
}

// replace lets the player leave and join again.
func (g *glider) replace() {
	for _, kind := range []image.OrderKind{image.OrderLeave, image.OrderJoin} {
		g.w.Step(ecs.TickInputs{Players: make([]ecs.InputBytes, 8), Orders: []image.Order{{Kind: kind}}})
	}
	g.dot = halves.Dot(g.w, 0)
}
