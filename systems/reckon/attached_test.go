package reckon

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/motion"
)

// rideGame is the test game in which player 1 stands on player 0, and player 2 follows a path.
func rideGame() *ecs.Game {
	g := testGame(false)
	g.Physics.Carrier = func(w *ecs.World, e ecs.Entity) ecs.Entity {
		if e == walker(w, 1) {
			return walker(w, 0)
		}
		return ecs.Entity{}
	}
	g.Physics.Track = func(w *ecs.World, e ecs.Entity) (path uint32, along, speed fixed.Num, ok bool) {
		if m, _ := w.Image().Motion(e); e == walker(w, 2) {
			return 7, m.Pos.X, m.Vel.X, true
		}
		return 0, 0, 0, false
	}
	g.Physics.Path = func(path uint32, along fixed.Num) (at, direction fixed.Vec3, ok bool) {
		return fixed.Vec3{X: along, Y: fixed.FromInt(6)}, fixed.Vec3{X: fixed.One}, path == 7
	}
	return g
}

// last returns the record by which the server moves a walker.
func (r *rig) last(seat int) motion.Record {
	last, _ := r.server.avatar(r.walker(seat)).belief.Record()
	return last
}

// A rider's records are relative to its parent, so that it moves on every client as the parent is shown there. An avatar on
// a path sends how far along it is.
func TestARiderMovesWithItsParentAndAFollowerAlongItsPath(t *testing.T) {
	r := newRigOf(t, rideGame(), rideGame(), 3, 3, 3, Config{})
	apart, from, along := r.believed(1).Sub(r.believed(0)), r.believed(0), r.believed(2)
	for seat := range r.pads {
		r.pads[seat].Walk = true
	}
	r.Run(gameRate)
	if went := far(r.believed(0), from); went < 0.5 {
		t.Fatalf("the parent moved by %v only", went)
	}
	if last := r.last(1); last.Mode != motion.Attached || last.Parent != r.walker(0) {
		t.Errorf("the last record of the rider is %+v", last)
	}
	if last := r.last(2); last.Mode != motion.Scripted || last.Path != 7 || last.Speed == 0 {
		t.Errorf("the last record of the follower is %+v", last)
	}
	for name, off := range map[string]float64{
		"the rider on the server":                  far(r.believed(1).Sub(r.believed(0)), apart),
		"the rider on the parent's client":         far(r.shown(0, 1).Sub(r.own(0)), apart),
		"the follower on the server":               far(r.believed(2).Sub(r.believed(0)), along.Sub(from)),
		"the follower's place on the first client": far(r.shown(0, 2).Sub(r.own(0)), along.Sub(from)),
	} {
		if off > 0.3 {
			t.Errorf("%s is %v from its place", name, off)
		}
	}
	for seat := range r.pads {
		if g := r.guard(seat); g.Refused+g.Clamped > 0 || r.corrections(seat) > 0 {
			t.Errorf("walker %d: %+v, %d corrections", seat, g, r.corrections(seat))
		}
	}
}

// onBolt has every entity on the newest bolt.
func onBolt(w *ecs.World, _ ecs.Entity) (on ecs.Entity) {
	for b := range flying.All(w) {
		on = b.Entity()
	}
	return on
}

// bolt makes walker 0 shoot and ends the messages of client 1. It returns the bolt and its position on the server.
func (r *rig) bolt() (e ecs.Entity, at fixed.Vec3) {
	r.pads[0].Shoot = true
	r.Run(12)
	for b := range flying.All(r.server.World()) {
		e, at = b.Entity(), b.A.Pos
	}
	r.Peers[1].Off = true
	return e, at
}

// attached returns a record of a walker that stands on a parent.
func (r *rig) attached(seat int, parent ecs.Entity, at fixed.Vec3) motion.Record {
	return motion.Record{Entity: r.walker(seat), Stamp: motion.StampOf(r.Local(seat)), Mode: motion.Attached, Parent: parent, Pos: at}
}

// A client claims a bolt as the parent of its walker. The walker moves with the bolt only if the game's Carrier names it.
func TestAParentThatTheGameDoesNotConfirmCarriesNoAvatar(t *testing.T) {
	const frames = 42.0
	for _, confirmed := range []bool{false, true} {
		game := testGame(false)
		if confirmed {
			game.Physics.Carrier = onBolt
		}
		r := newRigOf(t, game, testGame(false), 2, 3, 3, Config{})
		parent, at := r.bolt()
		a, from := r.server.avatar(r.walker(1)), r.believed(1)
		for range int(frames) {
			record := r.attached(1, parent, from.Sub(at))
			if err := r.claim(1, claim{a.epoch, record}); err != nil {
				t.Fatal(err)
			}
			r.Step()
		}
		flew := (r.believed(1).X - from.X).Float()
		if confirmed && flew < 7 || !confirmed && flew > 1.05*top*(frames/gameRate+0.5) {
			t.Errorf("confirmed %t: the walker flew %v units in %d ticks", confirmed, flew, int(frames))
		}
		if corrected := r.corrections(1) > 0; corrected == confirmed {
			t.Errorf("confirmed %t, corrected %t", confirmed, corrected)
		}
	}
}

