package lab

import (
	"fmt"
	"slices"

	"tendon/net/simnet"
	"tendon/systems"
)

// Gate is a bound that a strategy must keep on a profile, with its default settings.
type Gate struct {
	Strategy string   `json:"strategy"`
	Profile  string   `json:"profile"`
	Measure  *Measure `json:"measure"`
	Most     float64  `json:"most"` // the value that must not be exceeded
}

// Measure is a value of a Result that a gate bounds. ok is false if the match had nothing of the kind.
type Measure struct {
	text    string // names the value and its unit
	premise string
	value   func(r *Result) (v float64, ok bool)
}

// String returns the value's name and unit.
func (m *Measure) String() string { return m.text }

// MarshalText returns the value's name and unit.
func (m *Measure) MarshalText() ([]byte, error) { return []byte(m.text), nil }

// Premise returns the kind of game that the measure's gates are meant for, "" for any. In another kind of game a missed
// gate may be the game's.
func (m *Measure) Premise() string { return m.premise }

// The premises of measures.
const (
	predictable = "meant for players whom no other player or item pushes, wounds or heals, which no client can predict"
	small       = "meant for states whose changes of a round trip fit a datagram; others use the reliable channel, where a lost packet delays them"
	steady      = "meant for remote players who keep their speed between updates"
)

// The measures of the gates.
var (
	DisplayMs    = &Measure{"input to display, median, ms", "", func(r *Result) (float64, bool) { return r.Display.P50, r.Display.N > 0 }}
	DisplayTicks = &Measure{"input to display, median, ticks", "", func(r *Result) (float64, bool) {
		return r.Display.P50 * r.ticks, r.Display.N > 0 && r.ticks > 0
	}}
	BeyondRTTTicks = &Measure{"input to display, median, beyond a round trip and the playout delay, ticks", small, func(r *Result) (float64, bool) {
		playout := max(r.Playout*r.ticks-1, 0) // without jitter it is a tick, in which the input is shown from the first moment on
		return (r.Display.P50-r.RTT)*r.ticks - playout, r.Display.N > 0 && r.RTT > 0 && r.ticks > 0
	}}
	StallPercent   = &Measure{"stalled, %", "", func(r *Result) (float64, bool) { return r.Stall.Percent, true }}
	DesyncCount    = &Measure{"desyncs", "", func(r *Result) (float64, bool) { return float64(r.Desyncs), r.Exact }}
	CorrectionRate = &Measure{"corrections of a client, a minute", predictable, func(r *Result) (float64, bool) {
		return r.Corrections.PerMinute, r.Own.N > 0
	}}
	OthersCorrection = &Measure{"corrections that no own input made necessary, a minute", predictable, func(r *Result) (float64, bool) {
		c := &r.Corrections
		return c.PerMinute * float64(c.Causes.Remote+c.Causes.Resync) / float64(max(c.Size.N, 1)), r.Own.N > 0
	}}
	CorrectionSize = &Measure{"size of corrections, 99th percentile, world units", predictable, func(r *Result) (float64, bool) {
		return r.Corrections.Size.P99, r.Own.N > 0
	}}
	SnapRate    = &Measure{"snaps of a client, a minute", "", func(r *Result) (float64, bool) { return r.Jumps.SnapsRate, r.Absolute.N > 0 }}
	RemoteAgeMs = &Measure{"age of the others, median, ms", "", func(r *Result) (float64, bool) { return r.Remote.P50, r.Remote.N > 0 }}
	FreezeRate  = &Measure{"freezes of a client, a minute", steady, func(r *Result) (float64, bool) {
		return r.Freeze.PerMinute, r.Paces > 0
	}}
	ErrorSeconds = &Measure{"remote error, in seconds of the others' motion", "", func(r *Result) (float64, bool) {
		return r.Absolute.RMS / max(r.Speed, tiny), r.Absolute.N > 0 && r.Speed > 0
	}}
	WindowTicks = &Measure{"ticks predicted, 99th percentile", "", func(r *Result) (float64, bool) { return r.Window.P99, r.Window.N > 0 }}
	ShotsOff    = &Measure{"lines of fire on which server and screen differ, %", "", func(r *Result) (float64, bool) {
		return 100 - r.Shots.Agree, r.Shots.N > 0
	}}
	ShotsOffInCap = &Measure{"lines of fire on which server and screen differ, of views within the cap, %", "", func(r *Result) (float64, bool) {
		return 100 - r.Shots.AgreeInCap, r.Shots.InCap > 0
	}}
)

