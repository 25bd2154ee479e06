package travel

import (
	"errors"
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/recording"
)

// Ring keeps the last seconds of a match that is running: what entered each tick, and a state every second, whose pages
// are shared. It belongs to the goroutine that computes the match, which hands out clips.
//
// The ticks (first, last] are kept without gaps, at most Ticks of them; a tick that does not follow begins anew.
type Ring struct {
	config  RingConfig
	entries []kept           // slot = tick % len
	states  []image.Snapshot // slot = tick / period % len
	period  ecs.Tick
	first   ecs.Tick
	last    ecs.Tick
	begun   bool
}

// kept is an entry with memory of its own.
type kept struct {
	entry    recording.Entry
	payloads []byte
}

// RingConfig describes a Ring. Header and Ticks are required.
type RingConfig struct {
	// Header says what match it is, as recording.HeaderOf has it; Start counts for nothing.
	Header recording.Header
	// Ticks is how many ticks are kept, in [1, 65536].
	Ticks int
}

// maxRingTicks bounds a ring: 18 minutes at 60 ticks a second.
const maxRingTicks = 1 << 16

// ErrRing is wrapped by every error about a RingConfig.
var ErrRing = errors.New("travel: bad RingConfig")

// NewRing returns an empty ring.
func NewRing(c RingConfig) (*Ring, error) {
	switch {
	case c.Header.TickRate < 1:
		return nil, fmt.Errorf("%w: Header.TickRate is %d: take recording.HeaderOf", ErrRing, c.Header.TickRate)
	case c.Ticks < 1 || c.Ticks > maxRingTicks:
		return nil, fmt.Errorf("%w: Ticks is %d, want 1 to %d", ErrRing, c.Ticks, maxRingTicks)
	}
	r := &Ring{config: c, entries: make([]kept, c.Ticks), period: min(ecs.Tick(c.Header.TickRate), ecs.Tick(c.Ticks))}
	// The oldest tick that is kept lies in a period whose beginning may be gone, so one state more than whole periods.
	r.states = make([]image.Snapshot, ecs.Tick(c.Ticks)/r.period+1)
	return r, nil
}

// Take keeps a tick. w is the match in the state of that tick; one that is nil or in another tick leaves the state out.
// e's slices are copied. A checksum of 0 is not known.
func (r *Ring) Take(e recording.Entry, w *ecs.World) {
	if !r.begun || e.Tick != r.last+1 {
		r.Clear()
		r.begun, r.first = true, e.Tick-1
	}
	k := &r.entries[e.Tick%ecs.Tick(len(r.entries))]
	k.take(&e)
	r.last = e.Tick
	r.first = max(r.first, r.last-min(r.last, ecs.Tick(len(r.entries))))
	if w != nil && w.Tick() == e.Tick && e.Tick%r.period == 0 {
		w.Image().Save(&r.states[e.Tick/r.period%ecs.Tick(len(r.states))])
	}
}

// take copies an entry into memory that is used again.
func (k *kept) take(e *recording.Entry) {
	inputs, orders := append(k.entry.Inputs[:0], e.Inputs...), append(k.entry.Orders[:0], e.Orders...)
	k.entry = *e
	k.entry.Inputs, k.entry.Orders, k.payloads = inputs, orders, k.payloads[:0]
	for i := range orders {
		k.payloads = append(k.payloads, orders[i].Payload...)
	}
	rest := k.payloads
	for i := range orders {
		n := len(orders[i].Payload)
		orders[i].Payload, rest = rest[:n:n], rest[n:]
	}
}

// Clear forgets everything, after the match jumped to another state.
func (r *Ring) Clear() {
	for i := range r.states {
		r.states[i].Release()
	}
	r.begun, r.first, r.last = false, 0, 0
}

// First returns the tick behind which all ticks up to Last are kept.
func (r *Ring) First() ecs.Tick { return r.first }

// Last returns the last tick that was taken.
func (r *Ring) Last() ecs.Tick { return r.last }

// Clip returns a copy of what is kept, from the oldest state on; nil as long as there is none. It costs the copy of two
// states and is meant to be asked for now and then.
//
// Where players' views look back, ticks soon behind the first state are Unproven until the second.
func (r *Ring) Clip() *Clip {
	var images []Image
	for f := (r.first + r.period - 1) / r.period * r.period; r.begun && f <= r.last && len(images) < 2; f += r.period {
		if s := &r.states[f/r.period%ecs.Tick(len(r.states))]; !s.Empty() && s.Tick() == f {
			images = append(images, ImageOf(s))
		}
	}
	if len(images) == 0 {
		return nil
	}
	return r.Between(r.last, images...)
}

// ClipTo returns a copy of what is kept, from the oldest state on to a state that the ring's owner has, of Last or
// before; only that state if nothing leads there.
func (r *Ring) ClipTo(last *image.Snapshot) *Clip {
	end := ImageOf(last)
	for f := (r.first + r.period - 1) / r.period * r.period; r.begun && f < last.Tick(); f += r.period {
		if s := &r.states[f/r.period%ecs.Tick(len(r.states))]; !s.Empty() && s.Tick() == f {
			if c := r.Between(end.Tick, ImageOf(s), end); c != nil {
				return c
			}
		}
	}
	return NewClip(r.config.Header, []Image{end}, nil)
}

// Between returns what is kept from the first image on up to tick to as a clip with these images, which ascend; nil if it
// is not kept without gaps. It is for who has states of its own.
func (r *Ring) Between(to ecs.Tick, images ...Image) *Clip {
	if len(images) == 0 {
		return nil
	}
	start := images[0].Tick
	if to > start && (!r.begun || start < r.first || to > r.last) {
		return nil
	}
	entries := []recording.Entry{}
	for f := start + 1; f <= to; f++ {
		e := r.entries[f%ecs.Tick(len(r.entries))].entry
		e.Inputs, e.Orders = slices.Clone(e.Inputs), slices.Clone(e.Orders)
		for i := range e.Orders {
			e.Orders[i].Payload = slices.Clone(e.Orders[i].Payload)
		}
		entries = append(entries, e)
	}
	return NewClip(r.config.Header, images, entries)
}
