package lab

import "fmt"

// Gate is a bound that a strategy must keep on a profile, with its default settings.
type Gate struct {
	Strategy string  `json:"strategy"`
	Profile  string  `json:"profile"`
	Measure  Measure `json:"measure"`
	Most     float64 `json:"most"` // the value that must not be exceeded
}

// Measure is a value of a Result that a gate bounds. Its text names the value and its unit.
type Measure string

// The measures of the gates.
const (
	DisplayMs        Measure = "input to display, median, ms"
	DisplayTicks     Measure = "input to display, median, ticks"
	BeyondRTTTicks   Measure = "input to display, median, beyond a round trip, ticks"
	StallPercent     Measure = "stalled, %"
	DesyncCount      Measure = "desyncs"
	CorrectionRate   Measure = "corrections of a client, a minute"
	OthersCorrection Measure = "corrections that no own input made necessary, a minute"
	CorrectionSize   Measure = "size of corrections, 99th percentile, world units"
	SnapRate         Measure = "snaps of a client, a minute"
	RemoteAgeMs      Measure = "age of the others, median, ms"
	FreezeRate       Measure = "freezes of a client, a minute"
	ErrorSeconds     Measure = "remote error, in seconds of the others' motion"
	WindowTicks      Measure = "ticks predicted, 99th percentile"
	ShotsOff         Measure = "lines of fire on which server and screen differ, %"
	ShotsOffInCap    Measure = "lines of fire on which server and screen differ, of views within the cap, %"
)

// Premise returns the kind of game that the measure's gates are meant for, "" for any. In another kind of game a missed
// gate may be the game's.
func (m Measure) Premise() string {
	switch m {
	case CorrectionRate, OthersCorrection, CorrectionSize:
		return "meant for players whom no other player or item pushes, wounds or heals, which no client can predict"
	case BeyondRTTTicks:
		return "meant for states whose changes of a round trip fit a datagram; others use the reliable channel, where a lost packet delays them"
	case FreezeRate:
		return "meant for remote players who keep their speed between updates"
	}
	return ""
}

// value returns the measure of a result. ok is false if the match had nothing of the kind.
func (m Measure) value(r *Result, tickRate int) (v float64, ok bool) {
	ticks := float64(tickRate) / 1e3
	minutes := func(n int) float64 { // the rate of n of all clients' corrections, per client
		if r.Corrections.Size.N == 0 {
			return 0
		}
		return r.Corrections.PerMinute * float64(n) / float64(r.Corrections.Size.N)
	}
	switch m {
	case DisplayMs:
		return r.Display.P50, r.Display.N > 0
	case DisplayTicks:
		return r.Display.P50 * ticks, r.Display.N > 0
	case BeyondRTTTicks:
		return (r.Display.P50 - r.RTT) * ticks, r.Display.N > 0 && r.RTT > 0
	case StallPercent:
		return r.Stall.Percent, true
	case DesyncCount:
		return float64(r.Desyncs), r.Exact
	case CorrectionRate:
		return r.Corrections.PerMinute, r.Own.N > 0
	case OthersCorrection:
		return minutes(r.Corrections.Causes.Remote + r.Corrections.Causes.Resync), r.Own.N > 0
	case CorrectionSize:
		return r.Corrections.Size.P99, r.Own.N > 0
	case SnapRate:
		return r.Jumps.SnapsRate, r.Absolute.N > 0
	case RemoteAgeMs:
		return r.Remote.P50, r.Remote.N > 0
	case FreezeRate:
		return r.Freeze.PerMinute, r.Paces > 0
	case ErrorSeconds:
		return r.Absolute.RMS / max(r.Speed, tiny), r.Absolute.N > 0 && r.Speed > 0
	case WindowTicks:
		return r.Window.P99, r.Window.N > 0
	case ShotsOff:
		return 100 - r.Shots.Agree, r.Shots.N > 0
	case ShotsOffInCap:
		return 100 - r.Shots.AgreeInCap, r.Shots.InCap > 0
	}
	panic(fmt.Sprintf("lab: no value belongs to the measure %q: add it to Measure.value", string(m)))
}

// Gates are the bounds of the strategies, for four players and default settings.
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
	// Empty is set if the match had nothing of the kind. Value is 0 then, and the gate is neither met nor missed.
	Empty bool `json:"empty,omitempty"`
	// Known is the reason why the gate is not expected to be met; nil: it is expected to be.
	Known *Miss `json:"known,omitempty"`
}

// Missed reports whether the gate is expected to be met and is not.
func (v *Verdict) Missed() bool { return !v.Met && !v.Empty && v.Known == nil }

// Unjudged returns the reason why the gates do not hold for a report, "" if they do.
func Unjudged(r *Report) string {
	switch {
	case r.Players != usualPlayers:
		return fmt.Sprintf("the gates hold for %d players, and %d played", usualPlayers, r.Players)
	case r.Script != scripted:
		return "the gates hold for players who follow a script, and bots played"
	case r.Snap != usualSnap:
		return fmt.Sprintf("the gates hold where snaps are jumps of more than %v, and they were of %v", usualSnap, r.Snap)
	case r.Cap != milliseconds(usualCap):
		return fmt.Sprintf("the gates hold for a cap of %v on views, and it was %v ms", usualCap, r.Cap)
	}
	return ""
}

// Judge compares a report with the gates of its strategies and profiles, none if it is Unjudged. tickRate is the game's.
func Judge(r *Report, tickRate int) (list []Verdict) {
	if Unjudged(r) != "" {
		return nil
	}
	for _, g := range Gates {
		for n := range r.Results {
			of := &r.Results[n]
			if of.Strategy != g.Strategy || of.Profile != g.Profile || of.Failed != "" {
				continue
			}
			value, ok := g.Measure.value(of, tickRate)
			v := Verdict{Gate: g, Empty: !ok}
			if ok {
				v.Value, v.Met, v.Known = value, value <= g.Most+rounding, knownMiss(r.Game, g)
			}
			list = append(list, v)
		}
	}
	return list
}

// rounding is the rounding error of sums and quotients.
const rounding = 1e-9
