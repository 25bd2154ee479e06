package record

import (
	"bytes"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Image is the state of a tick as image.Snapshot.AppendImage writes it.
type Image struct {
	Tick  ecs.Tick
	Bytes []byte
}

// ImageOf returns the image of a state.
func ImageOf(s *image.Snapshot) Image { return Image{s.Tick(), s.AppendImage(nil)} }

// Collect returns a record in memory with an end mark. It begins with the state of the first image; ticks are those after
// it, without gaps, and may be none. images ascend. h is as HeaderOf returns it, apart from Start. The error wraps
// ErrUse.
func Collect(g *ecs.Game, h Header, images []Image, ticks []Tick) (*Record, error) {
	if len(images) == 0 {
		return nil, fmt.Errorf("%w: Collect without an image", ErrUse)
	}
	h.Start = Position{Tick: images[0].Tick}
	var file bytes.Buffer
	w, err := NewWriter(&file, g, h)
	for err == nil && len(images)+len(ticks) > 0 {
		switch {
		case len(images) > 0 && images[0].Tick == w.Last():
			err = w.ImageBytes(images[0].Bytes)
			images = images[1:]
		case len(ticks) > 0:
			err = w.Tick(ticks[0])
			ticks = ticks[1:]
		default:
			err = fmt.Errorf("%w: Collect with an image of tick %d, out of order or behind the last tick", ErrUse, images[0].Tick)
		}
	}
	if err == nil {
		err = w.End()
	}
	if err != nil {
		return nil, err
	}
	return Open(file.Bytes(), g)
}

// History keeps the last seconds of a match that is running: every tick, and a state every second, whose pages are
// shared. It belongs to the goroutine that computes the match.
//
// It has the ticks (First, Last] without gaps. A tick that does not follow the last one empties it first.
type History struct {
	game   *ecs.Game
	header Header
	ticks  []ownTick        // slot = tick % len
	states []image.Snapshot // slot = tick / period % len
	period ecs.Tick
	first  ecs.Tick
	last   ecs.Tick // 0: it is empty
}

// ownTick is a tick with memory of its own.
type ownTick struct {
	tick     Tick
	payloads []byte
}

// NewHistory returns an empty history of so many ticks, at least 1. header is as HeaderOf returns it; its Start is ignored.
func NewHistory(g *ecs.Game, header Header, ticks int) *History {
	h := &History{game: g, header: header, ticks: make([]ownTick, ticks), period: ecs.Tick(min(g.TickRate, ticks))}
	// The oldest tick lies in a period whose first state may be overwritten, so one state more than whole periods.
	h.states = make([]image.Snapshot, ecs.Tick(ticks)/h.period+1)
	return h
}

// Add adds a tick and copies its slices. w is the match in the state of that tick; if it is nil or in another tick, no
// state is kept.
func (h *History) Add(t Tick, w *ecs.World) {
	if h.last == 0 || t.Tick != h.last+1 {
		h.Clear()
		h.first = t.Tick - 1
	}
	h.ticks[t.Tick%ecs.Tick(len(h.ticks))].set(&t)
	h.last = t.Tick
	h.first = max(h.first, h.last-min(h.last, ecs.Tick(len(h.ticks))))
	if w != nil && w.Tick() == t.Tick && t.Tick%h.period == 0 {
		w.Image().Save(&h.states[t.Tick/h.period%ecs.Tick(len(h.states))])
	}
}

// set copies a tick into memory that is used again.
func (o *ownTick) set(t *Tick) {
	inputs, orders := append(o.tick.Inputs[:0], t.Inputs...), append(o.tick.Orders[:0], t.Orders...)
	o.tick = *t
	o.tick.Inputs, o.tick.Orders, o.payloads = inputs, orders, o.payloads[:0]
	for i := range orders {
		o.payloads = append(o.payloads, orders[i].Payload...)
	}
	rest := o.payloads
	for i := range orders {
		n := len(orders[i].Payload)
		orders[i].Payload, rest = rest[:n:n], rest[n:]
	}
}

// Clear empties the history, after the match jumped to another state.
func (h *History) Clear() {
	for i := range h.states {
		h.states[i].Release()
	}
	h.first, h.last = 0, 0
}

// First returns the tick before the oldest one.
func (h *History) First() ecs.Tick { return h.first }

// Last returns the newest tick.
func (h *History) Last() ecs.Tick { return h.last }

// Record returns the history as a record, from its oldest state on, or nil if it has no state. It shares nothing with the
// match and compresses two states.
//
// The first ticks of a match with views cannot be verified: the record has no past. The second state verifies the rest.
func (h *History) Record() *Record {
	images := h.oldest(h.last+1, 2)
	if len(images) == 0 {
		return nil
	}
	return h.Between(h.last, nil, images...)
}

// RecordTo returns the history as a record from its oldest state on to a state that the caller has, of Last or before. It
// returns only that state if nothing leads there.
func (h *History) RecordTo(last *image.Snapshot) *Record {
	end := ImageOf(last)
	if r := h.Between(last.Tick(), nil, append(h.oldest(last.Tick(), 1), end)...); r != nil {
		return r
	}
	return h.Between(last.Tick(), nil, end)
}

// oldest returns the images of the oldest states before a tick, at most n.
func (h *History) oldest(before ecs.Tick, n int) (images []Image) {
	for f := (h.first + h.period - 1) / h.period * h.period; f < before && len(images) < n; f += h.period {
		if s := &h.states[f/h.period%ecs.Tick(len(h.states))]; !s.Empty() && s.Tick() == f {
			images = append(images, ImageOf(s))
		}
	}
	return images
}

// Between returns the ticks from the first image to tick to as a record with these images. It returns nil if ticks are
// missing or an image is of another tick. checksum replaces the checksums of the ticks. Optional.
func (h *History) Between(to ecs.Tick, checksum func(ecs.Tick) image.Checksum, images ...Image) *Record {
	start := images[0].Tick
	if to > start && (start < h.first || to > h.last) {
		return nil
	}
	ticks := make([]Tick, 0, to-min(start, to))
	for f := start + 1; f <= to; f++ {
		t := h.ticks[f%ecs.Tick(len(h.ticks))].tick
		if checksum != nil {
			t.Checksum = checksum(f)
		}
		ticks = append(ticks, t)
	}
	r, _ := Collect(h.game, h.header, images, ticks)
	return r
}
