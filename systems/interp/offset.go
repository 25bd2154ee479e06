package interp

import (
	"fmt"
	"math"
)

// Offset smooths a correction in the view: it is the distance between the shown and the corrected place. It starts as large
// as the correction, so that nothing jumps, and decays. The state itself is never smoothed.
type Offset struct {
	config OffsetConfig
	value  Vec
	snaps  uint64
}

// OffsetConfig says how an offset fades. The zero value is Glenn Fiedler's ("Networked Physics", 2004; "State
// Synchronization", 2015) for a world in metres.
type OffsetConfig struct {
	// Unit is how many world units make a metre, > 0. Zero: 1.
	Unit float64
	// Snap is the largest offset, in world units; what would be larger jumps. Zero: 2 m.
	Snap float64
	// NoBlend lets every correction jump, as fighting games do.
	NoBlend bool
}

// How an offset fades: to keep of it per sixtieth of a second, slowly where it is small and fast where it is large.
const (
	keepSmall = 0.95
	keepLarge = 0.85
	small     = 0.25  // metres
	large     = 1.0   // metres
	invisible = 0.001 // metres
	snapping  = 2.0   // metres
)

// NewOffset returns an offset of zero.
func NewOffset(c OffsetConfig) (Offset, error) {
	if c.Unit == 0 {
		c.Unit = 1
	}
	if c.Snap == 0 {
		c.Snap = snapping * c.Unit
	}
	switch {
	case !(c.Unit > 0) || math.IsInf(c.Unit, 0):
		return Offset{}, fmt.Errorf("interp: Unit is %v, must be > 0", c.Unit)
	case !(c.Snap > 0):
		return Offset{}, fmt.Errorf("interp: Snap is %v, must be > 0", c.Snap)
	}
	return Offset{config: c}, nil
}

// Add adds a correction: shown − corrected, both without the offset. It reports whether the offset became too large, so that
// the view jumps.
func (o *Offset) Add(correction Vec) (snapped bool) {
	if o.config.NoBlend {
		return false
	}
	o.value = o.value.Add(correction)
	if o.value.Len() <= o.config.Snap {
		return false
	}
	o.Clear()
	o.snaps++
	return true
}

// Fade lets a time go by, in seconds ≥ 0. most > 0 bounds by how much the offset gets smaller, in world units: an entity
// that moves by more meanwhile is not seen to go backwards. Zero: no bound.
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

// keep is the share of an offset that is kept for a sixtieth of a second; size is in metres.
func keep(size float64) float64 {
	t := min(max((size-small)/(large-small), 0), 1)
	return keepSmall + t*(keepLarge-keepSmall)
}

// Value is what to add to where the entity is.
func (o *Offset) Value() Vec { return o.value }

// Clear lets the offset jump to zero, for a teleport.
func (o *Offset) Clear() { o.value = Vec{} }

// Snaps returns how often an offset got too large.
func (o *Offset) Snaps() uint64 { return o.snaps }
