package lab

import (
	"testing"
	"testing/synctest"
	"time"

	"tendon/ecs/race"
)

// Every strategy is measured over links with congestion control, on the slow profiles. No client loses its connection or its state.
func TestTheLabPlaysOverLinks(t *testing.T) {
	c := Config{Game: testGame(), Strategies: strategies, Profiles: profiles(t, "P10", "P11", "P12"), For: time.Second, Settle: -1, script: turns(40), Seed: 5, Links: true}
	if race.Long {
		c.For = time.Minute
	}
	synctest.Test(t, func(t *testing.T) {
		for _, r := range mustRun(t, c).Results {
			if r.Away > 0 || r.Resyncs > 0 || r.Desyncs > 0 {
				t.Errorf("%s on %s: %v away, %d resyncs, %d desyncs", r.Strategy, r.Profile, r.Away, r.Resyncs, r.Desyncs)
			}
		}
	})
}

// Live matches play over links, too: player 0 stays in every match when the network changes to each of the slow profiles.
func TestLiveMatchesPlayOverLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Config{Game: liveGame(), Profiles: profiles(t, "P2"), Seed: 4, Strategies: strategies, Links: true}
		l, err := NewLive(c, make([]Own, len(strategies)))
		if err != nil {
			t.Fatal(err)
		}
		w := &liveTest{Live: l, t: t}
		for _, p := range profiles(t, "P10", "P11", "P12") {
			if err := l.SetProfile(p); err != nil {
				t.Fatal(err)
			}
			w.pass(2 * time.Second)
			for i := range strategies {
				if r, _ := l.Readings(i); !r.Joined || r.Down == 0 || r.Up == 0 {
					t.Errorf("%s on %s: %+v", strategies[i].Name, p.Name, r)
				}
			}
		}
	})
}
