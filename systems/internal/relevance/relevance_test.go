package relevance

import (
	"maps"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems/interest"
	"tendon/systems/state"
)

type body struct{ Pos fixed.Vec3 }

var bodies = ecs.NewComponent("body", ecs.Roles[body]{Motion: func(b *body) ecs.Motion { return ecs.Motion{Pos: b.Pos} }})

type health struct{ HP int32 }

var healths = ecs.NewComponent("health", ecs.Roles[health]{Priority: 4})

// rig computes the sets of one peer, 0, whose player is 0 and stands at the origin.
type rig struct {
	t      *testing.T
	world  *ecs.World
	sets   *Sets
	states [2]image.Snapshot
	act    func(w *ecs.World) // in the next tick
}

func newRig(t *testing.T, own float32) *rig {
	t.Helper()
	r := &rig{t: t}
	game := &ecs.Game{Name: "relevance", TickRate: 10, MaxPlayers: 2, Input: ecs.NewInput[struct{ A uint8 }](), Components: []ecs.AnyComponent{bodies, healths}}
	game.Systems = []ecs.System{{Name: "act", Run: func(w *ecs.World) { r.act(w) }}}
	var err error
	if r.world, err = ecs.NewWorld(game, 1); err != nil {
		t.Fatal(err)
	}
	changes, err := state.NewChanges(game)
	if err != nil {
		t.Fatal(err)
	}
	if r.sets, err = New(interest.Config{Radius: fixed.FromInt(20), Rate: game.TickRate}, own, changes, game); err != nil {
		t.Fatal(err)
	}
	return r
}

// tick computes a tick, in which act runs, and updates the sets.
func (r *rig) tick(act func(w *ecs.World)) {
	r.act = act
	r.world.Step(ecs.TickInputs{})
	before, now := &r.states[r.world.Tick()%2], &r.states[(r.world.Tick()+1)%2]
	r.world.Image().Save(now)
	var changed image.Changed
	changed.Find(before, now)
	r.sets.changes.Observe(now, &changed)
	r.sets.Observe(now, &changed)
	r.sets.Watch(0, fixed.Vec3{})
	r.sets.Update()
}

// spawn adds an entity at a distance from the peer.
func spawn(w *ecs.World, owner image.Owner, x int, more ...ecs.AnyComponent) ecs.Entity {
	e := w.Spawn(owner, append(more, bodies)...)
	bodies.Put(w, e, body{fixed.Vec3{X: fixed.FromInt(x)}})
	return e
}

func (r *rig) set() map[ecs.Entity]float32 {
	got := map[ecs.Entity]float32{}
	r.sets.Each(0, 0, func(e ecs.Entity, priority float32) bool {
		if _, twice := got[e]; twice {
			r.t.Errorf("%v is yielded twice", e)
		}
		got[e] = priority
		return true
	})
	return got
}

// A set has the entities of the player, those without a place, and near ones. Their priority grows with nearness.
func TestASetHasOwnUnplacedAndNearEntities(t *testing.T) {
	for own, want := range map[float32]float32{0: 1, 2: 2} {
		r := newRig(t, own)
		var mine, nowhere, remote, near, far ecs.Entity
		r.tick(func(w *ecs.World) {
			mine, near, far = spawn(w, ecs.OwnedBy(0), 50), spawn(w, ecs.OwnedByWorld, 10, healths), spawn(w, ecs.OwnedBy(1), 50)
			nowhere, remote = w.Spawn(ecs.OwnedByWorld, healths), w.Spawn(ecs.OwnedBy(1), healths)
		})
		if got := r.set(); !maps.Equal(got, map[ecs.Entity]float32{mine: want, near: 6, nowhere: 8, remote: 8}) {
			t.Errorf("the set is %v", got)
		}
		for e := range r.set() {
			if !r.sets.Relevant(0, 0, e) {
				t.Errorf("%v is in the set, and not relevant", e)
			}
		}
		if r.sets.Relevant(0, 0, far) {
			t.Error("a distant entity is relevant")
		}
	}
}

// An entity may get a place, lose it, and be removed. For the tick of its removal it is relevant to those that it was
// relevant to.
func TestARemovedEntityIsRelevantForATick(t *testing.T) {
	r := newRig(t, 2)
	var near, far ecs.Entity
	r.tick(func(w *ecs.World) { near, far = spawn(w, ecs.OwnedByWorld, 10), spawn(w, ecs.OwnedByWorld, 50) })
	r.tick(func(w *ecs.World) { w.Despawn(near); w.Despawn(far) })
	if !r.sets.Relevant(0, 0, near) || r.sets.Relevant(0, 0, far) {
		t.Error("the last events of entities do not follow their relevance")
	}
	var e ecs.Entity
	r.tick(func(w *ecs.World) { e = w.Spawn(ecs.OwnedByWorld) })
	if got := r.set(); !maps.Equal(got, map[ecs.Entity]float32{e: 2}) {
		t.Errorf("after removals the set is %v", got)
	}
	r.tick(func(w *ecs.World) { bodies.Add(w, e, body{fixed.Vec3{X: fixed.FromInt(50)}}) })
	if got := r.set(); len(got) > 0 {
		t.Errorf("the set of a distant entity is %v", got)
	}
	r.tick(func(w *ecs.World) { bodies.Remove(w, e) })
	r.tick(func(*ecs.World) {})
	if got := r.set(); !maps.Equal(got, map[ecs.Entity]float32{e: 2}) {
		t.Errorf("after it lost its place the set is %v", got)
	}
	for range 20 { // slots are reused
		r.tick(func(w *ecs.World) { w.Despawn(e); e = spawn(w, ecs.OwnedBy(0), 1) })
	}
	if n := max(r.sets.placed.Slots(), r.sets.own[0].Slots()); n > 2 {
		t.Errorf("%d slots for one entity", n)
	}
}

// The first entity is that of the lowest row, whichever was spawned first.
func TestFirstIsTheLowestRow(t *testing.T) {
	r := newRig(t, 2)
	var a, b ecs.Entity
	r.tick(func(w *ecs.World) { a, b = spawn(w, ecs.OwnedBy(0), 1), spawn(w, ecs.OwnedBy(0), 2) })
	first := r.sets.First(0)
	r.tick(func(w *ecs.World) { w.Despawn(a) })
	next := r.sets.First(0)
	r.tick(func(*ecs.World) {})
	r.tick(func(w *ecs.World) { a = spawn(w, ecs.OwnedBy(0), 1) })
	if again := r.sets.First(0); first.Row != a.Row || next != b || again != a || !r.sets.First(1).IsZero() {
		t.Errorf("first %v, then %v, then %v, want the row of %v, then %v, then %v", first, next, again, a, b, a)
	}
}
