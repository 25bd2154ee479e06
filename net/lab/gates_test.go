package lab

import (
	"slices"
	"testing"
	"time"
)

// everyTurn is after how many ticks players turn in the match that the gates are about: 2.7 s.
const everyTurn = 162

// The strategies keep what is asked of them. A gate that is known to be missed must be missed: one that is met by now is
// taken off the list, so that it cannot be lost again.
func TestTheStrategiesMeetTheirGates(t *testing.T) {
	if raceEnabled {
		t.Skip("four minutes of matches: under the race detector other tests play some")
	}
	const span = 24 * time.Second
	r := mustRun(t, Config{Game: testGame(), Strategies: strategies, Profiles: profiles(t, "P3", "P5", "P7"), For: span, Script: turns(everyTurn), Seed: 1, Jobs: 4})
	verdicts := Judge(&r, testGame().TickRate)
	judged := map[string]int{}
	for _, v := range verdicts {
		judged[v.Strategy]++
		t.Logf("%s on %s: %s: %.4g of at most %.4g", v.Strategy, v.Profile, v.Measure, v.Value, v.Most)
		switch {
		case v.Met && v.Known != nil:
			t.Errorf("%s on %s meets its gate, %s at most %v, with %v: take it off Misses", v.Strategy, v.Profile, v.Measure, v.Most, v.Value)
		case !v.Met && v.Known == nil:
			t.Errorf("%s on %s: %s is %v, want at most %v", v.Strategy, v.Profile, v.Measure, v.Value, v.Most)
		}
	}
	for _, s := range strategies {
		want := 0
		for _, g := range Gates {
			if g.Strategy == s.Name {
				want++
			}
		}
		if judged[s.Name] != want {
			t.Errorf("%d of %d gates of %s were judged", judged[s.Name], want, s.Name)
		}
	}
}

// A value that is as large as it may be is good enough, anything above is not; what was not measured is not judged.
func TestAGateIsMetUpToItsBound(t *testing.T) {
	for value, met := range map[float64]bool{0: true, 210: true, 210.01: false} {
		r := Report{Results: []Result{
			{Strategy: "lockstep", Profile: "P3", Display: Spread{N: 1, P50: value}, Stall: Stall{Percent: 0.1}},
			{Strategy: "relay", Profile: "P3", Failed: "nobody came"}, {Strategy: "relay", Profile: "P1"}, {Strategy: "verify", Profile: "P7"},
		}}
		list := Judge(&r, 60)
		if len(list) != 2 || list[0].Measure != DisplayMs || list[0].Value != value || list[0].Met != met || !list[1].Met {
			t.Errorf("%v: %+v", value, list)
		}
	}
	// Every measure has a value, and every miss a gate.
	for _, g := range Gates {
		g.Measure.value(&Result{}, 60)
	}
	for _, m := range Misses {
		if !slices.ContainsFunc(Gates, func(g Gate) bool { return g.Strategy == m.Strategy && g.Profile == m.Profile && g.Measure == m.Measure }) {
			t.Errorf("there is no gate %+v", m)
		}
	}
}
