package lab

import (
	"testing"
	"time"

	"tendon/ecs/race"
	"tendon/net/simnet"
	"tendon/systems/predict"
	"tendon/systems/verify"
)

// Every strategy is measured on the slow profiles. No client loses its connection or its state.
func TestNoClientIsLostOnTheSlowProfiles(t *testing.T) {
	c := Config{Game: testGame(), Strategies: strategies, Profiles: profiles(t, "P10", "P11", "P12"), For: time.Second, Settle: -1, script: turns(40), Seed: 5}
	if race.Long {
		c.For = time.Minute
	}
	for _, r := range mustRun(t, c).Results {
		if r.Away > 0 || r.Resyncs > 0 || r.Desyncs > 0 {
			t.Errorf("%s on %s: %v away, %d resyncs, %d desyncs", r.Strategy, r.Profile, r.Away, r.Resyncs, r.Desyncs)
		}
	}
}

// tooNarrow is a line that cannot carry all messages of predict and verify. Its queue holds one second.
var tooNarrow = simnet.Symmetric("narrow", "narrow", simnet.Path{Delay: 25 * time.Millisecond, Bandwidth: 5000, QueueBytes: 5000})

// The matches have congestion control: on a line that is too narrow for all messages, the queue stays short.
func TestTheLabHasCongestionControl(t *testing.T) {
	c := Config{Game: testGame(), Strategies: strategies, Profiles: []simnet.Profile{tooNarrow}, For: 4 * time.Second, Settle: 4 * time.Second, script: turns(40), Seed: 5}
	for _, r := range mustRun(t, c).Results {
		if r.RTT > 300 {
			t.Errorf("%s: round trip of %.0f ms", r.Strategy, r.RTT)
		}
	}
}

// Live matches that change to such a line have congestion control, too.
func TestLiveMatchesHaveCongestionControl(t *testing.T) {
	w := newLiveTest(t, "P2", entries(predict.Strategy, verify.Strategy)...)
	if err := w.SetProfile(tooNarrow); err != nil {
		t.Fatal(err)
	}
	w.pass(8 * time.Second)
	for i := range w.Len() {
		if r := w.read(i); !r.Joined || r.RTT > 300 {
			t.Errorf("%s: %+v", w.Strategy(i).Name, r)
		}
	}
}
