package cursor

import (
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
)

// keyframe is a tick from whose state a segment is simulated. The state is an image of the record, or the last state of the
// segment before.
type keyframe struct {
	tick   ecs.Tick
	stored bool             // the record has an image
	state  image.Snapshot   // if not stored: empty until the segment before was simulated
	past   []image.Snapshot // the states before, for views that look back beyond the keyframe; ascending
	warm   bool             // past is filled
}

// segment has the ticks that were simulated from a keyframe: moments[i] is of the keyframe's tick + 1 + i.
type segment struct {
	key     int // index of the keyframe; -1: it is empty
	base    image.Snapshot
	moments []moment
}

// moment is a tick that was simulated.
type moment struct {
	state    image.Snapshot
	recorded image.Checksum
	unproven bool // a view looked back to before the record, so the state may differ from the match's
	events   []byte
	costs    []Cost
}

// end returns the last tick of the segment from keyframe i.
func (c *Cursor) end(i int) ecs.Tick {
	if i+1 < len(c.keys) {
		return c.keys[i+1].tick
	}
	return c.last
}

// moment returns the tick that the Cursor is at, or nil at the keyframe itself.
func (c *Cursor) moment() *moment {
	if n := c.tick - c.current.base.Tick(); n > 0 {
		return &c.current.moments[n-1]
	}
	return nil
}

// segment returns the segment from keyframe i. If the keyframe's state is not known, the segments before it are simulated
// first.
func (c *Cursor) segment(i int) (*segment, error) {
	from := i
	for !c.keys[from].stored && c.keys[from].state.Empty() {
		from--
	}
	for ; from < i; from++ {
		if err := c.complete(from); err != nil {
			return nil, err
		}
	}
	return c.begin(i)
}

// complete simulates the segment from keyframe i, whose state is known, to its end, and keeps the states that the next
// keyframe needs.
func (c *Cursor) complete(i int) error {
	s, err := c.simulate(i, c.end(i))
	if err != nil {
		return err
	}
	next := &c.keys[i+1]
	if !next.stored && next.state.Empty() {
		c.world.Image().Restore(&s.moments[len(s.moments)-1].state)
		c.world.Image().Save(&next.state)
	}
	reach := c.record.Reach()
	if next.warm || reach == 0 {
		return nil
	}
	next.warm = true
	for f := next.tick - min(next.tick, reach); f < next.tick; f++ {
		if state, ok := c.past(s, f); ok {
			c.world.Image().Restore(state)
			next.past = slices.Grow(next.past, 1)[:len(next.past)+1]
			c.world.Image().Save(&next.past[len(next.past)-1])
		}
	}
	return nil
}

// begin returns the segment from keyframe i, whose state is known: the one that is held, or an empty one in place of one
// that is not current.
func (c *Cursor) begin(i int) (*segment, error) {
	for n := range c.held {
		if s := &c.held[n]; s.key == i {
			return s, nil
		}
	}
	if k := &c.keys[i]; !k.state.Empty() {
		c.world.Image().Restore(&k.state)
	} else if err := c.record.LoadImage(c.world, k.tick); err != nil {
		return nil, err
	}
	s := &c.held[0]
	if s == c.current {
		s = &c.held[1]
	}
	s.clear()
	s.key = i
	c.world.Image().Save(&s.base)
	return s, nil
}

// clear releases every state.
func (s *segment) clear() {
	s.base.Release()
	for i := range s.moments {
		s.moments[i].state.Release()
	}
	s.moments, s.key = s.moments[:0], -1
}

// extend simulates a segment until it has tick f, and returns it. If a view looks back beyond the keyframe, the checksum
// shows whether the missing state mattered. In that case the segment before is simulated first, and this one again.
func (c *Cursor) extend(s *segment, f ecs.Tick) (*segment, error) {
	done := s.base.Tick() + ecs.Tick(len(s.moments))
	if done >= f {
		return s, nil
	}
	last, _ := c.past(s, done)
	c.world.Image().Restore(last)
	c.world.Image().SetPast(func(f ecs.Tick) (*image.Snapshot, bool) { return c.past(s, f) })
	defer c.world.Image().SetPast(nil)
	for t := range c.record.Ticks(done+1, f) {
		if !c.step(s, t) {
			return c.again(s, f)
		}
	}
	return s, nil
}

// step simulates a tick into a segment. It returns false, and removes the tick, if it differs from the recorded one because
// states before the keyframe are missing that can be simulated.
func (c *Cursor) step(s *segment, t *record.Tick) bool {
	if c.meter != nil { // the costs since the last tick are those of the seek
		c.costs = c.meter.AppendCosts(c.costs[:0])
	}
	c.world.Step(ecs.TickInputs{Players: t.Inputs, Orders: t.Orders})
	c.simulated++
	n := len(s.moments)
	s.moments = slices.Grow(s.moments, 1)[:n+1] // it may be a moment of an earlier segment, whose buffers are used again
	m := &s.moments[n]
	c.world.Image().Save(&m.state)
	m.recorded, m.unproven = t.Checksum, false
	m.events = image.AppendEvents(m.events[:0], c.world.Events(), nil)
	if m.costs = m.costs[:0]; c.meter != nil {
		c.meter.Turn(t.Tick)
		m.costs = c.meter.AppendCosts(m.costs)
	}
	k := &c.keys[s.key]
	blind := !k.warm && t.Tick-record.LookBack(t.Tick, t.Orders) < k.tick
	if !blind || m.recorded != 0 && m.state.Checksum() == m.recorded {
		return true
	}
	if s.key == 0 { // there is no segment before
		m.unproven = k.tick > 0
		return true
	}
	m.state.Release()
	s.moments = s.moments[:n]
	return false
}

// again simulates the segment before s to its end, and s from its keyframe to tick f.
func (c *Cursor) again(s *segment, f ecs.Tick) (*segment, error) {
	i := s.key
	s.clear()
	if _, err := c.segment(i - 1); err != nil {
		return nil, err
	}
	if err := c.complete(i - 1); err != nil {
		return nil, err
	}
	return c.simulate(i, f)
}

// simulate returns the segment from keyframe i, whose state is known, with tick f.
func (c *Cursor) simulate(i int, f ecs.Tick) (*segment, error) {
	s, err := c.begin(i)
	if err != nil {
		return nil, err
	}
	return c.extend(s, f)
}

// past returns the state of tick f for views that look back in a segment.
func (c *Cursor) past(s *segment, f ecs.Tick) (*image.Snapshot, bool) {
	base := s.base.Tick()
	switch {
	case f > base && f-base <= ecs.Tick(len(s.moments)):
		return &s.moments[f-base-1].state, true
	case f == base:
		return &s.base, true
	}
	past := c.keys[s.key].past
	if len(past) == 0 || f < past[0].Tick() || f-past[0].Tick() >= ecs.Tick(len(past)) {
		return nil, false
	}
	return &past[f-past[0].Tick()], true
}

// hex returns a checksum as 16 hexadecimal digits.
func hex(c image.Checksum) string { return fmt.Sprintf("%016x", uint64(c)) }
