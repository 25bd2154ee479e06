package cursor

import (
	"slices"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
)

// keyframe is a tick from whose state a segment is simulated. The state is an image of the record, or the last one of states.
type keyframe struct {
	tick   ecs.Tick
	stored bool // the record has an image
	// states are the keyframe's state and those before it to which views look back, ascending. They are those of the segment
	// before, and empty until that one was simulated to its end. Those of the first keyframe are stored with its image, without
	// the keyframe's own.
	states []image.Snapshot
}

// oldest returns the tick of the oldest state that views can look back at.
func (k *keyframe) oldest() ecs.Tick {
	if len(k.states) == 0 {
		return k.tick
	}
	return k.states[0].Tick()
}

// segment has a keyframe and the ticks that were simulated from it: moments[i] is of the keyframe's tick + i. Where no view looks
// back, only each stateEvery-th moment has a state. Others are computed again from it.
type segment struct {
	key     int // index of the keyframe; -1: it is empty
	moments []moment
}

const stateEvery = 16

// moment is a tick that was simulated, or a keyframe.
type moment struct {
	state    image.Snapshot // may be empty
	recorded image.Checksum
	unproven bool // a view looked back to before the record, so the state may differ from the match's
	events   []byte
	// receivers are those of each event, in a game with private values.
	receivers []image.PlayerSet
	refusals  []ecs.Refusal
	costs     []Share
}

// add adds the tick that a world is in, with its state if that is asked for. The moment may be one of an earlier segment, whose
// buffers are used again.
func (s *segment) add(w *ecs.World, state bool) *moment {
	n := len(s.moments)
	s.moments = slices.Grow(s.moments, 1)[:n+1]
	m := &s.moments[n]
	if state || n%stateEvery == 0 {
		w.Image().Save(&m.state)
	}
	m.recorded, m.unproven, m.events, m.receivers, m.refusals, m.costs = 0, false, m.events[:0], m.receivers[:0], m.refusals[:0], m.costs[:0]
	return m
}

// clear releases every state.
func (s *segment) clear() {
	for i := range s.moments {
		s.moments[i].state.Release()
	}
	s.moments, s.key = s.moments[:0], -1
}

// segment returns the segment from keyframe i with tick f. If the keyframe's state is not known, the segment before is
// simulated first.
func (c *Cursor) segment(i int, f ecs.Tick) (*segment, error) {
	if k := &c.keys[i]; !k.stored && len(k.states) == 0 {
		if err := c.complete(i - 1); err != nil {
			return nil, err
		}
	}
	s, err := c.begin(i)
	if err != nil {
		return nil, err
	}
	return c.extend(s, f)
}

// complete simulates the segment from keyframe i to its end, and keeps the states that the next keyframe needs.
func (c *Cursor) complete(i int) error {
	next := &c.keys[i+1]
	s, err := c.segment(i, next.tick)
	if err != nil || len(next.states) > 0 {
		return err
	}
	for f := next.tick - min(next.tick, c.record.Reach()); f <= next.tick; f++ {
		if state, ok := c.past(s, f); ok {
			next.states = append(next.states, image.Snapshot{})
			c.world.Image().Restore(state)
			c.world.Image().Save(&next.states[len(next.states)-1])
		}
	}
	return nil
}

// begin returns the segment from keyframe i, whose state is known. If it is not held, one with the keyframe alone replaces the
// one that is not current.
func (c *Cursor) begin(i int) (*segment, error) {
	for n := range c.held {
		if s := &c.held[n]; s.key == i {
			return s, nil
		}
	}
	if k := &c.keys[i]; !k.stored {
		c.world.Image().Restore(&k.states[len(k.states)-1])
	} else {
		if i == 0 && len(k.states) == 0 {
			err := c.record.LoadPast(c.world, k.tick, func() {
				k.states = append(k.states, image.Snapshot{})
				c.world.Image().Save(&k.states[len(k.states)-1])
			})
			if err != nil {
				return nil, err
			}
		}
		if err := c.record.LoadImage(c.world, k.tick); err != nil {
			return nil, err
		}
	}
	s := &c.held[0]
	if s == c.current {
		s = &c.held[1]
	}
	s.clear()
	s.key = i
	s.add(c.world, true)
	return s, nil
}