// Gates are the bounds of the strategies, for four players and default settings. A game can have its own: see Judge.
var Gates = []Gate{
	{"lockstep", "P3", DisplayMs, 210},
	{"lockstep", "P3", StallPercent, 0.1},
	{"lockstep", "P5", DisplayMs, 400},
	{"lockstep", "P5", StallPercent, 0.5},
	{"lockstep", "P7", DesyncCount, 0},
	{"verify", "P3", BeyondRTTTicks, 1.5},
	{"verify", "P3", CorrectionRate, 0},
	{"verify", "P5", BeyondRTTTicks, 1.5},
	{"verify", "P5", CorrectionRate, 0},
	{"verify", "P7", CorrectionRate, 0},
	{"predict", "P3", DisplayTicks, 0},
	{"predict", "P3", CorrectionRate, 2},
	{"predict", "P3", OthersCorrection, 0},
	{"predict", "P5", CorrectionRate, 10},
	{"predict", "P5", CorrectionSize, 0.5},
	{"predict", "P7", SnapRate, 2},
	{"predict", "P3", RemoteAgeMs, 210},
	{"predict", "P3", FreezeRate, 0.2},
	{"predict", "P5", RemoteAgeMs, 380},
	{"predict", "P5", FreezeRate, 0.3},
	{"predict", "P7", FreezeRate, 3},
	{"predict", "P3", ShotsOff, 1},
	{"predict", "P3", ShotsOffInCap, 1},
	{"predict", "P5", ShotsOffInCap, 5},
	{"reckon", "P3", ErrorSeconds, 0.25},
	{"reckon", "P5", ErrorSeconds, 0.45},
	{"reckon", "P7", ErrorSeconds, 1},
	{"reckon", "P7", SnapRate, 1},
	{"relay", "P3", DisplayTicks, 0},
	{"relay", "P3", WindowTicks, 9},
	{"relay", "P3", StallPercent, 0},
	{"relay", "P5", WindowTicks, 26},
	{"relay", "P5", StallPercent, 0.2},
	{"relay", "P7", DesyncCount, 0},
}

// Verdict is the result of a gate.
type Verdict struct {
	Gate
	Value float64 `json:"value"`
	Met   bool    `json:"met"`
	Known *Miss   `json:"known,omitempty"` // why the gate is not expected to be met; nil: it is
	// Unjudged is the reason why the gate is neither met nor missed, "" if it is met or missed.
	Unjudged string `json:"unjudged,omitempty"`
}

// The values of Verdict.Unjudged.
const (
	NoValue  = "no value was measured"
	TooShort = "too short to judge: 60 s needed"
)

// judgedSeconds is the shortest length of a match that can miss a gate.
const judgedSeconds = 60

// Missed reports whether the gate is expected to be met and is not.
func (v *Verdict) Missed() bool { return !v.Met && v.Unjudged == "" && v.Known == nil }

// Unjudged returns the reason why the gates do not hold for a report, "" if they do.
func Unjudged(r *Report) string {
	switch {
	case r.Players != usualPlayers:
		return fmt.Sprintf("the gates hold for %d players, and %d played", usualPlayers, r.Players)
	case r.Script != scripted:
		return "the gates hold for players who follow a script, and bots played"
	case r.Snap != usualSnap:
		return fmt.Sprintf("the gates hold where snaps are jumps of more than %v, and they were of %v", usualSnap, r.Snap)
	}
	return ""
}

