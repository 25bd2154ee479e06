package broadcast

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/rollback/record"
)

// Errors of a Viewer.
var (
	// ErrNone is returned if the address has no broadcast.
	ErrNone = errors.New("broadcast: no broadcast at this address")
	// ErrDiverged is returned if the state of a tick differs from the match. The error contains a *rollback.DesyncReport.
	ErrDiverged = errors.New("broadcast: the states differ")
)

// Viewer watches a broadcast. Run fetches the files on a goroutine; all other methods belong to one other goroutine.
type Viewer struct {
	game   *ecs.Game
	source Source
	first  []*record.Record // the states of the next fragment. Only Fetch uses them

	mu       sync.Mutex
	schedule *Schedule
	queue    []*received
	stats    Stats
	jump     bool // ask the schedule for a newer fragment

	world    *ecs.World // nil before the first state
	verified uint64
	jumps    uint64
	current  *received
	past     *rollback.Snapshots // nil without views
	oldest   ecs.Tick            // first tick whose state is known
	states   [2]image.Snapshot   // before the last tick and after it
	effects  rollback.Effects
	names    []string

	view    *ecs.View
	playing bool
	began   moment // the first since playing is true
}

// moment is the time at which a tick was shown.
type moment struct {
	tick ecs.Tick
	at   time.Duration
}

// received is a fragment.
type received struct {
	states []*record.Record // nil if it continues the fragment before
	ticks  *record.Record
}

// NewViewer returns a viewer of a broadcast of a game. seed selects the random part of the request times. now is the present
// time.
func NewViewer(g *ecs.Game, source Source, seed uint64, now time.Duration) (*Viewer, error) {
	v := &Viewer{game: g, source: source, schedule: NewSchedule(seed, now), names: make([]string, g.MaxPlayers)}
	v.stats.Waiting = true
	var err error
	if v.view, err = ecs.NewView(g); err != nil {
		return nil, err
	}
	v.view.Roster = make([]ecs.Seated, g.MaxPlayers)
	return v, nil
}

// Stats returns the present figures.
func (v *Viewer) Stats() Stats {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.stats
	s.Verified, s.Jumps = v.verified, v.jumps
	if v.world != nil {
		s.Tick = v.world.Tick()
	}
	if v.current != nil {
		s.Buffered = v.current.ticks.Last().Tick - s.Tick
	}
	for _, f := range v.queue {
		s.Buffered += f.ticks.Last().Tick - f.ticks.Start()
	}
	s.Over = v.schedule.Over() && s.Buffered == 0
	return s
}

// take returns the next fragment, or nil if the queue is empty.
func (v *Viewer) take() *received {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stats.Waiting = len(v.queue) == 0; v.stats.Waiting {
		return nil
	}
	f := v.queue[0]
	v.queue = v.queue[1:]
	return f
}

// Step simulates the next tick and compares its checksum. It returns false if the tick was not received yet. If the checksums
// differ, the error wraps ErrDiverged and contains the tick.
func (v *Viewer) Step() (bool, error) {
	if v.replaced() {
		v.current = nil
	}
	for v.current == nil || v.world.Tick() == v.current.ticks.Last().Tick {
		f := v.take()
		if f == nil {
			return false, nil
		}
		if err := v.enter(f); err != nil {
			return false, err
		}
	}
	f := v.world.Tick() + 1
	for t := range v.current.ticks.Ticks(f, f) {
		return v.step(t)
	}
	return false, fmt.Errorf("%w: tick %d is missing", ErrDamaged, f) // openTicks has checked it
}

// replaced reports whether a state newer than the present fragment was received.
func (v *Viewer) replaced() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.queue) > 0 && v.queue[0].states != nil
}

// enter begins a fragment.
func (v *Viewer) enter(f *received) error {
	if f.states == nil {
		if v.current == nil || v.current.ticks.Last().Tick != f.ticks.Start() || v.current.ticks.Last().Chain != f.ticks.Header().Start.Chain {
			v.leave()
			return nil
		}
	} else if err := v.load(f); err != nil {
		return err
	}
	if reach := int(f.ticks.Reach()); reach > 0 {
		v.widen(reach)
	}
	v.current = f
	return nil
}

// leave stops the simulation until a newer state arrives.
func (v *Viewer) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.jump, v.current, v.world, v.queue, v.playing = true, nil, nil, nil, false
	v.stats.Waiting = true
}

