package lab

import (
	"testing"
	"time"

	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
)

// Strategies that send states report the longest wait for an update. In those that send inputs no entity waits.
func TestTheLongestWaitForAnUpdate(t *testing.T) {
	r := mustRun(t, Config{Game: testGame(), Strategies: []systems.Strategy{predict.Strategy, reckon.Strategy, lockstep.Strategy}, Profiles: profiles(t, "P1"),
		For: 2 * time.Second, script: turns(20), Seed: 1, Settle: -1})
	for i := range r.Results {
		x := &r.Results[i]
		if waits := x.Updates.Longest > 0; waits != (x.Strategy != "lockstep") || x.Updates.Longest > 1000 || x.Updates.Overdue > 0 {
			t.Errorf("%s: %+v", x.Strategy, x.Updates)
		}
	}
}

// Counts of players who left in between must not make a share negative, nor a negative zero.
func TestSharesOfInputsAreNotNegative(t *testing.T) {
	m := match{config: &Config{Game: testGame()}, begun: make([]room.PeerInfo, 2), ended: make([]room.PeerInfo, 1)}
	m.begun[0].Strategy = systems.PeerStats{Late: 2, Substituted: 3}
	m.begun[1].Strategy = systems.PeerStats{Late: 9, Substituted: 4}
	m.ended[0].Strategy = systems.PeerStats{Late: 4, Substituted: 8, Desyncs: 1, Overdue: 2, LongestWait: 30}
	var r Result
	m.reportPeers(&r, 100)
	if r.Late != 0 || r.Substituted != 1 || r.Desyncs != 1 || r.Updates != (Updates{500, 2}) {
		t.Errorf("%+v", r)
	}
}