// An entity that rests on one that moves is sent once a second, like any other.
func TestWhatACarrierMovesIsSentAtTheUsualRate(t *testing.T) {
	game := rideGame()
	var crate ecs.Entity
	game.Setup = func(w *ecs.World) { crate = w.Spawn(ecs.OwnedByWorld, bodies) }
	game.Systems = append(game.Systems, ecs.System{Name: "carry", Run: func(w *ecs.World) {
		on, _ := w.Image().Motion(walker(w, 0))
		bodies.Put(w, crate, body{Pos: on.Pos, Vel: on.Vel})
	}})
	game.Physics.Carrier = func(w *ecs.World, e ecs.Entity) ecs.Entity {
		if e == crate {
			return walker(w, 0)
		}
		return ecs.Entity{}
	}
	r := newRigOf(t, game, game, 1, 3, 3, Config{})
	r.pads[0].Walk = true
	sent, from := map[systems.Time]bool{}, r.believed(0)
	for range 4 * gameRate {
		r.Step()
		if policy := r.server.motion.entities.Get(crate.Row).policy; policy != nil {
			if last, at, ok := policy.Last(); ok && last.Mode == motion.Attached {
				sent[at] = true
			}
		}
	}
	if went := far(r.believed(0), from); went < 10 || len(sent) < 3 || len(sent) > 10 {
		t.Errorf("the carrier went %v units in 4 s, and %d records of the crate were sent", went, len(sent))
	}
}

// An avatar whose parent is removed goes on from where the parent has brought it, without a correction.
func TestARiderWhoseParentIsRemovedIsNotCorrected(t *testing.T) {
	game := testGame(false)
	game.Physics.Carrier = onBolt
	r := newRigOf(t, game, testGame(false), 2, 3, 3, Config{})
	parent, at := r.bolt()
	a, from := r.server.avatar(r.walker(1)), r.believed(1)
	record := r.attached(1, parent, from.Sub(at))
	if err := r.claim(1, claim{a.epoch, record}); err != nil {
		t.Fatal(err)
	}
	r.Run(gameRate)
	flew := r.believed(1).Sub(from).Len()
	if flew < 8*fixed.One || r.server.World().Exists(parent) {
		t.Fatalf("the walker flew %v units, its parent exists: %t", flew, r.server.World().Exists(parent))
	}
	free := motion.Record{Entity: a.entity, Stamp: motion.StampOf(r.Local(1)), Pos: r.believed(1)}
	for _, c := range []motion.Record{record, free} { // the first is a duplicate
		if err := r.claim(1, claim{a.epoch, c}); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.corrections(1); n > 0 || r.last(1).Mode != motion.Ground {
		t.Errorf("%d corrections: %+v, %+v", n, r.guard(1), r.last(1))
	}
}

// A rider whose client is silent is carried only while the game has it on its parent.
func TestARideEndsWhenTheGameEndsIt(t *testing.T) {
	game := testGame(false)
	end := ecs.Tick(1 << 30)
	game.Physics.Carrier = func(w *ecs.World, e ecs.Entity) ecs.Entity {
		if e == walker(w, 1) && w.Tick() < end {
			return walker(w, 0)
		}
		return ecs.Entity{}
	}
	r := newRigOf(t, game, testGame(false), 2, 3, 3, Config{})
	r.Peers[1].Off = true
	a, from := r.server.avatar(r.walker(1)), r.believed(1)
	record := motion.Record{Entity: a.entity, Stamp: motion.StampOf(r.Local(1)), Flags: motion.FlagStop, Mode: motion.Attached,
		Parent: r.walker(0), Pos: from.Sub(r.believed(0))}
	if err := r.claim(1, claim{a.epoch, record}); err != nil {
		t.Fatal(err)
	}
	r.pads[0].Walk = true
	r.Run(gameRate)
	rode := far(r.believed(1), from)
	end = r.server.World().Tick()
	left := r.believed(1)
	r.Run(gameRate)
	if went := far(r.believed(1), left); rode < 3 || went > 0.2 {
		t.Errorf("the walker rode %.2f units, and %.2f more after the game had ended the ride", rode, went)
	}
	if last := r.last(1); last.Mode != motion.Ground || last.Vel != (fixed.Vec3{}) {
		t.Errorf("%+v", last)
	}
}

// Two avatars that a game has on each other do not carry each other away.
func TestAvatarsThatCarryEachOtherDoNotMove(t *testing.T) {
	game := testGame(false)
	game.Physics.Carrier = func(w *ecs.World, e ecs.Entity) ecs.Entity {
		switch e {
		case walker(w, 0):
			return walker(w, 1)
		case walker(w, 1):
			return walker(w, 0)
		}
		return e
	}
	r := newRigOf(t, game, testGame(false), 2, 3, 3, Config{})
	from := r.believed(1)
	for seat := range 2 {
		r.Peers[seat].Off = true
		a := r.server.avatar(r.walker(seat))
		apart := r.believed(seat).Sub(r.believed(1 - seat)).Add(fixed.Vec3{X: fixed.One / 2})
		record := motion.Record{Entity: a.entity, Stamp: motion.StampOf(r.Local(seat)), Flags: motion.FlagStop, Mode: motion.Attached,
			Parent: r.walker(1 - seat), Pos: apart}
		if err := r.claim(seat, claim{a.epoch, record}); err != nil {
			t.Fatal(err)
		}
	}
	r.Run(gameRate)
	if went := far(r.believed(1), from); went > 1 || r.last(0).Mode != motion.Attached {
		t.Errorf("in a second the walkers carried each other %.1f units, the first: %+v", went, r.last(0))
	}
}
