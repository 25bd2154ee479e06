package inputs

import (
	"math"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems"
)

// MarginUnit is the resolution of margins on the wire.
const MarginUnit = 64

// Margin is the time by which an input arrived before the server needed it, in 1/MarginUnit of a tick. A late input has a
// negative margin.
type Margin struct {
	Tick  ecs.Tick
	Value int16
}

// Append writes a margin.
func (m Margin) Append(w *wire.Writer) {
	w.U32(uint32(m.Tick))
	w.U16(uint16(m.Value))
}

// ReadMargin reads a margin of a tick near another.
func ReadMargin(r *wire.Reader, near ecs.Tick) Margin {
	return Margin{Tick: ecs.Tick(wire.Expand32(uint64(near), r.U32())), Value: int16(r.U16())}
}

// Grid holds the times at which a server's ticks are due.
type Grid struct {
	Tick  systems.Time // length of a tick
	Due   systems.Time // when the last tick was due
	Timed bool         // Due is set; else nothing is measured
}

// Arrival is the time of a message: Past ticks after tick Done, the last computed one, was due.
type Arrival struct {
	Done  ecs.Tick
	Past  float64
	Timed bool // Past is set; else nothing is measured
}

// Arrival returns the arrival of a message at time now, after tick done.
func (g *Grid) Arrival(done ecs.Tick, now systems.Time) Arrival {
	return Arrival{Done: done, Past: float64(now-g.Due) / float64(g.Tick), Timed: g.Timed}
}

// measure records the margin of the input of tick f.
func (b *Buffer) measure(f ecs.Tick, at Arrival) {
	early := float64(f) - float64(at.Done) - at.Past
	if !b.hasMean {
		b.mean, b.hasMean = early, true
	}
	b.mean += 0.1 * (early - b.mean)
	value := int16(min(max(math.Round(early*MarginUnit), math.MinInt16), math.MaxInt16))
	if !b.hasWorst || value < b.worst.Value {
		b.worst, b.hasWorst = Margin{Tick: f, Value: value}, true
	}
}

// Worst returns the worst margin since the last PopWorst; ok is false if none was measured.
func (b *Buffer) Worst() (worst Margin, ok bool) { return b.worst, b.hasWorst }

// PopWorst returns the worst margin since its last call, and resets it; ok is false if none was measured.
func (b *Buffer) PopWorst() (worst Margin, ok bool) {
	worst, ok = b.Worst()
	b.worst, b.hasWorst = Margin{}, false
	return worst, ok
}

// MeanMargin returns the smoothed margin in ticks, 0 before the first measurement.
func (b *Buffer) MeanMargin() float64 { return b.mean }
