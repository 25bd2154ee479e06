package interp

import "math"

// Offset smooths a correction in the view: it is the distance between the shown and the corrected place. It starts as large
// as the correction, so that nothing jumps, and decays. The state itself is never smoothed.
type Offset struct {
	config OffsetConfig
	value  Vec
}

// OffsetConfig is the decay of an offset. The zero value is Glenn Fiedler's ("Networked Physics", 2004; "State
// Synchronization", 2015) for a world in metres.
type OffsetConfig struct {
	// Unit is how many world units make a metre, > 0. Zero: 1.
	Unit float64
	// Snap is the largest offset, in world units, > 0. A larger one jumps. Zero: 2 m.
	Snap float64
	// NoBlend lets every correction jump, as fighting games do.
	NoBlend bool
}

// The decay of an offset, as the part that stays after a sixtieth of a second: slow for small offsets, fast for large ones.
const (
	keepSmall = 0.95
	keepLarge = 0.85
	small     = 0.25  // metres
	large     = 1.0   // metres
	invisible = 0.001 // metres
	snapping  = 2.0   // metres
)

// NewOffset returns an offset of zero.
func NewOffset(c OffsetConfig) Offset {
	if c.Unit == 0 {
		c.Unit = 1
	}
	if c.Snap == 0 {
		c.Snap = snapping * c.Unit
	}
	return Offset{config: c}
}

// Add adds a correction: shown − corrected, both without the offset. An offset that becomes too large is cleared, so that
// the view jumps.
func (o *Offset) Add(correction Vec) {
	if o.config.NoBlend {
		return
	}
	if o.value = o.value.Add(correction); o.value.Len() > o.config.Snap {
		o.Clear()
	}
}

// Fade lets the offset decay for a time, in seconds ≥ 0, by at most most world units. An entity that moves by more meanwhile
// is not seen to go backwards. most = 0 means no bound.
func (o *Offset) Fade(seconds, most float64) {
	size := o.value.Len()
	if size == 0 {
		return
	}
	left := size * math.Pow(keep(size/o.config.Unit), seconds*60)
	if most > 0 {
		left = max(left, size-most)
	}
	if left < invisible*o.config.Unit {
		o.Clear()
		return
	}
	o.value = o.value.Scale(left / size)
}

// keep returns the part of an offset that stays after a sixtieth of a second; size is in metres.
func keep(size float64) float64 {
	t := min(max((size-small)/(large-small), 0), 1)
	return keepSmall + t*(keepLarge-keepSmall)
}

// Value returns the offset to add to the position of the entity.
func (o *Offset) Value() Vec { return o.value }

// Clear removes the offset at once, for a teleport.
func (o *Offset) Clear() { o.value = Vec{} }
