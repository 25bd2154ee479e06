package image

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"tendon/ecs/fixed"
)

// Motion returns e's position and velocity in the state, from the first of its components with a Motion role. ok is false
// if e is not in the state or has no such component.
func (s *Snapshot) Motion(e Entity) (m Motion, ok bool) {
	c := s.firstWith(e, func(r *roles) bool { return r.motion != nil })
	if c == nil {
		return Motion{}, false
	}
	return c.roles.motion(s.row(c, e.Owner(), e.Row%regionRows)), true
}

// Motions calls f once for each row that differs, block by block. e is the entity of the row in now, zero if the row is free. m and ok are
// those of Snapshot.Motion.
func (c *Changed) Motions(now *Snapshot, f func(row uint32, e Entity, m Motion, ok bool)) {
	columns := now.image.components()
	for _, at := range c.rows.used {
		first, rows := uint32(at.owner)<<regionShift|at.word*BlockRows, c.rows.words[at.owner][at.word]
		entities := now.reader(now.image.Identity(), at.owner)
		for n := range columns {
			if columns[n].roles.motion == nil {
				continue
			}
			bodies := now.reader(&columns[n], at.owner)
			has := rows & now.word(columns[n].regions[at.owner].bits.number, int(at.word))
			for rows &^= has; has != 0; has &= has - 1 {
				row := first | uint32(bits.TrailingZeros64(has))
				f(row, *(*Entity)(entities.row(row)), columns[n].roles.motion(bodies.row(row)), true)
			}
		}
		for ; rows != 0; rows &= rows - 1 {
			row := first | uint32(bits.TrailingZeros64(rows))
			f(row, *(*Entity)(entities.row(row)), Motion{}, false)
		}
	}
}

// rowReader reads rows of one column and owner. It looks a page up once for consecutive rows of that page.
type rowReader struct {
	state   *Snapshot
	column  *Column
	number  int // of the store
	page    uint32
	content []byte // of the page
}

func (s *Snapshot) reader(c *Column, o Owner) rowReader {
	return rowReader{state: s, column: c, number: c.regions[o].data.number, page: 1<<32 - 1}
}

// row returns the memory of a row, which is Entity.Row.
func (r *rowReader) row(row uint32) unsafe.Pointer {
	i, c := row%regionRows, r.column
	if k := i >> c.shift; k != r.page {
		r.page, r.content = k, r.state.pageOf(r.number, int(k)).content()
	}
	return unsafe.Pointer(unsafe.SliceData(part(r.content, int(i&(1<<c.shift-1))*int(c.stride), int(c.stride))))
}

// firstWith returns the first of e's columns with a role, nil if there is none or e is not in the state.
func (s *Snapshot) firstWith(e Entity, has func(r *roles) bool) *Column {
	if !ExistsAt(s, e) {
		return nil
	}
	columns := s.image.components()
	for n := range columns {
		if c := &columns[n]; has(&c.roles) && s.has(c, e.Owner(), e.Row%regionRows) {
			return c
		}
	}
	return nil
}

// present returns the present state as a snapshot, which follows the image and must not be released.
func (im *Image) present() *Snapshot {
	im.now.tick, im.now.image = im.Tick(), im
	for i := len(im.now.table); i < len(im.live); i++ {
		im.now.table = append(im.now.table, &page{mem: im.live[i].mem[:cap(im.live[i].mem)]})
	}
	return &im.now
}

// Motion returns e's position and velocity in the present state, as Snapshot.Motion does.
func (im *Image) Motion(e Entity) (m Motion, ok bool) { return im.present().Motion(e) }

// SetMotion gives e this position and velocity in every component that has a SetMotion role. It reports whether there was
// one. Call it between ticks, on a client. On a server an order of kind OrderMotion does the same and is recorded.
func (im *Image) SetMotion(e Entity, m Motion) (ok bool) {
	if im.running {
		panic("image: SetMotion in a tick: write the component by a query or Component.Write")
	}
	return im.setMotion(e, m)
}

// Displace moves e by a distance in every component that has a SetMotion role, also inside a tick. It reports whether there
// was one. It is for tools that cause a desync on purpose.
func (im *Image) Displace(e Entity, way fixed.Vec3) (ok bool) {
	m, ok := im.Motion(e)
	m.Pos = m.Pos.Add(way)
	return ok && im.setMotion(e, m)
}

func (im *Image) setMotion(e Entity, m Motion) (ok bool) {
	return im.eachMotion(e, func(r *roles, row unsafe.Pointer) { r.setMotion(row, m) })
}

// eachMotion calls f for every row of e whose component has a SetMotion role, and marks the rows as written. It reports
// whether there was one.
func (im *Image) eachMotion(e Entity, f func(r *roles, row unsafe.Pointer)) (ok bool) {
	if !im.Exists(e) {
		return false
	}
	o, i := e.Owner(), e.Row%regionRows
	columns := im.components()
	for n := range columns {
		if c := &columns[n]; c.roles.setMotion != nil && c.regions[o].has(i) {
			im.markRow(&c.regions[o], c, i)
			f(&c.roles, c.rowOf(&c.regions[o], i))
			ok = true
		}
	}
	if ok {
		im.invalidate()
	}
	return ok
}

// Motions calls f with the position and velocity of each entity that has a component with a Motion role, in the order of
// rows, until f returns false. As in Snapshot.Motion, the first such component counts.
func (im *Image) Motions(f func(e Entity, m Motion) bool) {
	now := im.present()
	for e := range now.Entities {
		if m, ok := now.Motion(e); ok && !f(e, m) {
			return
		}
	}
}

// Placement is the payload of an order of kind OrderMotion: position and velocity of an entity at the end of the tick. It
// comes from the client that is authoritative for the entity.
//
// The systems take precedence: if they move the entity farther than Within in this tick, as a respawn does, the placement
// has no effect.
type Placement struct {
	Motion
	Within fixed.Num // world units
}

const placementBits = 16

// AppendPlacement appends the payload of an order of kind OrderMotion, at most 61 bytes: position, velocity and Within as
// varints in units of 1/65536, rounded down.
func AppendPlacement(dst []byte, p Placement) []byte {
	for _, n := range p.nums() {
		dst = binary.AppendVarint(dst, int64(n)>>(32-placementBits))
	}
	return dst
}

// ParsePlacement reads the payload of an order of kind OrderMotion. ok is false if AppendPlacement has not written it.
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

// placing is an order of kind OrderMotion from its execution, before the systems, until the next tick. Placed reads those
// of the last tick.
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
	for i := range im.placings {
		p := &im.placings[i]
		if at, ok := im.Motion(p.entity); ok && at.Pos.Sub(p.from).Len() <= p.to.Within {
			p.done = im.setMotion(p.entity, p.to.Motion)
		}
	}
}

// Placed reports whether an order of kind OrderMotion has placed e in the last tick: e existed, and the systems did not
// move it farther than Within.
func (im *Image) Placed(e Entity) bool {
	for i := range im.placings {
		if im.placings[i].entity == e {
			return im.placings[i].done
		}
	}
	return false
}
