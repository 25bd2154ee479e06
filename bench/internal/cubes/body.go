package cubes

import "math"

// vec is a vector in metres, or metres or radians per second.
type vec struct{ x, y, z float64 }

func (a vec) add(b vec) vec           { return vec{a.x + b.x, a.y + b.y, a.z + b.z} }
func (a vec) sub(b vec) vec           { return vec{a.x - b.x, a.y - b.y, a.z - b.z} }
func (a vec) scale(f float64) vec     { return vec{a.x * f, a.y * f, a.z * f} }
func (a vec) dot(b vec) float64       { return a.x*b.x + a.y*b.y + a.z*b.z }
func (a vec) len() float64            { return math.Sqrt(a.dot(a)) }
func (a vec) cross(b vec) vec         { return vec{a.y*b.z - a.z*b.y, a.z*b.x - a.x*b.z, a.x*b.y - a.y*b.x} }
func (a vec) beside(n vec) (part vec) { return a.sub(n.scale(a.dot(n))) }

// quat is a rotation, a quaternion of length 1.
type quat struct{ w, x, y, z float64 }

// turn rotates v.
func (q quat) turn(v vec) vec {
	u := vec{q.x, q.y, q.z}
	t := u.cross(v).scale(2)
	return v.add(t.scale(q.w)).add(u.cross(t))
}

// spun returns the rotation after turning at rate r, in radians per second, for h seconds.
func (q quat) spun(r vec, h float64) quat {
	h /= 2
	n := quat{
		q.w - h*(r.x*q.x+r.y*q.y+r.z*q.z),
		q.x + h*(r.x*q.w+r.y*q.z-r.z*q.y),
		q.y + h*(r.y*q.w+r.z*q.x-r.x*q.z),
		q.z + h*(r.z*q.w+r.x*q.y-r.y*q.x),
	}
	l := 1 / math.Sqrt(n.w*n.w+n.x*n.x+n.y*n.y+n.z*n.z)
	return quat{n.w * l, n.x * l, n.y * l, n.z * l}
}

// body is a cube. A cube turns equally easily around every axis, so its inertia is one number.
type body struct {
	at, vel, spin vec
	turn          quat
	half          float64 // of the edge, m
	mass, inertia float64 // kg, kg·m²
	still         int     // frames without motion; asleep from sleepAfter on
}

func newBody(at vec, edge float64) body {
	mass := edge * edge * edge
	return body{at: at, turn: quat{w: 1}, half: edge / 2, mass: mass, inertia: mass * edge * edge / 6}
}

func (b *body) asleep() bool { return b.still >= sleepAfter }

// push changes the motion by an impulse at a place relative to the middle.
func (b *body) push(impulse, at vec) {
	b.vel = b.vel.add(impulse.scale(1 / b.mass))
	b.spin = b.spin.add(at.cross(impulse).scale(1 / b.inertia))
}

// speedAt returns the velocity of a place relative to the middle.
func (b *body) speedAt(at vec) vec { return b.vel.add(b.spin.cross(at)) }

// yield is how much a place gives way to an impulse along n, in (m/s)/(N·s).
func (b *body) yield(at, n vec) float64 {
	arm := at.cross(n)
	return 1/b.mass + arm.dot(arm)/b.inertia
}
