package journal

import (
	"fmt"

	"tendon/ecs"
)

// World returns the match in the state of the last tick: the newest image, or State(0), played on. Every checksum that
// the journal has of the ticks on the way is compared; the first that differs is an error, ErrDiverged.
func (j *Journal) World() (*ecs.World, error) {
	w, err := j.base()
	if err != nil {
		return nil, err
	}
	var saved ecs.Snapshot
	defer saved.Release()
	checks := j.checks
	prove := func() error {
		if len(checks) == 0 || checks[0].tick != w.Tick() {
			return nil
		}
		want := checks[0].sum
		checks = checks[1:]
		w.Save(&saved)
		if got := saved.Checksum(); got != want {
			return fmt.Errorf("%w: the checksum of tick %d is %016x, the journal has %016x", ErrDiverged, w.Tick(), got, want)
		}
		return nil
	}
	if err := prove(); err != nil {
		return nil, err
	}
	for t := range j.Ticks(w.Tick() + 1) {
		w.Step(ecs.TickInputs{Players: t.Inputs, Orders: t.Orders})
		if err := prove(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// base returns a world in the state that the replay begins with.
func (j *Journal) base() (*ecs.World, error) {
	if !j.images && j.header.Start.Tick > 0 {
		return nil, fmt.Errorf("%w: the image of tick %d is missing", ErrNoState, j.header.Start.Tick)
	}
	w, err := ecs.NewWorld(j.game, j.header.Seed)
	if err != nil || !j.images {
		return w, err
	}
	f := j.image.tick
	image, err := unpack(j.image.packed, j.image.bytes)
	if err != nil || len(image) != j.image.bytes {
		return nil, fmt.Errorf("%w: the image of tick %d does not unpack to %d bytes: %v", ErrCorrupt, f, j.image.bytes, err)
	}
	if err := w.LoadImage(image); err != nil {
		return nil, fmt.Errorf("%w: the image of tick %d: %w", ErrCorrupt, f, err)
	}
	at, ok := j.position(f)
	if !ok || w.Tick() != f {
		return nil, fmt.Errorf("%w: the image of tick %d holds tick %d", ErrCorrupt, f, w.Tick())
	}
	for p, in := range at.Inputs {
		if w.InputOf(ecs.Player(p)) != in {
			return nil, fmt.Errorf("%w: the image of tick %d has another input of player %d than the tick", ErrDiverged, f, p)
		}
	}
	return w, nil
}
