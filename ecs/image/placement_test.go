package image_test

import (
	"bytes"
	"math"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/ecs/race"
)

// pPlace is a place; two components have one.
type pPlace struct{ Pos, Vel fixed.Vec3 }

var (
	pRoles = ecs.Roles[pPlace]{Motion: func(p *pPlace) ecs.Motion { return ecs.Motion{p.Pos, p.Vel} }, SetMotion: func(p *pPlace, m ecs.Motion) { *p = pPlace{m.Pos, m.Vel} }}
	pBody  = ecs.NewComponent("body", pRoles)
	pShade = ecs.NewComponent("shade", pRoles)
)

// placed returns an order that puts e somewhere, and where.
func placed(e ecs.Entity, x, vx, within int) (image.Order, ecs.Motion) {
	m := ecs.Motion{Pos: fixed.Vec3{X: fixed.FromInt(x)}, Vel: fixed.Vec3{Y: fixed.FromInt(vx)}}
	return image.Order{Kind: image.OrderMotion, Player: 1, Entity: e, Payload: image.AppendPlacement(nil, image.Placement{m, fixed.FromInt(within)})}, m
}

// placementGame moves every entity by its velocity along x, and entities beyond 100 to 0: a respawn.
func placementGame() *ecs.Game {
	moved := ecs.NewQuery1(ecs.Write(pBody))
	g := sample.Bare()
	g.Components, g.Resources = ecs.Components(sample.Positions, pBody, pShade), nil
	g.Systems = ecs.Systems(func(w *ecs.World) {
		for e := range moved.All(w) {
			if e.A.Pos.X++; e.A.Pos.X > fixed.FromInt(100) {
				e.A.Pos.X = 0
			}
		}
	})
	return g
}

// An order of motion takes effect after the systems, in every component with a position. Nothing else changes.
func TestAnOrderOfMotionPlacesAnEntityAfterTheSystems(t *testing.T) {
	w := sample.NewWorld(t, placementGame())
	e, other := w.Spawn(ecs.OwnedBy(1), pBody, pShade), w.Spawn(ecs.OwnedBy(1), pBody)
	w.Step(ecs.TickInputs{})
	o, want := placed(e, 5, 3, 1)
	w.Step(ecs.TickInputs{Orders: []image.Order{o}})
	s := sample.Saved(w)
	for _, c := range []*ecs.Component[pPlace]{pBody, pShade} {
		if p, _ := c.ReadAt(s, e); p.Pos != want.Pos {
			t.Errorf("it is at %v, want %v", p.Pos, want.Pos)
		}
	}
	if m, ok := w.Image().Motion(e); !ok || m.Pos != want.Pos || !w.Image().Placed(e) || w.Image().Placed(other) {
		t.Errorf("it is at %v, placed %v", m, w.Image().Placed(e))
	}
	if m, _ := w.Image().Motion(other); m.Pos.X == 0 {
		t.Error("an entity without a placement did not move")
	}
	w.Step(ecs.TickInputs{})
	if w.Image().Placed(e) {
		t.Error("a placing outlived its tick")
	}
	if m, _ := w.Image().Motion(e); m.Pos.X != want.Pos.X+1 {
		t.Errorf("the systems go on from where it was put: %v", m.Pos)
	}
}

// If the systems move an entity farther than the order allows, the rules take precedence, and the client must be
// corrected.
func TestAnEntityThatTheSystemsMoveFarIsNotPlaced(t *testing.T) {
	w := sample.NewWorld(t, placementGame())
	e := w.Spawn(ecs.OwnedBy(1), pBody)
	w.Image().SetMotion(e, ecs.Motion{Pos: fixed.Vec3{X: fixed.FromInt(100)}})
	o, _ := placed(e, 99, 0, 50)
	w.Step(ecs.TickInputs{Orders: []image.Order{o}})
	if m, _ := w.Image().Motion(e); w.Image().Placed(e) || m.Pos.X != 0 {
		t.Errorf("respawned, and at %v", m.Pos)
	}
	w.Image().SetMotion(e, ecs.Motion{Pos: fixed.Vec3{X: fixed.FromInt(100)}})
	o, _ = placed(e, 99, 0, 101)
	w.Step(ecs.TickInputs{Orders: []image.Order{o}})
	if m, _ := w.Image().Motion(e); !w.Image().Placed(e) || m.Pos.X != fixed.FromInt(99) {
		t.Errorf("within what the order allows, and at %v", m.Pos)
	}
}

