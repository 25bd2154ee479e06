package state

import (
	"iter"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/race"
)

// movingRig makes a rig of n entities, all moving or all at rest.
func movingRig(t testing.TB, n int, move bool) *rig {
	s := &scene{}
	g := &rig{t: t, scene: s}
	*g = *newRig(t, 1, s)
	game := testGame(s)
	game.Setup = func(w *ecs.World) {
		r := w.Rand()
		for range n {
			e := w.Spawn(ecs.OwnedByWorld, cBody, cLife, cLook)
			at := func(side int) fixed.Num { return fixed.FromInt(side).Mul(fixed.Num(r.Uint64()) >> 31) }
			cBody.Put(w, e, tBody{Pos: fixed.Vec2{X: at(400), Y: at(400)}, Vel: fixed.Vec2{X: at(5), Y: at(5)}})
			cLife.Put(w, e, tLife{Health: 100, Alive: true})
		}
	}
	g.world = newWorld(t, game)
	var err error
	if g.changes, err = NewChanges(game); err != nil {
		t.Fatal(err)
	}
	g.record(g.world)
	s.move = move
	return g
}

// A world at rest costs a client next to nothing, however large it is.
func TestAWorldAtRestTakesAHeaderATick(t *testing.T) {
	g := movingRig(t, 500, false)
	c := g.join(0, 1100, link{base: 3})
	for range 10 {
		g.tick()
	}
	before := c.bytes
	for range 100 {
		g.tick()
	}
	if got := c.bytes - before; got != 100*headerBytes {
		t.Errorf("100 deltas of a world at rest take %d bytes, want %d", got, 100*headerBytes)
	}
}

// Entities that do not fit are sent later: with room for a tenth of the moving entities, all are sent in turn.
func TestASmallBudgetStarvesNoEntity(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		g := movingRig(t, 300, true)
		g.scene.sway = true
		c := g.join(-1, 200, link{base: 3})
		weight := func(e ecs.Entity) float32 {
			if weighted && e.Row%10 == 0 {
				return 10
			}
			return 1
		}
		interest := iter.Seq2[ecs.Entity, float32](func(yield func(ecs.Entity, float32) bool) {
			g.changes.All(func(e ecs.Entity, _ float32) bool { return yield(e, weight(e)) })
		})
		updated, oldest, oldestHeavy := map[ecs.Entity]ecs.Tick{}, ecs.Tick(0), ecs.Tick(0)
		updates, deltas := uint64(0), 0
		for range 600 {
			g.world.Step(ecs.TickInputs{})
			g.record(g.world)
			before := c.sender.Stats().Updates
			c.down.send(g.r, int(g.world.Tick()), c.sender.Append(nil, c.limit, interest))
			if g.world.Tick() > 100 {
				updates += c.sender.Stats().Updates - before
				deltas++
			}
			for _, delta := range c.down.receive(int(g.world.Tick())) {
				if err := c.receiver.Receive(delta); err != nil {
					t.Fatal(err)
				}
			}
			for e := range g.state().Entities {
				updated[e] = c.receiver.LastUpdate(e)
				if age := c.receiver.Tick() - updated[e]; g.world.Tick() > 100 {
					if oldest = max(oldest, age); weight(e) > 1 {
						oldestHeavy = max(oldestHeavy, age)
					}
				}
			}
			if err := c.sender.Acked(c.receiver.Ack()); err != nil {
				t.Fatal(err)
			}
		}
		perBody := float64(updates) / float64(deltas)
		sum := 300.0
		if weighted {
			sum += 30 * 9
		}
		t.Logf("weighted %v: %.1f entities a delta; the oldest is of %d ticks ago, the oldest of weight 10 of %d", weighted, perBody, oldest, oldestHeavy)
		if perBody > 100 {
			t.Errorf("%.1f entities fit a delta: the budget is not small", perBody)
		}
		// The claims that grow in a tick are the weights' sum; a delta takes away those of perBody entities, the highest.
		if bound := sum/perBody*1.5 + 3; float64(oldest) > bound {
			t.Errorf("weighted %v: an entity waited for %d ticks, the bound is %.0f", weighted, oldest, bound)
		}
		if weighted && oldestHeavy*3 > oldest {
			t.Errorf("entities of weight 10 waited for %d ticks, others for %d", oldestHeavy, oldest)
		}
	}
}

