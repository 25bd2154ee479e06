package interp

import "math"

// Offset smooths a correction in the view: it is the distance between the shown and the corrected place. It starts as large
// as the correction, so that nothing jumps, and decays. The state itself is never smoothed. One world unit is a metre.
type Offset struct {
	smoothing Smoothing
	value     Vec
}

// Smoothing is how corrections are shown. Those of more than 2 m jump.
type Smoothing uint8

// The ways.
const (
	// Decaying lets an offset decay, large ones faster (Glenn Fiedler, "State Synchronization", 2015).
	Decaying Smoothing = iota
	// Stepping takes a tenth of an offset away each sixtieth of a second, and leaves what is within 0.1 m as it is (Glenn
	// Fiedler, "Networked Physics", 2004).
	Stepping
	// Projective leads remote entities on by projective velocity blending, so that vehicles do not slide sideways. Predicted
	// entities have decaying offsets.
	Projective
	// Jumping shows every correction at once, as fighting games do.
	Jumping
	// Gliding never jumps. It is for an entity that changes its timeline, however far it then moves.
	Gliding
)

// The decay of an offset, as the part that stays after a sixtieth of a second: slow for small offsets, fast for large ones.
const (
	keepSmall = 0.95
	keepLarge = 0.85
	keepStep  = 0.9
	small     = 0.25  // metres
	large     = 1.0   // metres
	invisible = 0.001 // metres
	ignored   = 0.1   // metres, by Stepping
	snapping  = 2.0   // metres
)

// NewOffset returns an offset of zero.
func NewOffset(s Smoothing) Offset { return Offset{smoothing: s} }

// Add adds a correction: shown − corrected, both without the offset. An offset that becomes too large is cleared, so that
// the view jumps.
func (o *Offset) Add(correction Vec) {
	o.value = o.value.Add(correction)
	if o.smoothing == Jumping || o.smoothing != Gliding && o.value.Len() > snapping {
		o.Clear()
	}
}

// Fade lets the offset decay for a time, in seconds ≥ 0, by at most most world units. An entity that moves by more meanwhile
// is not seen to go backwards. most = 0 means no bound.
func (o *Offset) Fade(seconds, most float64) {
	size := o.value.Len()
	if size == 0 || o.smoothing == Stepping && size <= ignored {
		return
	}
	left := size * math.Pow(o.keep(size), seconds*60)
	if most > 0 {
		left = max(left, size-most)
	}
	if left < invisible {
		o.Clear()
		return
	}
	o.value = o.value.Scale(left / size)
}

// keep returns the part of an offset that stays after a sixtieth of a second.
func (o *Offset) keep(size float64) float64 {
	if o.smoothing == Stepping {
		return keepStep
	}
	t := min(max((size-small)/(large-small), 0), 1)
	return keepSmall + t*(keepLarge-keepSmall)
}

// Value returns the offset to add to the position of the entity.
func (o *Offset) Value() Vec { return o.value }

// Clear removes the offset at once, for a teleport.
func (o *Offset) Clear() { o.value = Vec{} }
