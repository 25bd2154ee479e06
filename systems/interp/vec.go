package interp

import (
	"math"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Vec is a position in world units, or its rate of change per second, as it is drawn: X and Y in the plane, Z the height.
// It never goes back into a simulation.
type Vec struct{ X, Y, Z float64 }

// VecOf returns v for drawing.
func VecOf(v fixed.Vec3) Vec { return Vec{v.X.Float(), v.Y.Float(), v.Z.Float()} }

// Fixed returns the nearest fixed-point vector, for ecs.View.
func (v Vec) Fixed() fixed.Vec3 {
	return fixed.Vec3{X: fixed.FromFloat(v.X), Y: fixed.FromFloat(v.Y), Z: fixed.FromFloat(v.Z)}
}

// Add returns v + w.
func (v Vec) Add(w Vec) Vec { return Vec{v.X + w.X, v.Y + w.Y, v.Z + w.Z} }

// Sub returns v − w.
func (v Vec) Sub(w Vec) Vec { return Vec{v.X - w.X, v.Y - w.Y, v.Z - w.Z} }

// Dot returns v·w.
func (v Vec) Dot(w Vec) float64 { return v.X*w.X + v.Y*w.Y + v.Z*w.Z }

// Scale returns s·v.
func (v Vec) Scale(s float64) Vec { return Vec{v.X * s, v.Y * s, v.Z * s} }

// Lerp returns the point a fraction t of the way from v to w.
func (v Vec) Lerp(w Vec, t float64) Vec { return v.Scale(1 - t).Add(w.Scale(t)) }

// Len returns the length of v.
func (v Vec) Len() float64 { return math.Sqrt(v.X*v.X + v.Y*v.Y + v.Z*v.Z) }

// Motion is where something is, and how it moves: Vel per second, Acc per second squared. Zero Vel or Acc: none known.
type Motion struct{ Pos, Vel, Acc Vec }

// MotionOf returns m for drawing.
func MotionOf(m ecs.Motion) Motion { return Motion{Pos: VecOf(m.Pos), Vel: VecOf(m.Vel)} }

// Fixed returns m for ecs.View; the acceleration is left out.
func (m Motion) Fixed() ecs.Motion { return ecs.Motion{Pos: m.Pos.Fixed(), Vel: m.Vel.Fixed()} }
