//go:build moving

package ecs

import (
	"bytes"
	"math"
	"testing"

	"tendon/ecs/fixed"
)

// pPlace is a place; two components have one.
type pPlace struct{ Pos, Vel fixed.Vec3 }

var (
	pRoles = Roles[pPlace]{Motion: func(p *pPlace) Motion { return Motion{p.Pos, p.Vel} }, SetMotion: func(p *pPlace, m Motion) { *p = pPlace{m.Pos, m.Vel} }}
	pBody  = NewComponent("body", pRoles)
	pShade = NewComponent("shade", pRoles)
)

// placed returns an order that puts e somewhere, and where.
func placed(e Entity, x, vx, within int) (Order, Motion) {
	m := Motion{Pos: fixed.Vec3{X: fixed.FromInt(x)}, Vel: fixed.Vec3{Y: fixed.FromInt(vx)}}
	return Order{Kind: OrderMotion, Player: 1, Entity: e, Payload: AppendPlacement(nil, Placement{m, fixed.FromInt(within)})}, m
}

// placementGame moves every entity by what its velocity says along x, and those beyond 100 to 0: a respawn.
func placementGame() *Game {
	moved := NewQuery1(Write(pBody))
	g := tGame()
	g.Components, g.Resources = Components(cPos, pBody, pShade), nil
	g.Systems = Systems(func(w *World) {
		for e := range moved.All(w) {
			if e.A.Pos.X++; e.A.Pos.X > fixed.FromInt(100) {
				e.A.Pos.X = 0
			}
		}
	})
	return g
}

// A client's word is the last one of the tick: the systems have run, and what they made of the entity's place is gone, in
// every component that has one. Nothing else is touched.
func TestAnOrderOfMotionPutsAnEntitySomewhereAfterTheSystems(t *testing.T) {
	w := newWorld(t, placementGame())
	e, other := w.Spawn(OwnedBy(1), pBody, pShade), w.Spawn(OwnedBy(1), pBody)
	w.Step(TickInputs{})
	o, want := placed(e, 5, 3, 1)
	w.Step(TickInputs{Orders: []Order{o}})
	s := saved(w)
	for _, c := range []*Component[pPlace]{pBody, pShade} {
		if p, _ := c.ReadAt(s, e); p.Pos != want.Pos {
			t.Errorf("it is at %v, want %v", p.Pos, want.Pos)
		}
	}
	if m, ok := w.Image().Motion(e); !ok || m.Pos != want.Pos || !w.Image().Placed(e) || w.Image().Placed(other) {
		t.Errorf("it is at %v, placed %v", m, w.Image().Placed(e))
	}
	if m, _ := w.Image().Motion(other); m.Pos.X == 0 {
		t.Error("what nobody placed did not move")
	}
	w.Step(TickInputs{})
	if w.Image().Placed(e) {
		t.Error("a placing outlived its tick")
	}
	if m, _ := w.Image().Motion(e); m.Pos.X != want.Pos.X+1 {
		t.Errorf("the systems go on from where it was put: %v", m.Pos)
	}
}

// What the systems move farther than the order allows was put there by the rules, and the client has to hear of it.
func TestWhatTheSystemsMoveFarStaysThere(t *testing.T) {
	w := newWorld(t, placementGame())
	e := w.Spawn(OwnedBy(1), pBody)
	w.Image().SetMotion(e, Motion{Pos: fixed.Vec3{X: fixed.FromInt(100)}})
	o, _ := placed(e, 99, 0, 50)
	w.Step(TickInputs{Orders: []Order{o}})
	if m, _ := w.Image().Motion(e); w.Image().Placed(e) || m.Pos.X != 0 {
		t.Errorf("respawned, and at %v", m.Pos)
	}
	w.Image().SetMotion(e, Motion{Pos: fixed.Vec3{X: fixed.FromInt(100)}})
	o, _ = placed(e, 99, 0, 101)
	w.Step(TickInputs{Orders: []Order{o}})
	if m, _ := w.Image().Motion(e); !w.Image().Placed(e) || m.Pos.X != fixed.FromInt(99) {
		t.Errorf("within what the order allows, and at %v", m.Pos)
	}
}

// Orders come out of journals too: one that names nothing, or says nothing, does nothing.
func TestAnOrderOfMotionThatMeansNothingDoesNothing(t *testing.T) {
	w := newWorld(t, placementGame())
	e, nowhere := w.Spawn(OwnedBy(1), pBody), w.Spawn(OwnedBy(1), cPos)
	w.Step(TickInputs{})
	good, _ := placed(e, 5, 3, 1)
	for name, o := range map[string]Order{
		"gone":     {Kind: OrderMotion, Entity: Entity{Row: e.Row, Born: 9}, Payload: good.Payload},
		"nobody":   {Kind: OrderMotion, Payload: good.Payload},
		"no place": {Kind: OrderMotion, Entity: nowhere, Payload: good.Payload},
		"empty":    {Kind: OrderMotion, Entity: e},
		"cut":      {Kind: OrderMotion, Entity: e, Payload: good.Payload[:len(good.Payload)-1]},
		"longer":   {Kind: OrderMotion, Entity: e, Payload: append(bytes.Clone(good.Payload), 0)},
		"player":   {Kind: OrderMotion, Entity: e, Player: 60, Payload: good.Payload},
	} {
		before, _ := w.Image().Motion(e)
		w.Step(TickInputs{Orders: []Order{o}})
		if m, _ := w.Image().Motion(e); m.Pos.X != before.Pos.X+1 || w.Image().Placed(e) {
			t.Errorf("%s: it is at %v", name, m.Pos)
		}
	}
}

// Whoever plays the match again must get the same bits, so a payload is what it says, in one spelling.
func TestAPlacementComesBack(t *testing.T) {
	for _, p := range []Placement{{}, {Motion{fixed.Vec3{X: -fixed.One / 3, Y: fixed.Max, Z: fixed.Min}, fixed.Vec3{X: 7, Z: -7}}, fixed.Max}} {
		b := AppendPlacement(nil, p)
		back, ok := ParsePlacement(b)
		if again := AppendPlacement(nil, back); !ok || len(b) > 61 || !bytes.Equal(again, b) {
			t.Errorf("%v: %x, then %x, %v", p, b, again, ok)
		}
		for i, n := range p.nums() {
			if off := int64(n) - int64(back.nums()[i]); off < 0 || off >= 1<<16 {
				t.Errorf("%v comes back as %v", n, back.nums()[i])
			}
		}
	}
	if _, ok := ParsePlacement(AppendPlacement(nil, Placement{Within: -fixed.One})); ok {
		t.Error("a distance below zero")
	}
}

// Nobody but AppendPlacement writes payloads; what else there is, is refused.
func FuzzPlacement(f *testing.F) {
	f.Add(AppendPlacement(nil, Placement{Within: fixed.One}))
	f.Add(bytes.Repeat([]byte{0xFF}, 70))
	f.Add([]byte{0x80, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := ParsePlacement(b); ok && !bytes.Equal(AppendPlacement(nil, p), b) {
			t.Errorf("%x is read as %v", b, p)
		}
	})
}

// A tick that places its avatars allocates nothing.
func TestPlacingAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w := newWorld(t, placementGame())
	e := w.Spawn(OwnedBy(1), pBody)
	w.Step(TickInputs{})
	o, _ := placed(e, 5, 3, math.MaxInt16)
	orders := []Order{o}
	w.Step(TickInputs{Orders: orders})
	if n := testing.AllocsPerRun(100, func() { w.Step(TickInputs{Orders: orders}) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
