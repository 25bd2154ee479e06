package cursor

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Comparison is the result of Compare.
type Comparison struct {
	From       ecs.Tick    `json:"from"`       // the first tick whose states were compared
	To         ecs.Tick    `json:"to"`         // the last
	Divergence *Divergence `json:"divergence"` // nil if all were equal
}

// Divergence is the place where two matches begin to differ.
type Divergence struct {
	Tick ecs.Tick `json:"tick"` // the first whose states differ
	// Differences are the first places that differ in the states of StateTick.
	Differences []Difference `json:"differences"`
	// StateTick is Tick in most cases. If both records lead to the same state at Tick and only their checksums differ, one
	// was recorded by a build that computes otherwise. StateTick is then the first later tick of which both have an image,
	// or 0.
	StateTick ecs.Tick `json:"state_tick"`
	// Here and There are the states' checksums: the recorded ones if both are known.
	Here  string `json:"here"`
	There string `json:"there"`
}

// Difference is one place where two states differ.
type Difference struct {
	Component string `json:"component"`        // or resource, or one of the engine's own: "entity", "tick" or "inputs"
	Entity    string `json:"entity,omitempty"` // see EntityName; "" for a resource
	Field     string `json:"field"`            // "exists" if one side lacks the whole
	Here      string `json:"here"`
	There     string `json:"there"`
	Sentence  string `json:"sentence"`
}

// ErrIncomparable is returned for two records without a common tick, or of different games or seeds.
var ErrIncomparable = errors.New("cursor: the two cannot be compared")

// Compare returns the first tick in which two records of one game differ, and moves both cursors there. Ticks with two
// checksums are compared by these; others are simulated.
//
// limit bounds the places that are named. progress is called now and then with the tick that was reached. The comparison
// ends when it returns false. Optional.
func Compare(a, b *Cursor, limit int, progress func(ecs.Tick) bool) (*Comparison, error) {
	switch x, y := a.record.Header().Seed, b.record.Header().Seed; {
	case a.game != b.game:
		return nil, fmt.Errorf("%w: they are of different games", ErrIncomparable)
	case a.First() == 0 && b.First() == 0 && x != y:
		return nil, fmt.Errorf("%w: one has the seed %d, the other %d", ErrIncomparable, x, y)
	}
	c := &Comparison{From: max(a.First(), b.First()), To: min(a.last, b.last)}
	if c.From > c.To {
		return nil, fmt.Errorf("%w: one has the ticks %d to %d, the other %d to %d", ErrIncomparable, a.First(), a.last, b.First(), b.last)
	}
	at := c.From
	differ, err := differAt(a, b, at)
	if err == nil && !differ {
		at, differ, err = compareTicks(a, b, c.From, c.To, progress)
		c.To = at
	}
	if err == nil && differ {
		c.Divergence, err = divergence(a, b, at, limit)
	}
	return c, err
}

// compareTicks compares the ticks in (from, to] and returns the last one that it compared.
func compareTicks(a, b *Cursor, from, to ecs.Tick, progress func(ecs.Tick) bool) (at ecs.Tick, differ bool, err error) {
	next, stop := iter.Pull(b.record.Ticks(from+1, to))
	defer stop()
	at = from
	for x := range a.record.Ticks(from+1, to) {
		if y, _ := next(); x.Checksum != 0 && y.Checksum != 0 {
			differ = x.Checksum != y.Checksum
		} else {
			differ, err = differAt(a, b, x.Tick)
		}
		at = x.Tick
		if differ || err != nil || progress != nil && x.Tick%progressTicks == 0 && !progress(x.Tick) {
			return at, differ, err
		}
	}
	return at, false, nil
}

// differAt seeks with both to a tick and compares their states.
func differAt(a, b *Cursor, f ecs.Tick) (bool, error) {
	if err := cmp.Or(a.Seek(f), b.Seek(f)); err != nil {
		return false, err
	}
	return a.whole().Checksum() != b.whole().Checksum(), nil
}

// divergence seeks to a tick and describes its differences.
func divergence(a, b *Cursor, f ecs.Tick, limit int) (*Divergence, error) {
	if _, err := differAt(a, b, f); err != nil {
		return nil, err
	}
	d := &Divergence{Tick: f, StateTick: f, Here: a.whole().Checksum().Hex(), There: b.whole().Checksum().Hex(), Differences: Differences(a.whole(), b.whole(), limit)}
	if len(d.Differences) == 0 {
		if err := d.compareImages(a, b, limit); err != nil {
			return nil, err
		}
	}
	if x, y := a.moment().recorded, b.moment().recorded; x != 0 && y != 0 {
		d.Here, d.There = x.Hex(), y.Hex()
	}
	return d, nil
}

// compareImages names the differences of the first images from Tick on that both records have.
func (d *Divergence) compareImages(a, b *Cursor, limit int) error {
	d.StateTick = 0
	for _, f := range a.record.Images() {
		if f < d.Tick || !slices.Contains(b.record.Images(), f) {
			continue
		}
		here, err := a.record.State(f)
		if err != nil {
			return err
		}
		there, err := b.record.State(f)
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
		list = append(list, Difference{d.Component, EntityName(d.Entity), d.Field, d.Here, d.There, d.String()})
	}
	return list
}
