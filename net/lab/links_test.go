package lab

import (
	"testing"
	"time"

	"tendon/ecs/race"
	"tendon/net/simnet"
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

// The matches have congestion control: on a line that is too narrow for all messages, the queue of a second stays short.
func TestTheLabHasCongestionControl(t *testing.T) {
	const bandwidth = 4000 // bytes per second
	narrow := simnet.Symmetric("narrow", "narrow", simnet.Path{Delay: 25 * time.Millisecond, Bandwidth: bandwidth, QueueBytes: bandwidth})
	c := Config{Game: testGame(), Strategies: strategies, Profiles: []simnet.Profile{narrow}, For: 4 * time.Second, Settle: 4 * time.Second, script: turns(40), Seed: 5}
	for _, r := range mustRun(t, c).Results {
		if r.RTT > 300 {
			t.Errorf("%s: round trip of %.0f ms", r.Strategy, r.RTT)
		}
	}
}
