package travel

import (
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/rollback/recording"
)

// mark is a tick from whose state a stretch is played. The state is an image of the source, or what the stretch before
// ended with.
type mark struct {
	tick   ecs.Tick
	stored bool             // the source has an image
	state  image.Snapshot   // where stored is false: empty until the stretch before was played
	past   []image.Snapshot // the states before, for views that look back beyond the mark; ascending
	warm   bool             // past is filled
}

// stretch is what was played from a mark on: moments[i] is of the mark's tick + 1 + i.
type stretch struct {
	mark    int
	base    image.Snapshot
	moments []moment
}

// moment is a tick that was played.
type moment struct {
	state    image.Snapshot
	recorded image.Checksum
	unproven bool // a view looked back beyond what is held, so the state may be none of the match's
	events   []byte
	costs    []Cost
}

// end returns the last tick of the stretch from mark i.
func (t *Traveller) end(i int) ecs.Tick {
	if i+1 < len(t.marks) {
		return t.marks[i+1].tick
	}
	return t.last
}

// moment returns what was played in the tick that the Traveller is at, nil in the first.
func (t *Traveller) moment() *moment {
	if n := t.tick - t.current.base.Tick(); n > 0 {
		return &t.current.moments[n-1]
	}
	return nil
}

// stretch returns the stretch from mark i, which may have to be begun. Where the mark's state is not known the
// stretches before it are played first.
func (t *Traveller) stretch(i int) (*stretch, error) {
	from := i
	for m := &t.marks[from]; !m.stored && m.state.Empty(); m = &t.marks[from] {
		from--
	}
	for ; from < i; from++ {
		s, err := t.begin(from)
		if err == nil {
			s, err = t.reachTo(s, t.end(from))
		}
		if err != nil {
			return nil, err
		}
		t.keep(s)
	}
	return t.begin(i)
}

// begin returns the stretch from mark i, whose state is known: the one that is held, or a new one without moments.
func (t *Traveller) begin(i int) (*stretch, error) {
	for _, s := range t.held {
		if s != nil && s.mark == i {
			return s, nil
		}
	}
	m := &t.marks[i]
	if !m.state.Empty() {
		t.world.Image().Restore(&m.state)
	} else {
		if err := load(t.world, t.config.Source, m.tick); err != nil {
			return nil, err
		}
		t.stats.Loaded++
	}
	s := t.room()
	s.mark = i
	t.world.Image().Save(&s.base)
	return s, nil
}

// room returns an empty stretch, in place of one that is not the current one.
func (t *Traveller) room() *stretch {
	i := 0
	if t.held[0] == t.current && t.current != nil {
		i = 1
	}
	if t.held[i] == nil {
		t.held[i] = new(stretch)
	}
	t.held[i].clear()
	return t.held[i]
}

// clear lets go of everything.
func (s *stretch) clear() {
	s.base.Release()
	for i := range s.moments {
		s.moments[i].state.Release()
	}
	s.moments, s.mark = s.moments[:0], -1
}

// reachTo plays a stretch on until it has tick f, and returns it. Where a view looks back beyond the mark, and the
// checksum shows that it mattered, the stretch before is played too and this one begun anew with what it leaves.
func (t *Traveller) reachTo(s *stretch, f ecs.Tick) (*stretch, error) {
	done := s.base.Tick() + ecs.Tick(len(s.moments))
	if done >= f {
		return s, nil
	}
	if len(s.moments) > 0 {
		t.world.Image().Restore(&s.moments[len(s.moments)-1].state)
	} else {
		t.world.Image().Restore(&s.base)
	}
	t.world.Image().SetPast(func(f ecs.Tick) (*image.Snapshot, bool) { return t.past(s, f) })
	defer t.world.Image().SetPast(nil)
	for e := range t.config.Source.Entries(done+1, f) {
		if !t.play(s, e) {
			return t.rewarm(s, f)
		}
	}
	if got := s.base.Tick() + ecs.Tick(len(s.moments)); got < f {
		return nil, fmt.Errorf("%w: the entry of tick %d is missing", recording.ErrCorrupt, got+1)
	}
	return s, nil
}