// extend simulates a segment until it has tick f, and returns it. If a view looks back beyond the keyframe, the checksum
// shows whether the missing state mattered. In that case the segment before is simulated first, and this one again.
func (c *Cursor) extend(s *segment, f ecs.Tick) (*segment, error) {
	first := c.keys[s.key].tick
	last := first + ecs.Tick(len(s.moments)) - 1
	if last >= f {
		c.fill(s, int(f-first))
		return s, nil
	}
	c.fill(s, len(s.moments)-1)
	c.world.Image().Restore(&s.moments[len(s.moments)-1].state)
	c.world.Image().SetPast(func(f ecs.Tick) (*image.Snapshot, bool) { return c.past(s, f) })
	defer c.world.Image().SetPast(nil)
	for t := range c.record.Ticks(last+1, f) {
		if c.step(s, t, c.record.Reach() > 0 || t.Tick+1 >= f) {
			continue
		}
		i := s.key
		s.clear()
		if err := c.complete(i - 1); err != nil {
			return nil, err
		}
		return c.segment(i, f)
	}
	return s, nil
}

// fill computes the states of moment i and of the one before it, if they are not kept.
func (c *Cursor) fill(s *segment, i int) {
	from := max(i-1, 0)
	if !s.moments[from].state.Empty() && !s.moments[i].state.Empty() {
		return
	}
	for from%stateEvery != 0 {
		from--
	}
	first := c.keys[s.key].tick
	c.world.Image().Restore(&s.moments[from].state)
	for t := range c.record.Ticks(first+ecs.Tick(from)+1, first+ecs.Tick(i)) {
		c.world.Step(ecs.TickInputs{Players: t.Inputs, Orders: t.Orders})
		c.world.Image().Save(&s.moments[t.Tick-first].state)
	}
}

// step simulates a tick into a segment, and keeps its state if that is asked for. It returns false if the tick differs from the
// recorded one because states before the keyframe are missing that can be simulated.
func (c *Cursor) step(s *segment, t *record.Tick, state bool) bool {
	c.meter.costs = c.meter.costs[:0] // those since the last tick are of the seek
	c.world.Step(ecs.TickInputs{Players: t.Inputs, Orders: t.Orders})
	m := s.add(c.world, state)
	m.recorded = t.Checksum
	m.events = image.AppendEvents(m.events, c.world.Events(), nil)
	if c.private {
		for _, e := range c.world.Events() {
			m.receivers = append(m.receivers, e.To)
		}
	}
	m.refusals = append(m.refusals, c.world.Refusals()...)
	m.costs = append(m.costs, c.meter.costs...)
	k := &c.keys[s.key]
	blind := t.Tick-record.LookBack(t.Tick, t.Orders) < k.oldest()
	if !blind || m.recorded != 0 && m.state.Checksum() == m.recorded {
		return true
	}
	m.unproven = true // matters without a segment before
	return s.key == 0
}

// past returns the state of tick f for views that look back in a segment.
func (c *Cursor) past(s *segment, f ecs.Tick) (*image.Snapshot, bool) {
	if first := c.keys[s.key].tick; f >= first {
		if i := f - first; i < ecs.Tick(len(s.moments)) {
			return &s.moments[i].state, !s.moments[i].state.Empty()
		}
		return nil, false
	}
	states := c.keys[s.key].states
	if len(states) == 0 || f < states[0].Tick() {
		return nil, false
	}
	return &states[f-states[0].Tick()], true
}

// meter is the observer of a cursor's world. It has the costs of the sections since it was reset.
type meter struct {
	game  *ecs.Game
	now   func() time.Time
	open  []time.Time // when the open sections began
	costs []Share
}

// phases are the names of the phases of a simulated tick.
var phases = map[image.Section]string{image.SectionSimulate: "simulate", image.SectionSave: "save", image.SectionChecksum: "checksum"}

func (m *meter) Enter(image.Section) { m.open = append(m.open, m.now()) }

func (m *meter) Leave(s image.Section) {
	n := len(m.open) - 1
	share := Share{Section: phases[s], Nanoseconds: m.now().Sub(m.open[n])}
	if i := int(s) - int(image.SectionSystems); i >= 0 && i < len(m.game.Systems) {
		share.Section, share.System = m.game.Systems[i].Name, true
	}
	m.open, m.costs = m.open[:n], append(m.costs, share)
}

func (m *meter) Name(image.Section, string, string) {}
func (m *meter) Turn(ecs.Tick)                      {}
