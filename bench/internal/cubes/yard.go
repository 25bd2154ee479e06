// Package cubes is a recording of rigid bodies to measure the compression of state. A large cube rolls through 900 small
// ones at rest, at 60 frames a second. The units are those of G. Fiedler's article "Snapshot Compression"
// (gafferongames.com, 2015): positions in 1/512 m, orientations as the three smallest components of a quaternion in nine
// bits each.
//
// It is no physics engine: bodies touch the floor with their corners and each other as balls.
package cubes

import "math"

// The yard and its rules.
const (
	Bodies        = 901
	Rate          = 60 // frames per second
	side          = 30 // small cubes in a row
	gap           = 0.55
	smallEdge     = 0.4
	largeEdge     = 1.5
	steps         = 4     // of physics in a frame
	gravity       = 9.81  // m/s²
	friction      = 0.8   // of the push between two things
	bounce        = 0.1   // share of the speed that comes back
	slop          = 0.002 // m that things may overlap
	pushOut       = 0.2   // share of an overlap that is corrected in a step
	maxCorrection = 3     // m/s, limit of the correction
	drag          = 0.3   // share of the spin lost per second
	driven        = 7     // m/s
	pulling       = 6     // m/s, of a large cube that pulls
	pullForce     = 40    // m/s²
	pullReach     = 2.2   // m
	jump          = 4     // m/s upwards, of a large cube that pulls
	jumpAfter     = 90    // frames
	stillSpeed    = 0.05  // m/s, rad/s
	sleepAfter    = 15    // frames
)

// yard is the state of all bodies. Body 0 is the large cube, which is driven.
type yard struct {
	kind   Kind
	bodies [Bodies]body
	frame  int
	cells  [64 * 64][]int16 // small cubes by square metre around the middle
}

// newYard returns the yard in which everything is at rest.
func newYard(k Kind) *yard {
	y := &yard{kind: k}
	y.bodies[0] = newBody(vec{-2, -2, largeEdge / 2}, largeEdge)
	for i := 1; i < Bodies; i++ {
		k := i - 1
		y.bodies[i] = newBody(vec{(float64(k%side) - side/2) * gap, (float64(k/side) - side/2) * gap, smallEdge / 2}, smallEdge)
		y.bodies[i].still = sleepAfter
	}
	return y
}

// step advances by a frame.
func (y *yard) step() {
	const h = 1.0 / Rate / steps
	y.frame++
	y.drive()
	for range steps {
		y.sort()
		for i := range y.bodies {
			if b := &y.bodies[i]; !b.asleep() {
				b.vel.z -= gravity * h
				y.pull(i, h)
				b.spin = b.spin.scale(1 - drag*h)
			}
		}
		for range 3 { // so that impulses reach those behind
			for i := range y.bodies {
				if b := &y.bodies[i]; !b.asleep() {
					b.meetFloor(h)
					y.meetOthers(i, h)
				}
			}
		}
		for i := range y.bodies {
			if b := &y.bodies[i]; !b.asleep() {
				b.at = b.at.add(b.vel.scale(h))
				b.turn = b.turn.spun(b.spin, h)
			}
		}
	}
	for i := range y.bodies {
		y.bodies[i].rest()
	}
}

// drive pushes the large cube along a slow figure of eight, with halts.
func (y *yard) drive() {
	b, t := &y.bodies[0], float64(y.frame)/Rate
	b.still = 0
	if y.kind != Rolling && y.frame%jumpAfter == 0 {
		b.vel.z += jump
	}
	if int(t)%12 >= 9 || y.kind == Mixed && int(t)%6 >= 2 {
		return
	}
	want := vec{7.5 * math.Sin(t*0.83), 7.5 * math.Sin(t*0.61+1), 0}.sub(b.at)
	want.z = 0
	speed := float64(driven)
	if y.kind != Rolling {
		speed = pulling
	}
	if l := want.len(); l > 0.1 {
		want = want.scale(speed / l)
		lack := want.sub(vec{b.vel.x, b.vel.y, 0})
		b.push(lack.scale(b.mass*0.12), vec{z: b.half * 0.6})
	}
}

// pull draws a small cube near the large one to it, for h seconds.
func (y *yard) pull(i int, h float64) {
	if y.kind == Rolling || i == 0 {
		return
	}
	b := &y.bodies[i]
	d := y.bodies[0].at.sub(b.at)
	if l := d.len(); l < pullReach {
		b.vel = b.vel.add(d.scale(pullForce * h / l))
	}
}

