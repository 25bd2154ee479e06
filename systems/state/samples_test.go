package state

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// An interpolated value must lie between two states of the server. For an entity that has rested, the first sample is the
// last tick in which it is known to have rested, not its last update.
func TestSamplesAreTicksInWhichTheEntityIsKnown(t *testing.T) {
	g := movingRig(t, 40, false)
	c := g.join(0, 1100, link{})
	e := ecs.Entity{Row: 7}
	move := func() {
		b := cBody.Write(g.world, e)
		b.Pos.X += fixed.One
	}
	for tick := 1; tick <= 50; tick++ {
		if tick == 20 || tick == 30 || tick == 31 {
			move()
		}
		if tick == 25 || tick == 26 { // lost on the way
			g.world.Step(ecs.TickInputs{})
			g.record(g.world)
			c.sender.Append(nil, c.limit, g.changes.All)
			continue
		}
		g.tick()
	}
	for _, x := range []struct{ at, before, after ecs.Tick }{
		{19, 19, 20}, {20, 20, 21}, {24, 24, 27}, {25, 24, 27}, {26, 24, 27}, {27, 27, 28}, {29, 29, 30}, {30, 30, 31}, {50, 50, 0}, {90, 50, 0},
	} {
		before, after := c.receiver.Samples(e, x.at)
		if before.Tick != x.before || after.Tick != x.after || (after.State == nil) != (x.after == 0) {
			t.Errorf("at %d: %d and %d, want %d and %d", x.at, before.Tick, after.Tick, x.before, x.after)
		}
		if before.State.Tick() != before.Tick {
			t.Errorf("at %d: the state is of tick %d", x.at, before.State.Tick())
		}
	}
	if got := c.receiver.Updates(nil, e); len(got) != 4 || got[0] != 0 || got[1] != 20 || got[3] != 31 {
		t.Errorf("updates %v", got)
	}
	if before, after := c.receiver.Samples(ecs.Entity{Row: 7, Born: 5}, 30); before.State != nil || after.State != nil {
		t.Error("there are samples of an entity that is not there")
	}
}

// Where the budget is short a replica holds entities that are older than its tick. They are not as on the server then,
// and drawing them as if they were would make them stop and jump.
func TestSamplesPassOverReplicasThatAreNotComplete(t *testing.T) {
	g := movingRig(t, 300, true)
	g.scene.sway = true
	c := g.join(-1, 200, link{})
	for range 60 {
		g.tick()
	}
	apart := 0
	for e := range c.receiver.State().Entities {
		for f := g.world.Tick() - 40; f < g.world.Tick(); f++ {
			before, after := c.receiver.Samples(e, f)
			for _, s := range []Sample{before, after} {
				if s.State == nil {
					continue
				}
				b, ok := cBody.ReadAt(s.State, e)
				if want := c.expected[s.Tick][e.Row].values; !ok || int64(b.Pos.X>>23) != int64(want[0]) {
					t.Fatalf("entity %v at %d: %v in the sample of tick %d, on the server it was %d", e, f, b.Pos.X, s.Tick, int64(want[0]))
				}
			}
			if before.State != nil && after.State != nil && after.Tick-before.Tick > 1 {
				apart++
			}
		}
	}
	if apart < 1000 {
		t.Errorf("only %d samples are more than a tick apart: the test shows nothing", apart)
	}
}