// CheckGates returns an error that names the first gate of a strategy or profile that does not exist, or without a measure.
func CheckGates(gates []Gate, strategies []systems.Strategy) error {
	for _, g := range gates {
		_, known := simnet.ByName(g.Profile)
		switch {
		case !slices.ContainsFunc(strategies, func(s systems.Strategy) bool { return s.Name == g.Strategy }):
			return fmt.Errorf("%w: a gate is of the strategy %q, which does not exist", ErrConfig, g.Strategy)
		case !known:
			return fmt.Errorf("%w: a gate is of the network profile %q, which does not exist", ErrConfig, g.Profile)
		case g.Measure == nil:
			return fmt.Errorf("%w: a gate of %s on %s has no Measure", ErrConfig, g.Strategy, g.Profile)
		}
	}
	return nil
}

// Judge compares a report with the gates of its strategies and profiles, none if it is Unjudged. The gates are those given, or
// Gates. A match of less than a minute misses no gate, because its start has too large a share of the values.
func Judge(r *Report, gates ...Gate) (list []Verdict) {
	if Unjudged(r) != "" {
		return nil
	}
	if len(gates) == 0 {
		gates = Gates
	}
	for _, g := range gates {
		for n := range r.Results {
			of := r.Results[n]
			of.ticks = float64(r.Rate) / 1e3
			if of.Strategy != g.Strategy || of.Profile != g.Profile || of.Failed != "" {
				continue
			}
			v := Verdict{Gate: g, Unjudged: NoValue}
			if value, ok := g.Measure.value(&of); ok {
				v = Verdict{Gate: g, Value: value, Met: value <= g.Most+rounding, Known: knownMiss(r.Game, g)}
				if v.Missed() && r.Seconds < judgedSeconds {
					v.Unjudged = TooShort
				}
			}
			list = append(list, v)
		}
	}
	return list
}

const rounding = 1e-9 // rounding error of sums and quotients

// Miss is a gate that is known not to be met in a game.
type Miss struct {
	Game     string   `json:"game"` // its name
	Strategy string   `json:"strategy"`
	Profile  string   `json:"profile"`
	Measure  *Measure `json:"measure"`
	Best     float64  `json:"best"` // measured
	Reason   string   `json:"reason"`
}

// Misses are the gates that cannot be met, with the best value that was measured and the reason why it is no better. The
// arena's values are from `arena lab --seed 1`, one match at a time, 60 s each. With other seeds some of them are just met.
var Misses = []Miss{
	{"arena", "predict", "P3", CorrectionRate, 5.75, pushed},
	{"arena", "predict", "P3", OthersCorrection, 3.5, pushed},
	{"arena", "predict", "P3", ShotsOff, 6.05, oldView},
	{"arena", "predict", "P5", CorrectionRate, 10.6, pushed},
	{"arena", "predict", "P5", CorrectionSize, 14, pushed + "; half of all corrections are below 0.02, the largest are of players who died or came back elsewhere than they predicted"},
	{"arena", "predict", "P7", SnapRate, 9, slowTrips},
	{"arena", "reckon", "P7", SnapRate, 5.25, "congestion control interprets a varying delay as a queue, and lets a client send 12 packets a second instead of 60"},
	{"arena", "verify", "P5", BeyondRTTTicks, 1.8, "the changes of a round trip outgrow a datagram, and on the reliable channel a lost packet delays them"},
	{"runners", "predict", "P3", ShotsOff, 11.7, oldView},
	{"runners", "predict", "P7", SnapRate, 3.33, slowTrips},
}

// The reasons of several misses.
const (
	oldView   = "with 20 snapshots a second a view is about 285 ms old when the server uses what was done at it, of which the cap forgives 250"
	pushed    = "rockets push players and kits feed them, which no client can know beforehand"
	slowTrips = "the round trip goes up to two seconds; 30 ticks of delay and 30 of prediction cover one, so that inputs come too late whatever is predicted"
)

// knownMiss returns the known miss of a gate in a game, nil if there is none.
func knownMiss(game string, g Gate) *Miss {
	for i := range Misses {
		if m := &Misses[i]; m.Game == game && m.Strategy == g.Strategy && m.Profile == g.Profile && m.Measure == g.Measure {
			return m
		}
	}
	return nil
}