// A value in flight is sent again when it is overdue, or at once when it is known to be lost.
func TestAValueInFlightIsRepeatedWhenItIsLostOrOverdue(t *testing.T) {
	g := movingRig(t, 50, false)
	c := g.join(-1, 1100, link{})
	var deltas [][]byte
	next := func() int {
		g.world.Step(ecs.TickInputs{})
		g.record(g.world)
		deltas = append(deltas, c.sender.Append(nil, 1100, g.changes.All))
		return len(deltas[len(deltas)-1])
	}
	take := func(i int) {
		if err := c.receiver.Receive(deltas[i]); err != nil {
			t.Fatal(err)
		}
		if err := c.sender.Acked(c.receiver.Ack()); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 { // a round trip of two ticks
		next()
		if n := len(deltas); n > 2 {
			take(n - 3)
		}
	}
	deltas = deltas[:0]
	g.scene.move = true
	g.world.Step(ecs.TickInputs{})
	g.record(g.world)
	g.scene.move = false
	if n := next(); n < 100 {
		t.Fatalf("50 entities that moved take %d bytes", n)
	}
	if n := next(); n != headerBytes {
		t.Errorf("what is on its way is repeated: %d bytes", n)
	}
	take(1) // so delta 0 is lost
	if n := next(); n < 100 {
		t.Errorf("what is lost is not repeated: %d bytes", n)
	}
	waited := 0
	for next() == headerBytes {
		waited++
	}
	if waited < 2 || waited > 5 {
		t.Errorf("it is repeated after %d ticks without an acknowledgement, the round trip takes 2", waited)
	}
	take(len(deltas) - 1)
	for range 20 {
		if n := next(); n != headerBytes {
			t.Fatalf("what is held is sent: %d bytes", n)
		}
	}
}

// A player's own entities decide whether its predictions were right; they go first, whatever waits.
func TestAPlayersOwnEntitiesGoFirst(t *testing.T) {
	s := &scene{}
	g := movingRig(t, 200, true)
	*s = *g.scene
	game := g.world.Game()
	own := ecs.Entity{}
	baseSetup := game.Setup
	game.Setup = func(w *ecs.World) {
		baseSetup(w)
		own = w.Spawn(ecs.OwnedBy(2), cBody)
		cBody.Put(w, own, tBody{Vel: fixed.Vec2{X: fixed.One, Y: fixed.One}})
	}
	g.world = newWorld(t, game)
	g.changes, _ = NewChanges(game)
	g.record(g.world)
	c := g.join(2, 80, link{base: 2})
	for range 100 {
		g.tick()
		if c.receiver.Tick() == 0 {
			continue
		}
		if f := c.receiver.LastUpdate(own); f != c.receiver.Tick() {
			t.Fatalf("in tick %d the own entity is of tick %d", c.receiver.Tick(), f)
		}
	}
}

type tHuge struct{ Noise [2000]uint32 }

var rHuge = ecs.NewResource[tHuge]("huge")

// Something that has no room in any delta is counted, and everything else goes on.
func TestWhatHasNoRoomHoldsNothingUp(t *testing.T) {
	s := &scene{busy: true}
	game := testGame(s)
	game.Resources = append(game.Resources, rHuge)
	game.Systems = append(game.Systems, ecs.Systems(func(w *ecs.World) {
		for i := range rHuge.Read(w).Noise {
			rHuge.Write(w).Noise[i] = uint32(w.Rand().Uint64())
		}
	})...)
	g := newRig(t, 3, s)
	g.world = newWorld(t, game)
	g.changes, _ = NewChanges(game)
	g.record(g.world)
	c := g.join(0, 500, link{base: 2})
	for range 100 {
		g.tick()
	}
	if st := c.sender.Stats(); st.Oversized == 0 || st.Updates < 200 || c.receiver.sequence < 90 {
		t.Errorf("%+v, %d deltas", st, c.receiver.sequence)
	}
	if c.complete > 0 {
		t.Errorf("the client was complete %d times", c.complete)
	}
}

// A player's wire must not wait for the collector.
func TestATickOfObservingSendingAndTakingAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	g := movingRig(t, 100, true)
	c := g.join(0, 400, link{})
	delta := make([]byte, 0, 1100)
	interest := iter.Seq2[ecs.Entity, float32](g.changes.All)
	tick := func() {
		g.world.Step(ecs.TickInputs{})
		g.record(g.world)
		delta = c.sender.Append(delta[:0], c.limit, interest)
		if c.receiver.Receive(delta) != nil || c.sender.Acked(c.receiver.Ack()) != nil {
			t.Fatal("refused")
		}
		c.receiver.Current(ecs.Entity{Row: 1})
	}
	for range 600 {
		tick()
	}
	if n := testing.AllocsPerRun(200, tick); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Even motion takes almost no bytes, since held values predict it. An entity that turns now and then takes few.
func TestMovingEntitiesTakeFewBytes(t *testing.T) {
	for _, x := range []struct {
		scene scene
		most  float64
	}{
		{scene{move: true}, 0.1},
		{scene{move: true, turn: true}, 1.5},
		{scene{move: true, turn: true, bend: true}, 4},
		{scene{move: true, sway: true}, 8},
	} {
		g := movingRig(t, 50, true)
		*g.scene = x.scene
		c := g.join(0, 1100, link{base: 3})
		for range 60 {
			g.tick()
		}
		before := c.bytes
		for range 60 {
			g.tick()
		}
		each := float64(c.bytes-before-60*headerBytes) / 60 / 50
		t.Logf("%+v: %.2f bytes for each of 50 entities that move", x.scene, each)
		if each > x.most || each < x.most/4 {
			t.Errorf("%+v: each of 50 entities that move takes %.2f bytes a delta", x.scene, each)
		}
	}
}

// If a delta names no baseline, server and client must use the same one. When many acknowledgements are lost, a client accepts
// deltas that the server never sees acknowledged.
func TestUnacknowledgedBodiesDoNoHarm(t *testing.T) {
	seeds := uint64(4)
	if race.Enabled {
		seeds = 1
	}
	for seed := range seeds {
		g := newRig(t, seed, &scene{busy: true, move: true})
		for range 30 {
			g.tick()
		}
		c := g.join(0, 700, link{})
		for range 12 {
			c.up.loss = 1
			for range 30 + g.r.IntN(60) {
				c.down.loss = float64(g.r.IntN(3)) / 4
				g.tick()
			}
			c.up.loss, c.down.loss = 0, 0
			for range 1 + g.r.IntN(12) {
				g.tick()
			}
		}
		g.settle(40)
		if n := c.refused; n > 0 || c.complete < 100 {
			t.Errorf("seed %d: %d deltas were refused, %d made the client complete", seed, n, c.complete)
		}
	}
}
