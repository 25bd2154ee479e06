package server

import (
	"testing"
	"testing/synctest"
	"time"

	"tendon/ecs/race"
	"tendon/net/netcode"
)

type nowhere struct{ datagrams }

func (nowhere) send(*netcode.Outbox) int { return 0 }

// A turn of a worker allocates nothing after a warm-up.
func TestATurnAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	inBubble(t, "P1", func(c *Config) { c.Workers = 1 }, func(w *world) {
		w.pair(5 * time.Second)
		w.pass(5 * time.Second)
		// The worker sleeps until its next step. The test makes its turns, and no client sends meanwhile.
		synctest.Wait()
		k := w.server.workers[0]
		now := time.Now()
		k.datagrams = nowhere{k.datagrams} // the simulated network copies packets
		before := k.packets.PacketsOut
		allocs := testing.AllocsPerRun(60, func() {
			now = now.Add(time.Second / 30)
			k.turn(now)
		})
		if sent := k.packets.PacketsOut - before; sent < 100 {
			t.Errorf("%d packets in 61 turns with two clients", sent)
		}
		if allocs > 0 {
			t.Errorf("%v allocations a turn", allocs)
		}
	})
}