// rest puts a body to sleep that has not moved for a while.
func (b *body) rest() {
	if b.vel.len() > stillSpeed || b.spin.len() > stillSpeed*3 {
		b.still = 0
		return
	}
	if b.still++; b.asleep() {
		b.vel, b.spin = vec{}, vec{}
	}
}

// meetFloor keeps the corners above the floor.
func (b *body) meetFloor(h float64) {
	if b.at.z > b.half*1.8 {
		return
	}
	up := vec{z: 1}
	for k := range 8 {
		corner := b.turn.turn(vec{b.half * float64(k&1*2-1), b.half * float64(k>>1&1*2-1), b.half * float64(k>>2&1*2-1)})
		deep := -(b.at.z + corner.z)
		if deep <= 0 {
			continue
		}
		speed := b.speedAt(corner)
		correct := min(max(deep-slop, 0)*pushOut/h, maxCorrection)
		if j := (correct - speed.z*(1+bounce)) / b.yield(corner, up); j > 0 {
			j = min(j, b.mass*2)
			b.push(up.scale(j), corner)
			b.rub(corner, up, j)
		}
	}
}

// rub slows what slides along a surface that pushes with impulse j.
func (b *body) rub(at, n vec, j float64) {
	slide := b.speedAt(at).beside(n)
	if l := slide.len(); l > 1e-6 {
		dir := slide.scale(-1 / l)
		b.push(dir.scale(min(friction*j, l/b.yield(at, dir))), at)
	}
}

// cell returns the square metre that a place is in.
func cell(at vec) (x, y int) {
	return min(max(int(at.x+32), 0), 63), min(max(int(at.y+32), 0), 63)
}

func (y *yard) sort() {
	for i := range y.cells {
		y.cells[i] = y.cells[i][:0]
	}
	for i := 1; i < Bodies; i++ {
		cx, cy := cell(y.bodies[i].at)
		y.cells[cy*64+cx] = append(y.cells[cy*64+cx], int16(i))
	}
}

// meetOthers keeps body i out of the small cubes around it.
func (y *yard) meetOthers(i int, h float64) {
	cx, cy := cell(y.bodies[i].at)
	for x := max(cx-2, 0); x <= min(cx+2, 63); x++ {
		for z := max(cy-2, 0); z <= min(cy+2, 63); z++ {
			for _, k := range y.cells[z*64+x] {
				if int(k) != i {
					y.bodies[i].meet(&y.bodies[k], h)
				}
			}
		}
	}
}

// meet keeps two bodies apart. They touch each other as balls, or as upright pillars where one is much larger: the larger
// one pushes the other and does not ride on it.
func (a *body) meet(b *body, h float64) {
	const round = 1.2 // of a ball to the edge of its cube
	apart := b.at.sub(a.at)
	pillar := a.half > 2*b.half || b.half > 2*a.half
	if pillar {
		apart.z = 0
	}
	dist, reach := apart.len(), (a.half+b.half)*round
	if dist >= reach || dist < 1e-9 {
		return
	}
	n := apart.scale(1 / dist)
	onA, onB := n.scale(a.half*round), n.scale(-b.half*round)
	if pillar { // it leans on the upper edge of the small one, which rolls over
		onA.z, onB.z = a.touchHeight(b), b.touchHeight(a)
	}
	speed := b.speedAt(onB).sub(a.speedAt(onA))
	correct := min(max(reach-dist-slop, 0)*pushOut/h, maxCorrection)
	j := (correct - speed.dot(n)*(1+bounce)) / (1/a.mass + 1/b.mass)
	if j <= 0 {
		return
	}
	j = min(j, min(a.mass, b.mass)*16)
	a.push(n.scale(-j), onA)
	b.push(n.scale(j), onB)
	a.rub(onA, n, j/2)
	b.rub(onB, n, j/2)
	if b.vel.len() > stillSpeed {
		b.still = 0
	}
}

// touchHeight returns how high over the middle of a body another one touches it as a pillar: the smaller one at its upper edge.
func (a *body) touchHeight(b *body) float64 {
	if a.half < b.half {
		return a.half * 0.8
	}
	return b.at.z + b.half*0.8 - a.at.z
}
