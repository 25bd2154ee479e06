package image

import (
	"encoding/binary"

	"tendon/ecs/fixed"
)

// Placement is the payload of an order of kind OrderMotion: position and velocity of an entity at the end of the
// tick. It comes from the client that is authoritative for the entity.
//
// The systems take precedence: if they move the entity farther than Within in this tick, as a respawn does, the
// placement has no effect.
type Placement struct {
	Motion
	Within fixed.Num // world units
}

// placementBits is the number of fractional bits in an encoded Placement.
const placementBits = 16

// AppendPlacement appends the payload of an order of kind OrderMotion, at most 61 bytes: position, velocity and
// Within as varints in units of 1/65536, rounded down.
func AppendPlacement(dst []byte, p Placement) []byte {
	for _, n := range p.nums() {
		dst = binary.AppendVarint(dst, int64(n)>>(32-placementBits))
	}
	return dst
}

// ParsePlacement reads the payload of an order of kind OrderMotion. ok is false if AppendPlacement has not written
// it.
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

// placing is an order of kind OrderMotion from its execution, before the systems, until the next tick. Placed reads
// those of the last tick.
type placing struct {
	entity Entity
	to     Placement
	from   fixed.Vec3 // before the systems
	done   bool
}

// Plan notes an order of kind OrderMotion. It ignores a malformed payload and an entity without a position.
func (im *Image) Plan(e Entity, payload []byte) {
	to, ok := ParsePlacement(payload)
	if at, has := im.Motion(e); ok && has {
		im.placings = append(im.placings, placing{entity: e, to: to, from: at.Pos})
	}
}

// place moves the entities to the positions in the tick's orders, after the systems.
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
	im.invalidate() // systems updated derived data for the positions before
}

// Placed reports whether an order of kind OrderMotion has placed e in the last tick: e existed, and the systems did
// not move it farther than Within.
func (im *Image) Placed(e Entity) bool {
	for i := range im.placings {
		if im.placings[i].entity == e {
			return im.placings[i].done
		}
	}
	return false
}
