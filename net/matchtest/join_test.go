package matchtest

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// strategies are all strategies.
var strategies = []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, verify.Strategy, reckon.Strategy}

// played returns the strategies of a test that runs in one goroutine: two under the race detector, which finds nothing there.
func played() []systems.Strategy {
	if race.Enabled {
		return []systems.Strategy{relay.Strategy, reckon.Strategy}
	}
	return strategies
}

// joined is a match whose clients have joined.
type joined struct {
	*matchsim.Match
	t    *testing.T
	name string
}

// join lets two players join a match that is two seconds old, and waits until both are live.
func join(t *testing.T, s systems.Strategy, seed uint64, p matchsim.Plan, within time.Duration) joined {
	t.Helper()
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: s, Seed: seed, Unchecked: true})
	if err != nil {
		t.Fatal(err)
	}
	m.RunUntil(2 * time.Second)
	m.Join(p)
	m.Join(p)
	j := joined{m, t, s.Name}
	j.waitFor(within, func(c *matchsim.Client) bool { return c.FirstLive > 0 })
	return j
}

// waitFor runs until done holds for all clients.
func (j joined) waitFor(within time.Duration, done func(*matchsim.Client) bool) {
	j.t.Helper()
	for until := j.Net.Now() + within; ; j.Run(time.Second / 60) {
		var missing *matchsim.Client
		for _, c := range j.Clients {
			if !done(c) {
				missing = c
			}
		}
		switch {
		case missing == nil:
			return
		case j.Net.Now() >= until:
			j.t.Fatalf("%s: client %d is %v after %v: %+v", j.name, missing.Number, missing.Core.State(), within, missing.Core.Stats().Strategy)
		}
	}
}

// hasPlayer reports whether the server has the client's player.
func (j joined) hasPlayer(c *matchsim.Client) bool {
	return c.Seat() >= 0 && j.Room.World().Players().Has(ecs.Player(c.Seat()))
}

// The round trip is two seconds, a quarter of all packets is lost, and some are doubled. A client is live within ten round
// trips and has an avatar after three more. One message that waited for a timer of the reliable channel would take as long.
func TestClientsJoinOverTheWorstNetworkWithinTenRoundTrips(t *testing.T) {
	p := profile(t, "P9")
	p.Up.Duplicate, p.Down.Duplicate = 0.05, 0.05
	for _, s := range strategies {
		for seed := uint64(1); seed <= seeds(20); seed++ {
			j := join(t, s, seed, matchsim.Plan{Profile: p}, 20*time.Second)
			j.waitFor(6*time.Second, j.hasPlayer)
		}
	}
}

// A client that joins later, and one that reconnects, become live as fast as one that was there from the start.
func TestClientsJoinLateAndReconnectOverTheWorstNetwork(t *testing.T) {
	p := profile(t, "P9")
	for _, s := range played() {
		for seed := uint64(1); seed <= seeds(3); seed++ {
			j := join(t, s, seed, matchsim.Plan{Profile: p}, 20*time.Second)
			j.Run(5 * time.Second)
			late := j.Join(matchsim.Plan{Profile: p})
			j.waitFor(20*time.Second, func(c *matchsim.Client) bool { return c != late || c.Live() })
			j.Run(5 * time.Second)
			late.Reconnect()
			j.waitFor(20*time.Second, func(c *matchsim.Client) bool { return c != late || c.Live() })
		}
	}
}

// At five frames per second each frame computes twelve ticks. Such a client joins and keeps up: its inputs arrive in
// time, and its present does not age.
func TestClientsAtFiveFramesPerSecondJoinAndKeepUp(t *testing.T) {
	for _, profile := range []string{"P1", "P4"} {
		p, _ := simnet.ByName(profile)
		for _, s := range played() {
			for _, hz := range []int{5, 6} {
				j := join(t, s, 1, matchsim.Plan{Profile: p, Hz: hz}, 10*time.Second)
				j.Run(5 * time.Second)
				before, oldest := j.Clients[0].Core.Stats().Strategy, ecs.Tick(0)
				for range 100 {
					j.Run(time.Second / 10)
					oldest = max(oldest, j.Room.Tick()-min(j.Room.Tick(), j.Clients[0].Core.Stats().Strategy.Present))
				}
				now := j.Clients[0].Core.Stats().Strategy
				// Lockstep adds the way down, a frame, and a quarter of a second of margin and interval.
				if lost := now.Substituted - before.Substituted; lost > 12 || now.Stalls-before.Stalls > 12 || oldest > 8+12+15 {
					t.Errorf("%s on %s at %d frames per second: %d inputs of ten seconds were late, %d ticks stalled, the present was %d ticks old",
						s.Name, profile, hz, lost, now.Stalls-before.Stalls, oldest)
				}
			}
		}
	}
}

// A server may send as few snapshots as one per second. A client whose clock has not settled receives more, so it becomes
// live as fast as on any server and any connection.
func TestClientsJoinAtOneSnapshotPerSecond(t *testing.T) {
	rare := predict.New(predict.Config{SnapshotRate: 1})
	for profile, within := range map[string]time.Duration{"P1": 3 * time.Second, "P4": 4 * time.Second, "P6": 4 * time.Second, "P9": 20 * time.Second} {
		p, _ := simnet.ByName(profile)
		for seed := uint64(1); seed <= 3; seed++ {
			j := join(t, rare, seed, matchsim.Plan{Profile: p}, within)
			j.waitFor(6*time.Second, j.hasPlayer)
			before := j.Clients[0].Core.Stats().Session.MessagesReceived
			j.Run(10 * time.Second)
			// One snapshot, two probes and the pings per second, the other client's join, and the snapshots in flight when the client became live.
			if n := j.Clients[0].Core.Stats().Session.MessagesReceived - before; n > 120 {
				t.Errorf("%s, seed %d: a live client received %d messages in ten seconds", profile, seed, n)
			}
		}
	}
}

// A client whose server is gone reports that it waits after a second, long before it closes the connection. On the worst
// networks no client reports it while the server is there.
func TestAClientReportsThatItWaitsForTheServer(t *testing.T) {
	for _, s := range played() {
		for _, profile := range []string{"P9", "P7", "P1"}[:seeds(3)] {
			p, _ := simnet.ByName(profile)
			j := join(t, s, 1, matchsim.Plan{Profile: p}, 20*time.Second)
			c := j.Clients[0]
			for range 60 * 30 {
				if j.Run(time.Second / 60); c.Core.Stats().Waiting {
					t.Fatalf("%s on %s: waits for a server that is there", s.Name, profile)
				}
			}
			j.Net.Partition(c.Node, j.Server, j.Net.Now(), j.Net.Now()+time.Minute)
			j.Run(2500 * time.Millisecond) // packets in flight arrive for up to a second
			if now := c.Core.Stats(); !now.Waiting || !c.Live() {
				t.Errorf("%s on %s: waiting %v, %v", s.Name, profile, now.Waiting, now.State)
			}
		}
	}
}
