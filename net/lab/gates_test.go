package lab

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"tendon/ecs/race"
)

// everyTurn is the number of ticks between two turns of a player in the match of the gates: 2.7 s.
const everyTurn = 162

// The strategies meet their gates, except the known misses. A known miss that is met is only logged: it may be removed from
// Misses. The round trip of P7 changes slowly, so that minutes differ; its values are means of several matches.
func TestTheStrategiesMeetTheirGates(t *testing.T) {
	if !race.Long {
		t.Skip("a quarter of an hour of matches: set TENDON_LONG; under the race detector other tests play some")
	}
	c := Config{Game: testGame(), Strategies: strategies, Profiles: profiles(t, "P3", "P5"), For: 24 * time.Second, script: turns(everyTurn), Seed: 1, Jobs: 4}
	r := mustRun(t, c)
	c.Profiles, c.For = profiles(t, "P7"), 45*time.Second
	for c.Seed = range 3 {
		r.Results = append(r.Results, mustRun(t, c).Results...)
	}
	sums, of := map[Gate]float64{}, map[Gate]int{}
	known, empty := map[Gate]*Miss{}, map[Gate]bool{}
	for _, v := range Judge(&r) {
		if v.Unjudged == NoValue {
			empty[v.Gate] = true
			continue
		}
		sums[v.Gate] += v.Value
		of[v.Gate]++
		known[v.Gate] = v.Known
	}
	for _, g := range Gates {
		switch value := sums[g] / float64(of[g]); {
		case g == emptyGate:
			if !empty[g] || of[g] > 0 {
				t.Errorf("%s on %s: views are within the cap now: %s is judged", g.Strategy, g.Profile, g.Measure)
			}
		case of[g] == 0:
			t.Errorf("%s on %s: %s was not judged", g.Strategy, g.Profile, g.Measure)
		case value <= g.Most+rounding && known[g] != nil:
			t.Logf("%s on %s meets its gate, %s at most %v, with %v: it may be removed from Misses", g.Strategy, g.Profile, g.Measure, g.Most, value)
		case value > g.Most+rounding && known[g] == nil:
			t.Errorf("%s on %s: %s is %v, want at most %v", g.Strategy, g.Profile, g.Measure, value, g.Most)
		default:
			t.Logf("%s on %s: %s: %.4g of at most %.4g", g.Strategy, g.Profile, g.Measure, value, g.Most)
		}
	}
}

// emptyGate cannot be judged: the cap is 250 ms, as is the round trip of P5 alone, without the delays on both sides.
// TestTheServerHitsWhatThePictureShows tests its claim of views of any age.
var emptyGate = Gate{"predict", "P5", ShotsOffInCap, 5}

// testJudgedInTicks judges a report that was stored as JSON. Without a tick rate there are no values in ticks.
func testJudgedInTicks(t *testing.T, r Report) {
	r.Results = []Result{{Case: Case{Strategy: "predict", Profile: "P3"}, Latency: Latency{Display: Spread{N: 1, P50: 50}}}}
	for _, rate := range []int{60, 0} {
		r.Rate = rate
		stored, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var read Report
		if err := json.Unmarshal(stored, &read); err != nil {
			t.Fatal(err)
		}
		list := Judge(&read)
		if i := slices.IndexFunc(list, func(v Verdict) bool { return v.Measure == DisplayTicks }); i < 0 || list[i].Met || (list[i].Unjudged == NoValue) != (rate == 0) ||
			math.Abs(list[i].Value-float64(rate)*0.05) > rounding {
			t.Errorf("50 ms at %d ticks per second: %+v", rate, list)
		}
	}
}

// A value equal to the bound meets the gate, one above does not. A measure without a value is not judged.
func TestAGateIsMetUpToItsBound(t *testing.T) {
	usual := Report{Players: 4, Seconds: 60, Script: scripted, Snap: 2, Cap: 250}
	for value, met := range map[float64]bool{0: true, 210: true, 210.01: false} {
		r := usual
		r.Results = []Result{
			{Case: Case{Strategy: "lockstep", Profile: "P3"}, Latency: Latency{Display: Spread{N: 1, P50: value}}, Motion: Motion{Stall: Stall{Percent: 0.1}}},
			{Case: Case{Strategy: "relay", Profile: "P3", Failed: "no client joined"}}, {Case: Case{Strategy: "relay", Profile: "P1"}}, {Case: Case{Strategy: "verify", Profile: "P7"}},
		}
		list := Judge(&r)
		if len(list) != 3 || list[0].Measure != DisplayMs || list[0].Value != value || list[0].Met != met || list[0].Missed() == met || !list[1].Met {
			t.Errorf("%v: %+v", value, list)
		}
		if v := &list[2]; v.Strategy != "verify" || v.Unjudged != NoValue || v.Met || v.Missed() {
			t.Errorf("a measure without a value is judged: %+v", v)
		}
	}
	if Unjudged(&usual) != "" {
		t.Error(Unjudged(&usual))
	}
	short := usual
	short.Seconds = 59
	for value, why := range map[float64]string{210: "", 210.01: TooShort} {
		short.Results = []Result{{Case: Case{Strategy: "lockstep", Profile: "P3"}, Latency: Latency{Display: Spread{N: 1, P50: value}}}}
		if v := Judge(&short)[0]; v.Unjudged != why || v.Missed() || v.Met != (why == "") {
			t.Errorf("%v in 59 s: %+v", value, v)
		}
	}
	for _, other := range []Report{{Players: 3, Script: scripted, Snap: 2, Cap: 250}, {Players: 4, Script: "bots", Snap: 2, Cap: 250},
		{Players: 4, Script: scripted, Snap: 1, Cap: 250}} {
		other.Results = []Result{{Case: Case{Strategy: "lockstep", Profile: "P3"}}}
		if list := Judge(&other); Unjudged(&other) == "" || len(list) > 0 {
			t.Errorf("%+v is judged: %v", other, list)
		}
	}
	testJudgedInTicks(t, usual)
	// Every measure has a value, and every miss a gate.
	for _, g := range Gates {
		g.Measure.value(&Result{})
	}
	for _, m := range Misses {
		if !slices.ContainsFunc(Gates, func(g Gate) bool { return g.Strategy == m.Strategy && g.Profile == m.Profile && g.Measure == m.Measure }) {
			t.Errorf("there is no gate %+v", m)
		}
		if g := (Gate{Strategy: m.Strategy, Profile: m.Profile, Measure: m.Measure}); knownMiss(m.Game, g) == nil || knownMiss("another", g) != nil {
			t.Errorf("the miss belongs to another game: %+v", m)
		}
	}
}
