package state

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/race"
)

// Deltas are lost, duplicated and overtaken, and entities become relevant and irrelevant. Once the world rests, the client
// holds exactly the relevant set, and it is never marked complete when it is not.
func TestAReplicaIsTheServersInterestSetOnceTrafficStops(t *testing.T) {
	links := []link{
		{},
		{base: 3, jitter: 4},
		{loss: 0.3, base: 2},
		{loss: 0.1, doubled: 0.3, base: 1, jitter: 10},
		{loss: 0.5, doubled: 0.2, base: 5, jitter: 8},
		{base: 13}, // updates since the older of two baselines are
		{base: 25}, // more updates are under way than a client keeps values
		{base: 90, jitter: 3},
	}
	for i, l := range links {
		if !race.Long && i%3 != 0 {
			continue
		}
		g := newRig(t, uint64(i), &scene{busy: true})
		for range 30 {
			g.tick()
		}
		all, some := g.join(0, 1100, l), g.join(1, 300, l)
		g.join(-1, 64, l) // has hardly any room
		fickle := g.join(2, 1100, l)
		fickle.wants = func(e ecs.Entity) bool { return (uint64(e.Row)+uint64(g.world.Tick())/4)%5 > 0 }
		some.wants = func(e ecs.Entity) bool {
			return (uint64(e.Row)+uint64(e.Born)+uint64(g.world.Tick())/40)%3 > 0
		}
		for round := range 4 {
			g.scene.busy, g.scene.move = true, round%2 == 0
			g.predict = round%2 == 1
			for range 60 {
				g.tick()
			}
			if round == 2 { // a resync: what is under way was meant for another state
				g.load(all, 0)
			}
		}
		frozen := uint64(g.world.Tick())
		some.wants = func(e ecs.Entity) bool { return (uint64(e.Row)+uint64(e.Born)+frozen/40)%3 > 0 }
		fickle.wants = func(e ecs.Entity) bool { return (uint64(e.Row)+frozen/4)%5 > 0 }
		g.settle(700)
		for k, c := range g.clients {
			if k > 0 && c.refused > 0 {
				t.Errorf("link %d, client %d: %d deltas build on values that the client does not hold", i, k, c.refused)
			}
			if c.complete < 5 || c.sender.Stats().Updates < 300 && k < 2 {
				t.Errorf("link %d, client %d: complete %d times: %+v: the test shows little", i, k, c.complete, c.sender.Stats())
			}
		}
	}
}

// Where more has to go than fits a delta, the deltas in between must not pass for complete.
func TestManyRowsThatGoTakeSeveralBodies(t *testing.T) {
	g := movingRig(t, 2000, false)
	c := g.join(0, 64, link{base: 2})
	for range 5 {
		g.tick()
	}
	c.wants = func(e ecs.Entity) bool { return e.Row*2654435761>>30 == 0 }
	before := c.sender.sequence
	for c.sender.items.Len() > 600 {
		g.tick()
	}
	if n := c.sender.sequence - before; n < 8 {
		t.Errorf("1400 rows go in %d deltas of 64 bytes", n)
	}
	g.settle(20)
}

// A server may only build on values that the client still has, however many are under way: a delta that is refused is a
// round trip lost.
func TestNoDelayMakesAClientRefuseABody(t *testing.T) {
	for _, delay := range []int{1, 6, 8, 10, 13, 15, 17, 30, 40} {
		g := movingRig(t, 30, true)
		g.scene.turn = true
		c := g.join(0, 1100, link{base: delay, jitter: delay / 8, loss: 0.05})
		for range 200 {
			g.tick()
		}
		if st := c.sender.Stats(); c.refused > 0 || st.Updates < 1000 {
			t.Errorf("a delay of %d ticks: %d refused, %+v", delay, c.refused, st)
		}
	}
}

// Entities that are relevant to no client cost nothing, and the others are replicated as ever. They come and go for longer than
// values are stored, and more often.
func TestOnlyRelevantEntitiesAreObserved(t *testing.T) {
	for i, l := range []link{{}, {base: 3, jitter: 4}, {loss: 0.3, base: 2}} {
		g := newRig(t, uint64(i), &scene{busy: true, move: true})
		g.sparse = true
		for range 30 {
			g.tick()
		}
		tick := func() uint64 { return uint64(g.world.Tick()) }
		slow, quick := g.join(0, 1100, l), g.join(1, 1100, l)
		slow.wants = func(e ecs.Entity) bool { return (uint64(e.Row)+tick()/150)%8 == 0 }
		quick.wants = func(e ecs.Entity) bool { return (uint64(e.Row)+tick()/20)%16 == 1 }
		stored, all := 0, 0
		for range 900 {
			g.tick()
			if tick() > 3*keptTicks {
				stored += g.changes.entities.rows.Len()
				for range g.state().Entities {
					all++
				}
			}
		}
		frozen := tick()
		slow.wants = func(e ecs.Entity) bool { return (uint64(e.Row)+frozen/150)%8 == 0 }
		quick.wants = func(e ecs.Entity) bool { return (uint64(e.Row)+frozen/20)%16 == 1 }
		g.settle(700)
		if 100*stored > 38*all {
			t.Errorf("link %d: the values of %d of %d entities are stored", i, stored, all)
		}
		for k, c := range g.clients {
			if c.refused > 0 || c.complete < 5 || c.sender.Stats().Updates < 300 {
				t.Errorf("link %d, client %d: %d deltas refused, complete %d times: %+v", i, k, c.refused, c.complete, c.sender.Stats())
			}
		}
	}
}
