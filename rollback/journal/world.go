package journal

import (
	"fmt"
	"iter"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// World returns the match in the state of the last tick: the newest image, or State(0), played on. Every checksum that
// the journal has of the ticks on the way is compared; the first that differs is an error, ErrDiverged.
//
// Where players' views look back beyond the image, the match is played from the start of the journal. The world that is
// returned has no past (ecs.World.SetPast): what is played on begins to look back at its own.
func (j *Journal) World() (*ecs.World, error) {
	w, err := j.base()
	if err != nil {
		return nil, err
	}
	var saved image.Snapshot
	defer saved.Release()
	checks := j.checks
	prove := func() error {
		if len(checks) == 0 || checks[0].tick != w.Tick() {
			return nil
		}
		want := checks[0].sum
		checks = checks[1:]
		w.Image().Save(&saved)
		if got := saved.Checksum(); got != want {
			return fmt.Errorf("%w: the checksum of tick %d is %016x, the journal has %016x", ErrDiverged, w.Tick(), got, want)
		}
		return nil
	}
	if err := prove(); err != nil {
		return nil, err
	}
	for range j.Play(w) {
		if err := prove(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Play plays the ticks after w's state in w, the state of that tick of the match, and yields each when it was played.
// Players' views look back as far as w's state. When it is over, or given up, w has no past (ecs.World.SetPast).
func (j *Journal) Play(w *ecs.World) iter.Seq[*Tick] {
	return func(yield func(*Tick) bool) {
		var past *rollback.Snapshots
		if j.reach > 0 {
			past = rollback.NewSnapshots(int(j.reach))
			past.Save(w)
			w.Image().SetPast(past.At)
			defer past.Clear()
			defer w.Image().SetPast(nil)
		}
		for t := range j.Ticks(w.Tick() + 1) {
			w.Step(ecs.TickInputs{Players: t.Inputs, Orders: t.Orders})
			if past != nil {
				past.Save(w)
			}
			if !yield(t) {
				return
			}
		}
	}
}

// complete reports whether no tick after from looks back at a state before from.
func (j *Journal) complete(from ecs.Tick) bool {
	for t := range j.Ticks(from + 1) {
		if t.Tick > from+j.reach {
			break
		}
		if t.Tick-rollback.LookBack(t.Tick, t.Orders) < from {
			return false
		}
	}
	return true
}

// base returns a world in the state that the replay begins with.
func (j *Journal) base() (*ecs.World, error) {
	if !j.images && j.header.Start.Tick > 0 {
		return nil, fmt.Errorf("%w: the image of tick %d is missing", ErrNoState, j.header.Start.Tick)
	}
	from, loads := &j.image, j.images
	if loads && !j.complete(from.tick) {
		from, loads = &j.first, j.header.Start.Tick > 0
	}
	w, err := ecs.NewWorld(j.game, j.header.Seed)
	if err != nil || !loads {
		return w, err
	}
	f := from.tick
	encoded, err := unpack(from.packed, from.bytes)
	if err != nil || len(encoded) != from.bytes {
		return nil, fmt.Errorf("%w: the image of tick %d does not unpack to %d bytes: %v", ErrCorrupt, f, from.bytes, err)
	}
	if err := w.Image().Load(encoded); err != nil {
		return nil, fmt.Errorf("%w: the image of tick %d: %w", ErrCorrupt, f, err)
	}
	at, ok := j.position(f)
	if !ok || w.Tick() != f {
		return nil, fmt.Errorf("%w: the image of tick %d holds tick %d", ErrCorrupt, f, w.Tick())
	}
	for p, in := range at.Inputs {
		if w.Image().Input(ecs.Player(p)) != in {
			return nil, fmt.Errorf("%w: the image of tick %d has another input of player %d than the tick", ErrDiverged, f, p)
		}
	}
	return w, nil
}