// load loads the states of a fragment.
func (v *Viewer) load(f *received) (err error) {
	if v.verified > 0 {
		v.jumps++
	}
	world, err := ecs.NewWorld(v.game, f.ticks.Header().Seed)
	if err != nil {
		return err
	}
	v.world, v.playing, v.past, v.states = world, false, nil, [2]image.Snapshot{}
	v.oldest = f.states[0].Start()
	if len(f.states) > 1 {
		v.past = rollback.NewSnapshots(max(int(f.ticks.Reach()), len(f.states)))
	}
	for _, r := range f.states {
		if len(r.Images()) > 0 {
			if err := r.LoadImage(world, r.Start()); err != nil {
				return refusal(err)
			}
		}
		if v.past != nil {
			v.past.Save(world)
		}
	}
	clear(v.names)
	for _, seat := range f.states[len(f.states)-1].Seats() {
		v.names[seat.Player] = seat.Name
	}
	for i := range v.states {
		world.Image().Save(&v.states[i])
	}
	if v.past != nil {
		world.Image().SetPast(v.past.At)
	}
	return nil
}

// widen extends the stored past to at least a number of ticks.
func (v *Viewer) widen(ticks int) {
	if v.past != nil && v.past.Depth() >= ticks {
		return
	}
	wider := rollback.NewSnapshots(ticks)
	if now := v.world.Tick(); v.past == nil {
		wider.Save(v.world)
		v.oldest = now
	} else {
		v.oldest = max(v.oldest, now+1-min(now+1, ecs.Tick(v.past.Depth())))
		for f := v.oldest; f <= now; f++ {
			if s, ok := v.past.At(f); ok {
				wider.Next(f).Hold(s)
			}
		}
		v.past.Clear()
	}
	v.past = wider
	v.world.Image().SetPast(wider.At)
}

// step simulates a tick.
func (v *Viewer) step(t *record.Tick) (bool, error) {
	v.world.Step(ecs.TickInputs{Players: t.Inputs, Orders: t.Orders})
	v.states[0], v.states[1] = v.states[1], v.states[0]
	now := &v.states[1]
	v.world.Image().Save(now)
	if v.past != nil {
		v.past.Save(v.world)
	}
	if sum := now.Checksum(); sum != t.Checksum {
		if back := record.LookBack(t.Tick, t.Orders); back > 0 && t.Tick-back < v.oldest {
			v.leave() // a view read a state that this viewer does not have
			return false, nil
		}
		report := &rollback.DesyncReport{Tick: t.Tick, Here: t.Checksum, There: sum, Inputs: slices.Clone(t.Inputs), InputSize: v.game.Input.Size(), Schema: v.game.Schema()}
		for _, o := range t.Orders {
			o.Payload = slices.Clone(o.Payload)
			report.Orders = append(report.Orders, o)
		}
		return false, fmt.Errorf("%w: %w", ErrDiverged, report)
	}
	noteJoins(v.names, t.Orders)
	for _, e := range v.world.Events() {
		v.effects.Confirm(e)
	}
	v.verified++
	return true, nil
}

// Show simulates the ticks that are due at a time, at the tick rate of the game, and returns the view of that time. The view is
// nil before the first state. While a newer state is loaded, Show returns the last view. effect receives the events of the
// ticks. All calls must use the same clock.
func (v *Viewer) Show(now time.Duration, effect func(*ecs.View, ecs.Effect)) (*ecs.View, error) {
	alpha, err := v.advance(now)
	switch {
	case err != nil || v.verified == 0:
		return nil, err
	case v.world == nil:
		return v.view, nil
	}
	v.view.Update(&v.states[0], &v.states[1], &v.states[1], alpha)
	clear(v.view.Roster)
	for p := range v.states[1].Players().All() {
		v.view.Roster[p] = ecs.Seated{Name: v.names[p], Connected: true}
	}
	v.effects.Drain(v.world.Tick(), func(e ecs.Effect) {
		if effect != nil {
			effect(v.view, e)
		}
	})
	return v.view, nil
}

// advance simulates up to a time. It returns the position of that time between the last two ticks, in [0, 1]. After a delay of a
// quarter of a second it does not catch up.
func (v *Viewer) advance(now time.Duration) (alpha float64, err error) {
	rate := time.Duration(v.game.TickRate)
	for range max(v.game.TickRate/4, 1) {
		if v.playing {
			due := v.began.at + time.Duration(v.world.Tick()-v.began.tick)*time.Second/rate
			if now < due {
				return 1 - float64(due-now)*float64(rate)/float64(time.Second), nil
			}
		}
		stepped, err := v.Step()
		if err != nil {
			return 0, err
		}
		if !stepped {
			v.playing = false
			return 1, nil
		}
		if !v.playing {
			v.playing, v.began = true, moment{v.world.Tick() - 1, now}
		}
	}
	v.playing = false
	return 1, nil
}
