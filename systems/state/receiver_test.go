package state

import (
	"testing"
	"unsafe"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// LastUpdate is the last tick that updated an entity. An entity that rests is current in every complete replica.
func TestARestingEntityIsCurrentWithoutUpdates(t *testing.T) {
	g := movingRig(t, 40, false)
	c := g.join(0, 1100, link{})
	e := ecs.Entity{Row: 7}
	for tick := ecs.Tick(1); tick <= 50; tick++ {
		if tick == 20 || tick == 30 {
			b := cBody.Write(g.world, e)
			b.Pos.X += fixed.One
		}
		g.tick()
		want := ecs.Tick(0)
		if tick >= 20 {
			want = tick / 10 * 10
		}
		if tick == 40 || tick == 50 || want > 30 {
			want = 30
		}
		if got := c.receiver.LastUpdate(e); got != want || !c.receiver.Current(e) {
			t.Errorf("in tick %d the last update is of tick %d, want %d; current: %v", tick, got, want, c.receiver.Current(e))
		}
	}
	if gone := (ecs.Entity{Row: 7, Born: 5}); c.receiver.Current(gone) || c.receiver.LastUpdate(gone) != 0 {
		t.Error("an entity that does not exist is current")
	}
}

// With a small bandwidth a replica has entities that are older than its tick. Only the others are current, and those equal
// the server's.
func TestCurrentEntitiesEqualTheServersInIncompleteReplicas(t *testing.T) {
	g := movingRig(t, 300, true)
	g.scene.sway = true
	c := g.join(-1, 200, link{})
	current, old := 0, 0
	for range 60 {
		g.tick()
		for e := range c.receiver.State().Entities {
			if !c.receiver.Current(e) {
				old++
				continue
			}
			current++
			b, _ := cBody.ReadAt(c.receiver.State(), e)
			if want := c.expected[c.receiver.Tick()][e.Row].values; int64(b.Pos.X>>23) != int64(want[0]) {
				t.Fatalf("entity %v in tick %d is at %d, on the server it was at %d", e, c.receiver.Tick(), b.Pos.X, int64(want[0]))
			}
		}
	}
	if current < 500 || old < 5000 {
		t.Errorf("%d current and %d old entities: the test shows nothing", current, old)
	}
}

// The memory of checkpoints is bounded: they store models of the game's fields, and the rows of a delta.
func TestCheckpointsAreBoundedAndSurviveLoss(t *testing.T) {
	g := movingRig(t, 100, true)
	g.scene.turn = true
	c := g.join(0, 1100, link{base: 4, jitter: 2, loss: 0.2})
	learned := 0
	for range 300 {
		g.tick()
		if s := c.sender; s.learned > 0 && newestBefore(s.sequence+1)-s.learned < checkpointEvery*checkpointsKept {
			learned++
		}
	}
	g.settle(60)
	if c.refused > 0 || learned < 270 {
		t.Errorf("%d deltas were refused, %d began with learned models", c.refused, learned)
	}
	for _, list := range []*checkpoints{&c.sender.checkpoints, &c.receiver.decoder.checkpoints} {
		bytes := 0
		for i := range list {
			if list[i].trained != nil {
				m := list[i].models
				bytes += 4*cap(list[i].rows) + int(unsafe.Sizeof(*m)) + int(unsafe.Sizeof(m.scalar[0]))*len(m.scalar)
			}
		}
		t.Logf("%d bytes", bytes)
		if bytes > 128<<10 {
			t.Errorf("checkpoints take %d bytes", bytes)
		}
	}
}
