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
// match's state. Views of players look back as far as w's first state. If the record has an image of that tick, they look back as
// far as its past, unless that is damaged. At the end w has no past (image.Image.SetPast).
func (r *Record) Play(w *ecs.World, to ecs.Tick) iter.Seq[*Tick] {
	return func(yield func(*Tick) bool) {
		past, _ := r.pastOf(w)
		r.play(w, past, to)(yield)
	}
}

// pastOf returns the states for the views of later ticks: w's state, and the past of the image of its tick. After an error it has
// only w's state.
func (r *Record) pastOf(w *ecs.World) (*rollback.Snapshots, error) {
	past := rollback.NewSnapshots(max(1, int(r.reach)))
	if r.reach == 0 {
		return past, nil
	}
	var err error
	if m := r.imageOf(w.Tick()); m != nil && m.count > 0 {
		var now image.Snapshot
		w.Image().Save(&now)
		if err = m.load(w, func() { past.Save(w) }); err != nil {
			past.Clear()
		}
		w.Image().Restore(&now)
		now.Release()
	}
	past.Save(w)
	return past, err
}

// play is Play with the past of w.
func (r *Record) play(w *ecs.World, past *rollback.Snapshots, to ecs.Tick) iter.Seq[*Tick] {
	return func(yield func(*Tick) bool) {
		if r.reach > 0 {
			w.Image().SetPast(past.At)
			defer past.Clear()
			defer w.Image().SetPast(nil)
		}
		for t := range r.Ticks(w.Tick()+1, to) {
			w.Step(ecs.TickInputs{Players: t.Inputs, Orders: t.Orders})
			if r.reach > 0 {
				past.Save(w)
			}
			if !yield(t) {
				return
			}
		}
	}
}

// WorldAt returns a world in the state of tick f: the nearest image before it, simulated on. An earlier image is used if
// views of players look back beyond the nearest one and its past. Every recorded checksum on the way is compared. The error wraps
// ErrRange, ErrNoState, ErrCorrupt or ErrDiverged, the last with a *rollback.DesyncReport.
func (r *Record) WorldAt(f ecs.Tick) (*ecs.World, error) {
	if f < r.Start() || f > r.last.Tick {
		return nil, fmt.Errorf("%w: %d, it has %d to %d", ErrRange, f, r.Start(), r.last.Tick)
	}
	w, err := r.base(r.baseOf(f))
	if err == nil {
		_, err = r.compare(w, f, nil)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// baseOf returns the number of images up to the one from which tick f can be simulated, 0 for the first state.
func (r *Record) baseOf(f ecs.Tick) int {
	at := sort.Search(len(r.images), func(i int) bool { return r.images[i].tick > f })
	for at > 0 && r.images[at-1].tick > r.Start() && !r.complete(&r.images[at-1], f) {
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

// complete reports whether no tick in (m.tick, to] has a view that looks back at a state before the past of the image m.
func (r *Record) complete(m *storedImage, to ecs.Tick) bool {
	for t := range r.Ticks(m.tick+1, min(to, m.tick+r.reach)) {
		if t.Tick-LookBack(t.Tick, t.Orders) < m.oldest() {
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
	first := 0 // State(0) is what Setup builds, and an image of it is compared too
	if r.Start() > 0 {
		first = min(1, len(r.images))
	}
	w, err := r.base(first)
	if err != nil {
		return Result{From: r.Start(), To: r.Start()}, err
	}
	return r.compare(w, to, r.images)
}

// compare simulates w up to tick to. It compares every recorded checksum, and the states of these images, from w's tick on.
func (r *Record) compare(w *ecs.World, to ecs.Tick, images []storedImage) (Result, error) {
	result := Result{From: w.Tick(), To: w.Tick()}
	var saved image.Snapshot
	check := func(t *Tick) error {
		stored := len(images) > 0 && images[0].tick == t.Tick
		if t.Checksum == 0 && !stored {
			return nil
		}
		w.Image().Save(&saved)
		var report *rollback.DesyncReport
		if stored {
			state, err := r.State(t.Tick)
			if err != nil {
				return err
			}
			report = rollback.CompareSnapshots(r.game, state, &saved)
			state.Release()
			images = images[1:]
		}
		if got := saved.Checksum(); report == nil && t.Checksum != 0 && t.Checksum != got {
			report = &rollback.DesyncReport{Tick: t.Tick, Here: t.Checksum, There: got}
		}
		if report != nil {
			return diverged(report, t, r)
		}
		if stored {
			result.Images++
		}
		return nil
	}
	first := Tick{Tick: w.Tick()} // the start has no tick, but may have an image
	for t := range r.Ticks(w.Tick(), w.Tick()) {
		first = *t
	}
	if err := check(&first); err != nil {
		return result, err
	}
	past, err := r.pastOf(w)
	if err != nil {
		return result, err
	}
	for t := range r.play(w, past, to) {
		if err := check(t); err != nil {
			return result, err
		}
		result.To = t.Tick
	}
	return result, nil
}

// diverged returns the error of a tick that differs, with its inputs and orders.
func diverged(report *rollback.DesyncReport, t *Tick, r *Record) error {
	report.Inputs, report.InputSize, report.Schema = slices.Clone(t.Inputs), r.header.InputSize, r.game.Schema()
	for _, o := range t.Orders {
		o.Payload = slices.Clone(o.Payload)
		report.Orders = append(report.Orders, o)
	}
	return fmt.Errorf("%w: %w", ErrDiverged, report)
}
