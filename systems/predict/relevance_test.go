package predict

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems"
)

// With Interest a player receives near entities, the player's own, and those without a place, and no data of others.
// A near entity is removed a second after it went away, and is sent whole when it returns.
func TestInterestLimitsReplication(t *testing.T) {
	rules := newRules(exactBody)
	game := rules.game(60)
	var nowhere ecs.Entity
	game.Setup = func(w *ecs.World) { nowhere = w.Spawn(ecs.OwnedByWorld, hpComp) }
	r := newRig(t, game, 2, 4, 4, Config{Interest: fixed.FromInt(30)}, systems.ClientConfig{})
	c := r.clients[0]
	own, remote := figure(r.server.World(), 0), figure(r.server.World(), 1)
	holds := func(e ecs.Entity) bool {
		s, _ := c.Replica()
		return image.ExistsAt(s, e)
	}
	if !holds(own) || !holds(remote) || !holds(nowhere) {
		t.Fatalf("holds own %v, near %v, nowhere %v", holds(own), holds(remote), holds(nowhere))
	}
	r.pads[1].DX = 1
	r.Run(36) // it is 36 units away, within 1.25 times the radius
	r.pads[1].DX = 0
	r.Run(100)
	if !holds(remote) {
		t.Error("an entity at the border was removed")
	}
	r.pads[1].DX = 1
	r.Run(10)
	r.pads[1].DX = 0
	r.Run(90)
	if holds(remote) || c.World().Exists(remote) || !holds(own) || !holds(nowhere) {
		t.Errorf("beyond the border: holds remote %v, own %v, nowhere %v", holds(remote), holds(own), holds(nowhere))
	}
	if _, whole := c.Replica(); whole {
		t.Error("a bounded replica is reported as whole")
	}
	if !c.Receiver.Complete() {
		t.Error("the replica is not complete")
	}
	// A player receives own entities at any distance.
	if s, _ := r.clients[1].Replica(); !image.ExistsAt(s, remote) || image.ExistsAt(s, own) {
		t.Error("the remote client holds the wrong figures")
	}
	r.press[1].Fire = true // out of range
	r.Run(12)
	leaked := 0
	s, _ := c.Replica()
	for e := range s.Entities {
		if e.Owner() == ecs.OwnedBy(1) {
			leaked++
		}
	}
	if leaked > 0 {
		t.Errorf("%d entities leaked", leaked)
	}
	all := func(systems.Effect) bool { return true }
	if n := r.effectsOf(0, ecs.EffectConfirmed, all); n > 0 {
		t.Errorf("%d events leaked", n)
	}
	if n := r.effectsOf(1, ecs.EffectConfirmed, all); n != 2 {
		t.Errorf("the shooter received events of %d of two rockets", n)
	}
	r.press[1].Hurt = true
	r.Run(12)
	if n := r.effectsOf(0, ecs.EffectConfirmed, is(game, died)); n != 1 {
		t.Errorf("the distant player received a death %d times", n)
	}
	r.pads[1].DX = -1
	r.Run(30)
	r.pads[1].DX = 0
	r.Run(20)
	if x := r.xIn(c.World(), 1); !holds(remote) || x != r.xIn(r.server.World(), 1) {
		t.Errorf("the entity that returned exists: %v, at %v", holds(remote), x)
	}
}

// Near entities have a higher priority than distant ones, and so do those with components of a higher Priority.
func TestPriorityDependsOnComponentsAndDistance(t *testing.T) {
	heavy := ecs.NewComponent("heavy", ecs.Roles[health]{Priority: 4})
	game := newRules(exactBody).game(60)
	game.Components = append(game.Components, heavy)
	var far, farHeavy, nowhere, changing ecs.Entity
	put := func(w *ecs.World, x int, more ...ecs.AnyComponent) ecs.Entity {
		e := w.Spawn(ecs.OwnedByWorld, append(more, exactBody)...)
		exactBody.Put(w, e, body{Pos: fixed.Vec3{X: fixed.FromInt(x)}})
		return e
	}
	game.Setup = func(w *ecs.World) {
		far, farHeavy, changing = put(w, 40), put(w, 40, heavy), put(w, 10)
		nowhere = w.Spawn(ecs.OwnedByWorld, heavy)
	}
	r := newRig(t, game, 1, 2, 2, Config{Interest: fixed.FromInt(40)}, systems.ClientConfig{})
	own := figure(r.server.World(), 0) // at 10, 0
	priorities := func() map[ecs.Entity]float32 {
		got := map[ecs.Entity]float32{}
		for e, p := range r.server.Peers[0].Own.relevant {
			got[e] = p
		}
		return got
	}
	check := func(want map[ecs.Entity]float32) {
		t.Helper()
		got := priorities()
		for e, p := range want {
			if d := got[e] - p; d < -0.01 || d > 0.01 {
				t.Errorf("%v has priority %v, want %v", e, got[e], p)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d entities are relevant, want %d", len(got), len(want))
		}
	}
	check(map[ecs.Entity]float32{far: 1.25, farHeavy: 5, nowhere: 8, changing: 2, own: 2})
	hooks[r.server.World()] = func(w *ecs.World) { heavy.Add(w, changing, health{}) }
	r.Run(2)
	check(map[ecs.Entity]float32{far: 1.25, farHeavy: 5, nowhere: 8, changing: 8, own: 2})
	r.Run(30)
	c := r.clients[0]
	if s, _ := c.Replica(); !image.ExistsAt(s, far) || !image.ExistsAt(s, own) {
		t.Error("the client does not hold its relevance set")
	}
}

var towed = ecs.NewHierarchy("towed")

// A player's own child of an entity that the player does not receive is predicted like any other. It is removed when the server
// removes its parent.
func TestAChildOfAnIrrelevantParentIsPredicted(t *testing.T) {
	game := newRules(exactBody).game(60)
	game.Components = append(game.Components, towed)
	r := newRig(t, game, 2, 4, 4, Config{Interest: fixed.FromInt(30)}, systems.ClientConfig{})
	c, parent := r.clients[0], figure(r.server.World(), 1)
	var child ecs.Entity
	hooks[r.server.World()] = func(w *ecs.World) {
		if child.IsZero() {
			child = w.Spawn(ecs.OwnedBy(0), towed)
			towed.Put(w, child, ecs.Parent{Of: parent})
		}
	}
	r.Run(10)
	r.pads[1].DX = 1
	r.Run(46)
	r.pads[1].DX = 0
	r.Run(100)
	if c.World().Exists(parent) || !c.World().Exists(child) {
		t.Fatalf("the client has the parent: %t, the child: %t", c.World().Exists(parent), c.World().Exists(child))
	}
	r.forget()
	r.press[0].Fire = true // its rockets are structural changes, in which children without a parent are removed
	for range 60 {
		r.Step()
		if !c.World().Exists(child) {
			t.Fatalf("the client removed the child in tick %d", c.Tick)
		}
	}
	if c.counts.Corrections > 0 {
		t.Errorf("%d corrections", c.counts.Corrections)
	}
	hooks[r.server.World()] = func(w *ecs.World) { w.Despawn(parent) }
	r.Run(30)
	if r.server.World().Exists(child) || c.World().Exists(child) {
		t.Error("the child is left")
	}
}