// play plays a tick into a stretch. It reports false, and the tick does not count, if it came out otherwise than
// recorded for lack of a past that can be had.
func (t *Traveller) play(s *stretch, e *recording.Entry) bool {
	g := t.config.Game
	t.scratch.inputs = append(t.scratch.inputs[:0], e.Inputs...)
	for i := range t.scratch.inputs {
		t.scratch.inputs[i] = g.Input.Clean(t.scratch.inputs[i])
	}
	meter := t.config.Meter
	if meter != nil { // what moves cost is no tick's
		t.scratch.costs = meter.AppendCosts(t.scratch.costs[:0])
	}
	t.world.Step(ecs.TickInputs{Players: t.scratch.inputs, Orders: e.Orders})
	t.stats.Simulated++
	n := len(s.moments)
	if n < cap(s.moments) { // a moment of an older stretch, whose buffers are used again
		s.moments = s.moments[:n+1]
	} else {
		s.moments = append(s.moments, moment{})
	}
	m := &s.moments[n]
	t.world.Image().Save(&m.state)
	m.recorded, m.unproven = e.Checksum, false
	m.events = image.AppendEvents(m.events[:0], t.world.Events(), nil)
	if m.costs = m.costs[:0]; meter != nil {
		meter.Turn(e.Tick)
		m.costs = meter.AppendCosts(m.costs)
	}
	k := &t.marks[s.mark]
	blind := !k.warm && e.Tick-rollback.LookBack(e.Tick, e.Orders) < k.tick
	if !blind || m.recorded != 0 && m.state.Checksum() == m.recorded {
		return true
	}
	if s.mark == 0 { // nothing lies before
		m.unproven = k.tick > 0
		return true
	}
	m.state.Release()
	s.moments = s.moments[:n]
	return false
}

// rewarm plays the stretch before s to its end, keeps what s lacked, and plays s anew to tick f.
func (t *Traveller) rewarm(s *stretch, f ecs.Tick) (*stretch, error) {
	i := s.mark
	s.clear()
	before, err := t.stretch(i - 1)
	if err == nil {
		before, err = t.reachTo(before, t.end(i-1))
	}
	if err != nil {
		return nil, err
	}
	t.keep(before)
	again, err := t.begin(i)
	if err != nil {
		return nil, err
	}
	return t.reachTo(again, f)
}

// keep gives the mark behind a stretch that was played to its end the states that it ended with.
func (t *Traveller) keep(s *stretch) {
	next := &t.marks[s.mark+1]
	if !next.stored && next.state.Empty() {
		t.world.Image().Restore(&s.moments[len(s.moments)-1].state)
		t.world.Image().Save(&next.state)
	}
	if next.warm || t.reach == 0 {
		return
	}
	next.warm = true
	from := next.tick - min(next.tick, t.reach)
	for f := from; f < next.tick; f++ {
		if state, ok := t.past(s, f); ok {
			t.world.Image().Restore(state)
			next.past = slices.Grow(next.past, 1)[:len(next.past)+1]
			t.world.Image().Save(&next.past[len(next.past)-1])
		}
	}
}

// past returns the state of tick f for views that look back in a stretch.
func (t *Traveller) past(s *stretch, f ecs.Tick) (*image.Snapshot, bool) {
	base := s.base.Tick()
	switch {
	case f > base && f-base <= ecs.Tick(len(s.moments)):
		return &s.moments[f-base-1].state, true
	case f == base:
		return &s.base, true
	}
	past := t.marks[s.mark].past
	if len(past) == 0 || f < past[0].Tick() || f-past[0].Tick() >= ecs.Tick(len(past)) {
		return nil, false
	}
	return &past[f-past[0].Tick()], true
}
