package matchtest

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// everyStrategy is what clients come in by.
var everyStrategy = []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, verify.Strategy, reckon.Strategy}

// comeIn lets players come into a match that is two seconds old, and waits until all of them are live.
func comeIn(t *testing.T, s systems.Strategy, seed uint64, players int, p Plan, within time.Duration) *Harness {
	t.Helper()
	h, err := New(Config{Game: Dots(), Strategy: s, Seed: seed, Unchecked: true})
	if err != nil {
		t.Fatal(err)
	}
	h.RunUntil(2 * time.Second)
	for range players {
		h.Join(p)
	}
	h.waitFor(t, within, func(c *Client) bool { return c.FirstLive > 0 })
	return h
}

// waitFor plays on until all clients are where they are to be.
func (h *Harness) waitFor(t *testing.T, within time.Duration, there func(*Client) bool) {
	t.Helper()
	for until := h.Net.Now() + within; ; h.Run(time.Second / 60) {
		var missing *Client
		for _, c := range h.Clients {
			if !there(c) {
				missing = c
			}
		}
		switch {
		case missing == nil:
			return
		case h.Net.Now() >= until:
			t.Fatalf("%s, seed %d: client %d is %v after %v: %+v", h.config.Strategy.Name, h.config.Seed, missing.number, missing.Core.State(), within, missing.Core.Stats().Strategy)
		}
	}
}

// inMatch reports whether the server has the client's player.
func (c *Client) inMatch() bool {
	return c.Seat() >= 0 && c.harness.Room.World().Players().Has(ecs.Player(c.Seat()))
}

// Two seconds of round trip, a quarter of all that is sent lost and some of it doubled: who comes in over that is live
// within ten round trips, and has an avatar after three more. What waits for a timer of the reliable channel in the
// middle of it would take as many for one message.
func TestClientsComeInOverTheWorstNetworkWithinTenRoundTrips(t *testing.T) {
	p, _ := simnet.ByName("P9")
	p.Up.Duplicate, p.Down.Duplicate = 0.05, 0.05
	for _, s := range everyStrategy {
		for seed := uint64(1); seed <= 20; seed++ {
			h := comeIn(t, s, seed, 2, Plan{Profile: p}, 20*time.Second)
			h.waitFor(t, 6*time.Second, (*Client).inMatch)
		}
	}
}

// Who comes later, and who comes back, is as soon in the match as who was there from the beginning.
func TestClientsComeLaterAndComeBackOverTheWorstNetwork(t *testing.T) {
	p, _ := simnet.ByName("P9")
	for _, s := range everyStrategy {
		for seed := uint64(1); seed <= 3; seed++ {
			h := comeIn(t, s, seed, 2, Plan{Profile: p}, 20*time.Second)
			h.Run(5 * time.Second)
			late := h.Join(Plan{Profile: p})
			h.waitFor(t, 20*time.Second, func(c *Client) bool { return c != late || c.Live() })
			h.Run(5 * time.Second)
			late.Reconnect()
			h.waitFor(t, 20*time.Second, func(c *Client) bool { return c != late || c.Live() })
		}
	}
}

// A display of five frames a second computes twelve ticks in each. Whoever draws so slowly comes in, and stays with the
// match: what he does arrives in time, and what he sees gets no older.
func TestClientsThatDrawFiveFramesASecondComeInAndStayInTheMatch(t *testing.T) {
	for _, profile := range []string{"P1", "P4"} {
		p, _ := simnet.ByName(profile)
		for _, s := range everyStrategy {
			for _, hz := range []int{5, 6} {
				h := comeIn(t, s, 1, 2, Plan{Profile: p, Hz: hz}, 10*time.Second)
				h.Run(5 * time.Second)
				before, oldest := h.Clients[0].Core.Stats().Strategy, ecs.Tick(0)
				for range 100 {
					h.Run(time.Second / 10)
					oldest = max(oldest, h.Room.Tick()-min(h.Room.Tick(), h.Clients[0].Core.Stats().Strategy.Present))
				}
				now := h.Clients[0].Core.Stats().Strategy
				// Lockstep shows what the way down and a frame took, and a quarter of a second of margin and interval.
				if lost := now.Substituted - before.Substituted; lost > 12 || now.Stalls-before.Stalls > 12 || oldest > 8+12+15 {
					t.Errorf("%s on %s at %d frames a second: %d inputs of ten seconds came too late, %d ticks could not be computed, the present was %d ticks old",
						s.Name, profile, hz, lost, now.Stalls-before.Stalls, oldest)
				}
			}
		}
	}
}

// A server may send as little as one snapshot a second. Who comes in measures his clock by them, so until it is right he
// is sent more: he is live as soon as on any server, on any connection.
func TestClientsComeInAtOneSnapshotASecond(t *testing.T) {
	rare := predict.New(predict.Config{SnapshotRate: 1})
	for profile, within := range map[string]time.Duration{"P1": 3 * time.Second, "P4": 4 * time.Second, "P6": 4 * time.Second, "P9": 20 * time.Second} {
		p, _ := simnet.ByName(profile)
		for seed := uint64(1); seed <= 3; seed++ {
			h := comeIn(t, rare, seed, 2, Plan{Profile: p}, within)
			h.waitFor(t, 6*time.Second, (*Client).inMatch)
			before := h.Clients[0].Core.Stats().Session.MessagesReceived
			h.Run(10 * time.Second)
			// A snapshot and the two probes a second, and what the others' joining says.
			if n := h.Clients[0].Core.Stats().Session.MessagesReceived - before; n > 100 {
				t.Errorf("%s, seed %d: %d messages in ten seconds to who is live", profile, seed, n)
			}
		}
	}
}

// A client whose server is gone says that it waits a second later, long before it gives the connection up; and on the
// worst networks none says so while the server is there.
func TestAClientWhoseServerIsGoneSaysThatItWaits(t *testing.T) {
	for _, s := range everyStrategy {
		for _, profile := range []string{"P1", "P7", "P9"} {
			p, _ := simnet.ByName(profile)
			h := comeIn(t, s, 1, 2, Plan{Profile: p}, 20*time.Second)
			c := h.Clients[0]
			for range 60 * 30 {
				if h.Run(time.Second / 60); c.Core.Stats().Waiting {
					t.Fatalf("%s on %s: waits for a server that is there", s.Name, profile)
				}
			}
			h.Net.Partition(c.node, h.server, h.Net.Now(), h.Net.Now()+time.Minute)
			h.Run(2500 * time.Millisecond) // what is under way arrives for up to a second
			if now := c.Core.Stats(); !now.Waiting || !c.Live() {
				t.Errorf("%s on %s: waiting %v, %v", s.Name, profile, now.Waiting, now.State)
			}
		}
	}
}
