package predict

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems"
)

// Who is bounded by a radius hears of what is near, of what is his own wherever it is, and of what is nowhere; of nothing
// else, so that it cannot leak. What he heard of is forgotten a second after it was left behind, and comes back whole.
func TestAPlayerHearsOfWhatIsNear(t *testing.T) {
	rules := newRules(exactBody)
	game := rules.game(60)
	var nowhere ecs.Entity
	game.Setup = func(w *ecs.World) { nowhere = w.Spawn(ecs.OwnedByWorld, hpComp) }
	r := newRig(t, game, 2, 4, 4, Config{Interest: fixed.FromInt(30)}, systems.ClientConfig{})
	c := r.clients[0]
	hers, his := figure(r.server.World(), 0), figure(r.server.World(), 1)
	holds := func(e ecs.Entity) bool {
		s, _ := c.Replica()
		return image.ExistsAt(s, e)
	}
	if !holds(hers) || !holds(his) || !holds(nowhere) {
		t.Fatalf("holds own %v, near %v, nowhere %v", holds(hers), holds(his), holds(nowhere))
	}
	r.pads[1].DX = 1
	r.Run(36) // he is 36 units away, within 1.25 times the radius
	r.pads[1].DX = 0
	r.Run(100)
	if !holds(his) {
		t.Error("who is at the border was forgotten")
	}
	r.pads[1].DX = 1
	r.Run(10)
	r.pads[1].DX = 0
	r.Run(90)
	if holds(his) || c.World().Exists(his) || !holds(hers) || !holds(nowhere) {
		t.Errorf("beyond the border: holds him %v, own %v, nowhere %v", holds(his), holds(hers), holds(nowhere))
	}
	if _, whole := c.Replica(); whole {
		t.Error("what is bounded is taken for the whole")
	}
	if !c.replica.Receiver.Complete() {
		t.Error("who hears of little does not know that it is all")
	}
	// What is his own he hears of wherever it is.
	if other, _ := r.clients[1].Replica(); !image.ExistsAt(other, his) || image.ExistsAt(other, hers) {
		t.Error("the other one holds the wrong figures")
	}
	r.press[1].Fire = true // unheard
	r.Run(12)
	heard := 0
	s, _ := c.Replica()
	for e := range s.Entities {
		if e.Owner() == ecs.OwnedBy(1) {
			heard++
		}
	}
	if heard > 0 {
		t.Errorf("%d entities leaked", heard)
	}
	all := func(systems.Effect) bool { return true }
	if n := r.heard(0, ecs.EffectConfirmed, all); n > 0 {
		t.Errorf("%d events leaked", n)
	}
	if n := r.heard(1, ecs.EffectConfirmed, all); n != 2 {
		t.Errorf("%d of two rockets were heard by who fired them", n)
	}
	r.press[1].Hurt = true
	r.Run(12)
	if n := r.heard(0, ecs.EffectConfirmed, is(game, died)); n != 1 {
		t.Errorf("a death was told %d times to who is far away", n)
	}
	r.pads[1].DX = -1
	r.Run(30)
	r.pads[1].DX = 0
	r.Run(20)
	if x := r.xIn(c.World(), 1); !holds(his) || x != r.xIn(r.server.World(), 1) {
		t.Errorf("who came back is held: %v, at %v", holds(his), x)
	}
	for range 3 { // slots are used again
		r.press[1].Fire = true
		r.Run(60)
	}
	if n := r.server.relevance.places.Slots(); n > 8 {
		t.Errorf("%d slots for 5 entities at most", n)
	}
}

// When bytes are short, what is near goes before what is far, and what a game weighs heavier before what it does not; the
// order of own entities before others is the sender's.
func TestWhatIsHeardOfCountsByItsComponentsAndByHowNearItIs(t *testing.T) {
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
			t.Errorf("hears of %d, want %d", len(got), len(want))
		}
	}
	check(map[ecs.Entity]float32{far: 1.25, farHeavy: 5, nowhere: 8, changing: 2, own: 2})
	hooks[r.server.World()] = func(w *ecs.World) { heavy.Add(w, changing, health{}) }
	r.Run(2)
	check(map[ecs.Entity]float32{far: 1.25, farHeavy: 5, nowhere: 8, changing: 8, own: 2})
	r.Run(30)
	c := r.clients[0]
	if s, _ := c.Replica(); !image.ExistsAt(s, far) || !image.ExistsAt(s, own) {
		t.Error("the client does not hold what it hears of")
	}
}
