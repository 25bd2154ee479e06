package travel

import (
	"errors"
	"fmt"
	"iter"

	"tendon/ecs"
	"tendon/rollback/recording"
)

// Divergence is where two matches part.
type Divergence struct {
	Tick ecs.Tick `json:"tick"` // the first whose states differ
	// Differences are the first places that differ in the states of Tick, at most as many as were asked for. They are empty
	// if both come out alike when they are played, and only the recorded checksums differ: then whoever recorded one of
	// them computed something else than this build does.
	Differences []Difference `json:"differences"`
	// Here and There are the states' checksums: the recorded ones where both are known.
	Here  string `json:"here"`
	There string `json:"there"`
}

// Difference is one place where two states differ.
type Difference struct {
	Component string `json:"component"`        // or resource, or one of the engine's own: "entity", "tick" or "inputs"
	Entity    string `json:"entity,omitempty"` // see EntityName; "" for a resource
	Field     string `json:"field"`            // "exists" where one side lacks the whole
	Here      string `json:"here"`
	There     string `json:"there"`
	Sentence  string `json:"sentence"`
}

// ErrIncomparable is about two matches that have no tick in common, or are of different games, seeds or rates.
var ErrIncomparable = errors.New("travel: the two cannot be compared")

// FirstDifference returns the first tick in which two matches of one game differ, nil if they are equal in all ticks that
// both have, and the range of these. Ticks of which both have a checksum are compared by that and not played; others are
// played. Both Travellers are at that tick then, or where they were if there is none.
//
// limit bounds the places that are named; progress is called now and then with the tick that was reached, and says
// whether to go on; nil: always.
func FirstDifference(a, b *Traveller, limit int, progress func(ecs.Tick) bool) (d *Divergence, from, to ecs.Tick, err error) {
	if a.config.Game != b.config.Game {
		return nil, 0, 0, fmt.Errorf("%w: they are of different games", ErrIncomparable)
	}
	if a.First() == 0 && b.First() == 0 && a.header.Seed != b.header.Seed {
		return nil, 0, 0, fmt.Errorf("%w: one has the seed %d, the other %d", ErrIncomparable, a.header.Seed, b.header.Seed)
	}
	from, to = max(a.First(), b.First()), min(a.last, b.last)
	if from > to {
		return nil, from, to, fmt.Errorf("%w: one has the ticks %d to %d, the other %d to %d", ErrIncomparable, a.First(), a.last, b.First(), b.last)
	}
	homes := [2]ecs.Tick{a.tick, b.tick}
	differ, err := differAt(a, b, from)
	at := from
	if err == nil && !differ {
		at, differ, err = compareTicks(a, b, from, to, progress)
	}
	if err != nil || !differ {
		return nil, from, to, joined(err, joined(a.Seek(homes[0]), b.Seek(homes[1])))
	}
	d, err = divergence(a, b, at, limit)
	return d, from, to, err
}

// compareTicks compares the ticks in (from, to].
func compareTicks(a, b *Traveller, from, to ecs.Tick, progress func(ecs.Tick) bool) (at ecs.Tick, differ bool, err error) {
	next, stop := iter.Pull(b.config.Source.Entries(from+1, to))
	defer stop()
	for x := range a.config.Source.Entries(from+1, to) {
		y, ok := next()
		if !ok {
			return 0, false, fmt.Errorf("%w: the entry of tick %d is missing", recording.ErrCorrupt, x.Tick)
		}
		if x.Checksum != 0 && y.Checksum != 0 {
			differ = x.Checksum != y.Checksum
		} else {
			differ, err = differAt(a, b, x.Tick)
		}
		if differ || err != nil || progress != nil && x.Tick%progressTicks == 0 && !progress(x.Tick) {
			return x.Tick, differ, err
		}
	}
	return 0, false, nil
}

// differAt plays both to a tick and compares their states.
func differAt(a, b *Traveller, f ecs.Tick) (bool, error) {
	if err := joined(a.Seek(f), b.Seek(f)); err != nil {
		return false, err
	}
	return a.State().Checksum() != b.State().Checksum(), nil
}

// divergence goes to a tick and says what differs there.
func divergence(a, b *Traveller, f ecs.Tick, limit int) (*Divergence, error) {
	if _, err := differAt(a, b, f); err != nil {
		return nil, err
	}
	d := &Divergence{Tick: f, Here: hex(a.State().Checksum()), There: hex(b.State().Checksum()), Differences: Differences(a.State(), b.State(), limit)}
	if x, y := a.moment(), b.moment(); x != nil && y != nil && x.recorded != 0 && y.recorded != 0 {
		d.Here, d.There = hex(x.recorded), hex(y.recorded)
	}
	return d, nil
}

// Differences returns at most limit places where two states of one game differ, in the order of ecs.Differences.
func Differences(here, there *ecs.Snapshot, limit int) []Difference {
	list := []Difference{}
	for _, d := range ecs.Differences(here, there, limit) {
		out := Difference{Component: d.Component, Field: d.Field, Here: d.Here, There: d.There, Sentence: d.String()}
		if !d.Entity.IsZero() {
			out.Entity = EntityName(d.Entity)
		}
		list = append(list, out)
	}
	return list
}
