package travel

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/recording"
)

// Comparison is what Compare found.
type Comparison struct {
	From       ecs.Tick    `json:"from"`       // the first tick whose states were compared
	To         ecs.Tick    `json:"to"`         // the last
	Divergence *Divergence `json:"divergence"` // nil: all were equal
}

// Divergence is where two matches part.
type Divergence struct {
	Tick ecs.Tick `json:"tick"` // the first whose states differ
	// Differences are the first places that differ in the states of StateTick, at most as many as were asked for.
	Differences []Difference `json:"differences"`
	// StateTick is Tick, unless both come out alike there when they are played, and only the recorded checksums differ:
	// whoever recorded one of them computed something else than this build does. Then it is the first tick after that of
	// which both have an image, 0 if there is none.
	StateTick ecs.Tick `json:"state_tick"`
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

// Compare compares two matches of one game in the ticks that both have, and finds the first in which they differ. Ticks
// of which both have a checksum are compared by that and not played; others are played. Both Travellers are at that tick
// then, or where they were if there is none.
//
// limit bounds the places that are named; progress is called now and then with the tick that was reached, and says
// whether to go on; nil: always. Where it said no, the comparison ends there.
func Compare(a, b *Traveller, limit int, progress func(ecs.Tick) bool) (*Comparison, error) {
	switch {
	case a.config.Game != b.config.Game:
		return nil, fmt.Errorf("%w: they are of different games", ErrIncomparable)
	case a.First() == 0 && b.First() == 0 && a.header.Seed != b.header.Seed:
		return nil, fmt.Errorf("%w: one has the seed %d, the other %d", ErrIncomparable, a.header.Seed, b.header.Seed)
	}
	c := &Comparison{From: max(a.First(), b.First()), To: min(a.last, b.last)}
	if c.From > c.To {
		return nil, fmt.Errorf("%w: one has the ticks %d to %d, the other %d to %d", ErrIncomparable, a.First(), a.last, b.First(), b.last)
	}
	homes := [2]ecs.Tick{a.tick, b.tick}
	at := c.From
	differ, err := differAt(a, b, at)
	if err == nil && !differ {
		at, differ, err = compareTicks(a, b, c.From, c.To, progress)
		c.To = at
	}
	if err == nil && differ {
		c.Divergence, err = divergence(a, b, at, limit)
		return c, err
	}
	return c, joined(err, joined(a.Seek(homes[0]), b.Seek(homes[1])))
}

// compareTicks compares the ticks in (from, to] and returns the last that it came to.
func compareTicks(a, b *Traveller, from, to ecs.Tick, progress func(ecs.Tick) bool) (at ecs.Tick, differ bool, err error) {
	next, stop := iter.Pull(b.config.Source.Entries(from+1, to))
	defer stop()
	at = from
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
		if at = x.Tick; differ || err != nil || progress != nil && x.Tick%progressTicks == 0 && !progress(x.Tick) {
			return at, differ, err
		}
	}
	return at, false, nil
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
	d := &Divergence{Tick: f, StateTick: f, Here: hex(a.State().Checksum()), There: hex(b.State().Checksum()), Differences: Differences(a.State(), b.State(), limit)}
	if len(d.Differences) == 0 {
		if err := d.ofImages(a, b, limit); err != nil {
			return nil, err
		}
	}
	if x, y := a.moment(), b.moment(); x != nil && y != nil && x.recorded != 0 && y.recorded != 0 {
		d.Here, d.There = hex(x.recorded), hex(y.recorded)
	}
	return d, nil
}

// ofImages names what differs in the first images from Tick on that both have.
func (d *Divergence) ofImages(a, b *Traveller, limit int) error {
	d.StateTick = 0
	for _, f := range a.config.Source.Images() {
		if f < d.Tick || !slices.Contains(b.config.Source.Images(), f) {
			continue
		}
		here, err := StateOf(a.config.Game, a.config.Source, f)
		if err != nil {
			return err
		}
		there, err := StateOf(b.config.Game, b.config.Source, f)
		if err != nil {
			return err
		}
		if d.Differences = Differences(here, there, limit); len(d.Differences) > 0 {
			d.StateTick = f
			return nil
		}
	}
	return nil
}

// Differences returns at most limit places where two states of one game differ, in the order of image.Differences.
func Differences(here, there *image.Snapshot, limit int) []Difference {
	list := []Difference{}
	for _, d := range image.Differences(here, there, limit) {
		out := Difference{Component: d.Component, Field: d.Field, Here: d.Here, There: d.There, Sentence: d.String()}
		if !d.Entity.IsZero() {
			out.Entity = EntityName(d.Entity)
		}
		list = append(list, out)
	}
	return list
}
