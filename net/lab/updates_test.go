package lab

import (
	"testing"
	"time"

	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
)

// Where states are sent, how long an entity waits for its turn is what the sender counts of it; where inputs are sent, nothing
// waits.
func TestTheLongestWaitForAnUpdateIsThatOfTheSender(t *testing.T) {
	r := mustRun(t, Config{Game: testGame(), Strategies: []systems.Strategy{predict.Strategy, reckon.Strategy, lockstep.Strategy}, Profiles: profiles(t, "P1"),
		For: 2 * time.Second, Script: turns(20), Seed: 1, Settle: -1})
	for i := range r.Results {
		x := &r.Results[i]
		if waits := x.Updates.Longest > 0; waits != (x.Strategy != "lockstep") || x.Updates.Longest > 1000 || x.Updates.Overdue > 0 {
			t.Errorf("%s: %+v", x.Strategy, x.Updates)
		}
	}
}

// Counts of players who were there at the beginning and are gone at the end must not make a share less than nothing, nor one
// of nothing a negative zero.
func TestSharesOfInputsAreNeverLessThanNothing(t *testing.T) {
	m := match{config: &Config{Game: testGame()}, begun: make([]peerInfo, 2), ended: make([]peerInfo, 1)}
	m.begun[0].Strategy = systems.PeerStats{Late: 2, Substituted: 3}
	m.begun[1].Strategy = systems.PeerStats{Late: 9, Substituted: 4}
	m.ended[0].Strategy = systems.PeerStats{Late: 4, Substituted: 8, Desyncs: 1, Overdue: 2, LongestWait: 30}
	var r Result
	m.reportPeers(&r, 100)
	if r.Late != 0 || r.Substituted != 1 || r.Desyncs != 1 || r.Updates != (Updates{500, 2}) {
		t.Errorf("%+v", r)
	}
}
