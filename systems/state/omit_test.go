package state

import (
	"testing"

	"tendon/ecs"
)

// Deltas omit positions that are replicated elsewhere, and nothing else. Each client holds the position of the last tick in
// which it was not omitted, also a client that has loaded an image of another tick. When a position is no longer omitted, it
// is sent, though nothing moves.
func TestPositionsReplicatedElsewhereAreOmitted(t *testing.T) {
	for i, l := range []link{{}, {base: 3, jitter: 4}, {loss: 0.3, base: 2}, {loss: 0.1, doubled: 0.3, base: 1, jitter: 10}} {
		g := newRig(t, uint64(i), &scene{busy: true, move: true})
		turn := true
		g.last, g.omits = map[uint32]known{}, func(e ecs.Entity) bool { return turn && (uint64(e.Row)+uint64(g.world.Tick())/40)%4 > 0 }
		g.changes.OmitPositions(g.omits)
		for range 30 {
			g.tick()
		}
		c := g.join(0, 1100, l)
		g.join(-1, 300, l)
		for round := range 4 {
			for range 60 {
				g.tick()
			}
			if round == 2 {
				g.load(c, 0)
			}
		}
		differ := 0
		for e := range g.state().Entities {
			if _, _, values := g.state().AppendScalars(nil, e.Row); values[0] != g.last[e.Row].values[0] {
				differ++
			}
		}
		turn = false
		g.settle(700)
		for e := range c.receiver.State().Entities {
			here, _ := c.receiver.State().Motion(e)
			if there, _ := g.world.Image().Motion(e); here != there {
				t.Fatalf("link %d: %v is at %v, on the server at %v", i, e, here.Pos, there.Pos)
			}
		}
		if differ < 5 || c.complete < 20 || l.loss < 0.3 && c.refused > 0 {
			t.Errorf("link %d: %d places left out, complete %d times, %d refused: the test shows little", i, differ, c.complete, c.refused)
		}
	}
}

// An omitted position takes no bytes.
func TestOmittedPositionsTakeNoBytes(t *testing.T) {
	bytes := func(omits bool) int {
		g := newRig(t, 1, &scene{busy: true})
		for range 60 {
			g.tick()
		}
		g.scene.busy, g.scene.move, g.scene.bend = false, true, true
		if omits {
			g.changes.OmitPositions(func(ecs.Entity) bool { return true })
		}
		c := g.join(0, 1100, link{base: 3})
		g.clients[0].wants = func(ecs.Entity) bool { return true }
		before := c.bytes
		for range 120 {
			g.world.Step(ecs.TickInputs{})
			g.record(g.world)
			c.bytes += len(c.sender.Append(nil, 1100, g.interest(c)))
		}
		return c.bytes - before
	}
	all, rest := bytes(false), bytes(true)
	if rest > 120*headerBytes+200 || all < 10*rest {
		t.Errorf("%d bytes where nothing but places changes, %d with them", rest, all)
	}
}
