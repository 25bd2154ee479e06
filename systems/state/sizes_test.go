package state

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

// accounts is a ByteObserver that sums everything.
type accounts struct {
	all   uint64
	kinds map[image.ComponentSet]uint64
	parts map[int]uint64
}

func (a *accounts) Enter(image.Section)                {}
func (a *accounts) Leave(image.Section)                {}
func (a *accounts) Name(image.Section, string, string) {}
func (a *accounts) Turn(ecs.Tick)                      {}
func (a *accounts) CountsBytes() bool                  { return true }
func (a *accounts) Sent(int)                           {}

func (a *accounts) Part(kind image.ComponentSet, column int, amount uint64) {
	if amount > 1<<40 {
		panic("an amount below zero")
	}
	a.all += amount
	a.kinds[kind] += amount
	a.parts[column] += amount
}

// account begins to account the bytes of a rig.
func (g *rig) account() *accounts {
	a := &accounts{kinds: map[image.ComponentSet]uint64{}, parts: map[int]uint64{}}
	g.changes.Account(a)
	return a
}

// Every byte of every delta is accounted once: also of deltas that were shared, and of those in which not all fitted, so that
// their code was rewound.
func TestEveryByteOfADeltaIsAccounted(t *testing.T) {
	g := newRig(t, 11, &scene{busy: true, move: true})
	for range 20 {
		g.tick()
	}
	a, bytes := g.account(), 0
	wide, twin, narrow := g.join(-1, 1100, link{}), g.join(-1, 1100, link{}), g.join(0, 90, link{})
	for range 60 {
		g.world.Step(ecs.TickInputs{})
		g.record(g.world)
		for _, c := range []*client{wide, twin, narrow} {
			delta := c.sender.Append(nil, c.limit, g.changes.All)
			bytes += len(delta)
			if err := c.receiver.Receive(delta); err != nil {
				t.Fatal(err)
			}
			if err := c.sender.Acked(c.receiver.Ack()); err != nil {
				t.Fatal(err)
			}
		}
		if a.all != uint64(bytes)*image.ByteUnits {
			t.Fatalf("tick %d: %d of %d bytes are accounted", g.world.Tick(), a.all/image.ByteUnits, bytes)
		}
	}
	entities := uint64(0)
	for kind, amount := range a.kinds {
		if kind != 0 {
			entities += amount
		}
	}
	if len(a.kinds) < 3 || entities < a.all/2 || a.parts[image.PartEntity] == 0 || a.parts[g.changes.schema.columns[0]] == 0 {
		t.Errorf("kinds %v, parts %v of %d bytes", a.kinds, a.parts, bytes)
	}
}

// Accounting changes no byte of a delta, and allocates nothing.
func TestAccountingChangesNoByte(t *testing.T) {
	play := func(account bool) (all []byte) {
		g := newRig(t, 11, &scene{busy: true, move: true})
		if account {
			g.account()
		}
		c := g.join(0, 200, link{})
		for range 40 {
			g.world.Step(ecs.TickInputs{})
			g.record(g.world)
			all = c.sender.Append(all, c.limit, g.changes.All)
		}
		return all
	}
	if string(play(true)) != string(play(false)) {
		t.Error("the deltas differ")
	}
}
