package image

import (
	"encoding/binary"

	"tendon/ecs/fixed"
)

// Placement is what an order of kind OrderMotion carries: where an entity is at the end of the tick, on the word of
// whoever steers it, whatever the systems made of it.
//
// It is for strategies in which a client has the authority over the place of its avatars. The systems have the last word
// all the same: where they move the entity farther than Within in this tick, as a respawn does, it stays there.
type Placement struct {
	Motion
	Within fixed.Num // world units
}

// placementBits are the fractional bits that a Placement carries: more than any step of a position that a game has.
const placementBits = 16

// AppendPlacement appends the payload of an order of kind OrderMotion, at most 61 bytes: position, velocity and Within
// as varints in 1/65536, rounded down to that.
func AppendPlacement(dst []byte, p Placement) []byte {
	for _, n := range p.nums() {
		dst = binary.AppendVarint(dst, int64(n)>>(32-placementBits))
	}
	return dst
}

// ParsePlacement reads the payload of an order of kind OrderMotion; ok is false if AppendPlacement has not written it.
func ParsePlacement(payload []byte) (p Placement, ok bool) {
	var nums [7]fixed.Num
	for i := range nums {
		v, n := binary.Varint(payload)
		const most = 1<<(31+placementBits) - 1
		if n <= 0 || n > 1 && payload[n-1] == 0 || v > most || v < -most-1 {
			return Placement{}, false
		}
		nums[i], payload = fixed.Num(v<<(32-placementBits)), payload[n:]
	}
	p.Pos = fixed.Vec3{X: nums[0], Y: nums[1], Z: nums[2]}
	p.Vel = fixed.Vec3{X: nums[3], Y: nums[4], Z: nums[5]}
	p.Within = nums[6]
	return p, len(payload) == 0 && p.Within >= 0
}

func (p *Placement) nums() [7]fixed.Num {
	return [...]fixed.Num{p.Pos.X, p.Pos.Y, p.Pos.Z, p.Vel.X, p.Vel.Y, p.Vel.Z, p.Within}
}

// placing is an order of kind OrderMotion between its execution, before the systems, and the end of the tick. Those of
// the last tick are kept for Placed.
type placing struct {
	entity Entity
	to     Placement
	from   fixed.Vec3 // before the systems
	done   bool
}

// Plan takes note of an order of kind OrderMotion. What is malformed, or names nothing that has a place, does nothing.
func (im *Image) Plan(e Entity, payload []byte) {
	to, ok := ParsePlacement(payload)
	if at, has := im.Motion(e); ok && has {
		im.placings = append(im.placings, placing{entity: e, to: to, from: at.Pos})
	}
}

// place puts the entities where the tick's orders have them, after the systems.
func (im *Image) place() {
	if len(im.placings) == 0 {
		return
	}
	for i := range im.placings {
		p := &im.placings[i]
		if at, ok := im.Motion(p.entity); ok && at.Pos.Sub(p.from).Len() <= p.to.Within {
			p.done = im.setMotion(p.entity, p.to.Motion)
		}
	}
	im.invalidate() // systems kept derived data in step with where things were
}

// Placed reports whether an order of kind OrderMotion put e somewhere in the last tick: it was there, and the systems did
// not move it farther than the order allows.
func (im *Image) Placed(e Entity) bool {
	for i := range im.placings {
		if im.placings[i].entity == e {
			return im.placings[i].done
		}
	}
	return false
}
