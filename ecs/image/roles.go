package image

import (
	"unsafe"

	"tendon/ecs/fixed"
)

// Roles say what sync strategies must know of a component. All fields are optional; a strategy that needs one refuses
// a game in which no component has it, and names the role.
type Roles[T any] struct {
	// Lerp returns the value a fraction t ∈ [0, 1] of the way from a to b, for drawing. Without it a view shows b.
	Lerp func(a, b T, t float64) T
	// Motion reads position (world units) and velocity (world units per second).
	Motion func(*T) Motion
	// SetMotion stores position and velocity.
	SetMotion func(*T, Motion)
	// Quantise rounds a value to what the wire can carry: what it has rounded, it leaves alone. World.Step applies it to
	// what was written, at the end of a tick, before fields are rounded to their steps.
	Quantise func(*T)
	// Tolerance is δ, the difference in position up to which a prediction counts as right, in world units. Zero: exact.
	Tolerance fixed.Num
	// Bounds returns what of the entity can be hit: a circle around Motion's position, radius in world units.
	Bounds func(*T) fixed.Num
	// Priority weighs entities that have the component when a byte budget is short: one of 4 is told of four times as often
	// as one of 1, be that once a second at least. The largest of an entity's components counts. Zero: 1. Not negative.
	Priority float32
	// ConfirmedOnly components are shown as the last confirmed tick has them, never as predicted.
	ConfirmedOnly bool
}

// Motion is a position and a velocity in the plane plus height.
type Motion struct {
	Pos, Vel fixed.Vec3
}

// roles is Roles without the type.
type roles struct {
	lerp          func(dst, a, b unsafe.Pointer, t float64)
	motion        func(unsafe.Pointer) Motion
	motionBetween func(a, b unsafe.Pointer, t float64) Motion // nil without both Lerp and Motion
	bounds        func(unsafe.Pointer) fixed.Num
	setMotion     func(unsafe.Pointer, Motion)
	quantise      func(unsafe.Pointer)
	tolerance     fixed.Num
	priority      float32
	confirmedOnly bool
}

func (r Roles[T]) erase() roles {
	e := roles{tolerance: r.Tolerance, priority: r.Priority, confirmedOnly: r.ConfirmedOnly}
	if r.Lerp != nil {
		e.lerp = func(dst, a, b unsafe.Pointer, t float64) { *(*T)(dst) = r.Lerp(*(*T)(a), *(*T)(b), t) }
	}
	if r.Motion != nil {
		e.motion = func(p unsafe.Pointer) Motion { return r.Motion((*T)(p)) }
	}
	if r.Motion != nil && r.Lerp != nil {
		e.motionBetween = func(a, b unsafe.Pointer, t float64) Motion {
			v := r.Lerp(*(*T)(a), *(*T)(b), t)
			return r.Motion(&v)
		}
	}
	if r.Bounds != nil {
		e.bounds = func(p unsafe.Pointer) fixed.Num { return r.Bounds((*T)(p)) }
	}
	if r.SetMotion != nil {
		e.setMotion = func(p unsafe.Pointer, m Motion) { r.SetMotion((*T)(p), m) }
	}
	if r.Quantise != nil {
		e.quantise = func(p unsafe.Pointer) { r.Quantise((*T)(p)) }
	}
	return e
}
