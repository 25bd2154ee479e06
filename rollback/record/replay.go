package record

import (
	"fmt"
	"iter"
	"slices"
	"sort"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// Play simulates in w the ticks after w's own, up to tick to, and yields each after it was simulated. w must be in the
// match's state. Views of players look back as far as w's first state. At the end w has no past (ecs.World.SetPast).
func (r *Record) Play(w *ecs.World, to ecs.Tick) iter.Seq[*Tick] {
	return func(yield func(*Tick) bool) {
		if r.reach > 0 {
			past := rollback.NewSnapshots(int(r.reach))
			past.Save(w)
			w.Image().SetPast(past.At)
			defer past.Clear()
			defer w.Image().SetPast(nil)
			inner := yield
			yield = func(t *Tick) bool {
				past.Save(w)
				return inner(t)
			}
		}
		for t := range r.Ticks(w.Tick()+1, to) {
			if w.Step(ecs.TickInputs{Players: t.Inputs, Orders: t.Orders}); !yield(t) {
				return
			}
		}
	}
}

// WorldAt returns a world in the state of tick f: the nearest image before it, simulated on. An earlier image is used if
// views of players look back beyond the nearest one. Every recorded checksum on the way is compared. The error wraps
// ErrRange, ErrNoState, ErrCorrupt or ErrDiverged, the last with a *rollback.DesyncReport.
func (r *Record) WorldAt(f ecs.Tick) (*ecs.World, error) {
	if f < r.Start() || f > r.last.Tick {
		return nil, fmt.Errorf("%w: %d, it has %d to %d", ErrRange, f, r.Start(), r.last.Tick)
	}
	w, err := r.base(r.baseOf(f))
	if err != nil {
		return nil, err
	}
	c := comparer{record: r}
	for t := range r.Ticks(w.Tick(), w.Tick()) {
		if err := c.checksum(w, t); err != nil {
			return nil, err
		}
	}
	for t := range r.Play(w, f) {
		if err := c.checksum(w, t); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// baseOf returns the number of images up to the one from which tick f can be simulated, 0 for the first state.
func (r *Record) baseOf(f ecs.Tick) int {
	at := sort.Search(len(r.images), func(i int) bool { return r.images[i].tick > f })
	for at > 0 && r.images[at-1].tick > r.Start() && !r.complete(r.images[at-1].tick, f) {
		at--
	}
	return at
}

// base returns a new world in the state of the image at index at-1, or in the state that Setup builds if at is 0.
func (r *Record) base(at int) (*ecs.World, error) {
	w, err := ecs.NewWorld(r.game, r.header.Seed)
	switch {
	case err != nil:
		return nil, err
	case at > 0:
		err = r.LoadImage(w, r.images[at-1].tick)
	case r.Start() > 0:
		err = fmt.Errorf("%w: the image of tick %d is missing", ErrNoState, r.Start())
	}
	return w, err
}

// complete reports whether no tick in (from, to] has a view that looks back at a state before from.
func (r *Record) complete(from, to ecs.Tick) bool {
	for t := range r.Ticks(from+1, min(to, from+r.reach)) {
		if t.Tick-rollback.LookBack(t.Tick, t.Orders) < from {
			return false
		}
	}
	return true
}

// Result is the part of a record that Verify compared.
type Result struct {
	From, To ecs.Tick // the states of [From, To] were computed
	Images   int      // that were compared
}

// Verify simulates the record from its first state to tick to, or to its end if that comes first. It compares every
// recorded checksum and image on the way. The error wraps ErrDiverged and has a *rollback.DesyncReport of the first tick
// that differs, whose Here is the record. It names component, entity and field if the record has an image of that tick.
func (r *Record) Verify(to ecs.Tick) (Result, error) {
	result := Result{From: r.Start(), To: r.Start()}
	first := 0 // State(0) is what Setup builds, and an image of it is compared too
	if r.Start() > 0 {
		first = min(1, len(r.images))
	}
	w, err := r.base(first)
	if err != nil {
		return result, err
	}
	c := comparer{record: r}
	if err := c.images(w); err != nil {
		return result, err
	}
	for t := range r.Play(w, to) {
		if err = c.checksum(w, t); err == nil {
			err = c.images(w)
		}
		if err != nil {
			return result, err
		}
		result.To, result.Images = t.Tick, c.done
	}
	result.Images = c.done
	return result, nil
}

// comparer compares a world with the states of a record.
type comparer struct {
	record *Record
	saved  image.Snapshot
	done   int // images
}

// checksum compares the checksum of the tick that w has simulated, if the record has it.
func (c *comparer) checksum(w *ecs.World, t *Tick) error {
	if t.Checksum == 0 {
		return nil
	}
	w.Image().Save(&c.saved)
	got := c.saved.Checksum()
	if got == t.Checksum {
		return nil
	}
	report := &rollback.DesyncReport{Tick: t.Tick, Here: t.Checksum, There: got}
	if explained, err := c.image(t.Tick); err == nil && explained != nil {
		report = explained
	}
	report.Inputs, report.InputSize = slices.Clone(t.Inputs), c.record.header.InputSize
	for _, o := range t.Orders {
		o.Payload = slices.Clone(o.Payload)
		report.Orders = append(report.Orders, o)
	}
	return fmt.Errorf("%w: %w", ErrDiverged, report)
}

// images compares w with the image of its tick, if there is one.
func (c *comparer) images(w *ecs.World) error {
	images := c.record.images
	if c.done == len(images) || images[c.done].tick != w.Tick() {
		return nil
	}
	w.Image().Save(&c.saved)
	report, err := c.image(w.Tick())
	if err == nil && report != nil {
		err = fmt.Errorf("%w: %w", ErrDiverged, report)
	}
	c.done++
	return err
}

// image returns how the image of a tick differs from the saved state, or nil.
func (c *comparer) image(f ecs.Tick) (*rollback.DesyncReport, error) {
	stored, err := c.record.State(f)
	if err != nil {
		return nil, err
	}
	defer stored.Release()
	return rollback.CompareSnapshots(c.record.game, stored, &c.saved), nil
}