// Orders come from journals too: a malformed order, or one without an entity, does nothing.
func TestAMalformedOrderOfMotionDoesNothing(t *testing.T) {
	w := sample.NewWorld(t, placementGame())
	e, nowhere := w.Spawn(ecs.OwnedBy(1), pBody), w.Spawn(ecs.OwnedBy(1), sample.Positions)
	w.Step(ecs.TickInputs{})
	good, _ := placed(e, 5, 3, 1)
	for name, o := range map[string]image.Order{
		"gone":     {Kind: image.OrderMotion, Entity: ecs.Entity{Row: e.Row, Born: 9}, Payload: good.Payload},
		"nobody":   {Kind: image.OrderMotion, Payload: good.Payload},
		"no place": {Kind: image.OrderMotion, Entity: nowhere, Payload: good.Payload},
		"empty":    {Kind: image.OrderMotion, Entity: e},
		"cut":      {Kind: image.OrderMotion, Entity: e, Payload: good.Payload[:len(good.Payload)-1]},
		"longer":   {Kind: image.OrderMotion, Entity: e, Payload: append(bytes.Clone(good.Payload), 0)},
		"player":   {Kind: image.OrderMotion, Entity: e, Player: 60, Payload: good.Payload},
	} {
		before, _ := w.Image().Motion(e)
		w.Step(ecs.TickInputs{Orders: []image.Order{o}})
		if m, _ := w.Image().Motion(e); m.Pos.X != before.Pos.X+1 || w.Image().Placed(e) {
			t.Errorf("%s: it is at %v", name, m.Pos)
		}
	}
}

// A replay must have the same bits, so a payload has one encoding.
func TestAPlacementHasOneEncoding(t *testing.T) {
	for _, p := range []image.Placement{{}, {ecs.Motion{fixed.Vec3{X: -fixed.One / 3, Y: fixed.Max, Z: fixed.Min}, fixed.Vec3{X: 7, Z: -7}}, fixed.Max}} {
		b := image.AppendPlacement(nil, p)
		back, ok := image.ParsePlacement(b)
		if again := image.AppendPlacement(nil, back); !ok || len(b) > 61 || !bytes.Equal(again, b) {
			t.Errorf("%v: %x, then %x, %v", p, b, again, ok)
		}
		for i, n := range p.Nums() {
			if off := int64(n) - int64(back.Nums()[i]); off < 0 || off >= 1<<16 {
				t.Errorf("%v comes back as %v", n, back.Nums()[i])
			}
		}
	}
	if _, ok := image.ParsePlacement(image.AppendPlacement(nil, image.Placement{Within: -fixed.One})); ok {
		t.Error("a distance below zero")
	}
}

// Only payloads of AppendPlacement are accepted.
func FuzzPlacement(f *testing.F) {
	f.Add(image.AppendPlacement(nil, image.Placement{Within: fixed.One}))
	f.Add(bytes.Repeat([]byte{0xFF}, 70))
	f.Add([]byte{0x80, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := image.ParsePlacement(b); ok && !bytes.Equal(image.AppendPlacement(nil, p), b) {
			t.Errorf("%x is read as %v", b, p)
		}
	})
}

// A tick that places its avatars allocates nothing.
func TestPlacingAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	w := sample.NewWorld(t, placementGame())
	e := w.Spawn(ecs.OwnedBy(1), pBody)
	w.Step(ecs.TickInputs{})
	o, _ := placed(e, 5, 3, math.MaxInt16)
	orders := []image.Order{o}
	w.Step(ecs.TickInputs{Orders: orders})
	if n := testing.AllocsPerRun(100, func() { w.Step(ecs.TickInputs{Orders: orders}) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
