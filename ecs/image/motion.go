package image

import (
	"math/bits"
	"unsafe"

	"tendon/ecs/fixed"
)

// Motion returns where e is in the state that s holds, and how fast it moves, as the first of its components with a
// Motion role has it; ok is false if e is not in the state or has no such component.
func (s *Snapshot) Motion(e Entity) (m Motion, ok bool) {
	if !ExistsAt(s, e) {
		return Motion{}, false
	}
	o, i := e.Owner(), e.Row%regionRows
	for n := range s.image.columns {
		if c := &s.image.columns[n]; c.info.roles.motion != nil && s.has(c, o, i) {
			return c.info.roles.motion(s.row(c, o, i)), true
		}
	}
	return Motion{}, false
}

// Motion returns where e is and how fast it moves, as Snapshot.Motion does for the present state.
func (im *Image) Motion(e Entity) (m Motion, ok bool) {
	if !im.Exists(e) {
		return Motion{}, false
	}
	return im.motionAt(e.Owner(), e.Row%regionRows)
}

// motionAt returns the motion of the entity in row i of an owner.
func (im *Image) motionAt(o Owner, i uint32) (m Motion, ok bool) {
	for n := range im.columns {
		if c := &im.columns[n]; c.info.roles.motion != nil && c.regions[o].has(i) {
			return c.info.roles.motion(c.rowOf(&c.regions[o], i)), true
		}
	}
	return Motion{}, false
}

// boundsAt returns the radius of what can be hit of the entity in row i of an owner, as the first of its components with a
// Bounds role has it.
func (im *Image) boundsAt(o Owner, i uint32) (radius fixed.Num, ok bool) {
	for n := range im.columns {
		if c := &im.columns[n]; c.info.roles.bounds != nil && c.regions[o].has(i) {
			return c.info.roles.bounds(c.rowOf(&c.regions[o], i)), true
		}
	}
	return 0, false
}

// SetMotion gives e this position and velocity in every component that has a SetMotion role; it reports whether there
// was one. Call it between ticks, on a client: on a server, an order of kind OrderMotion does the same and is recorded.
func (im *Image) SetMotion(e Entity, m Motion) (ok bool) {
	if im.running {
		panic("ecs: SetMotion in a tick: write the component, which a query or Component.Write gives you")
	}
	if im.Exists(e) && im.setMotion(e, m) {
		im.invalidate()
		return true
	}
	return false
}

// Displace moves e by a way in every component that has a SetMotion role, in a tick too; it reports whether there was one.
// It is for tools that cause a desync on purpose: a game that moves something on one peer alone has one.
func (im *Image) Displace(e Entity, way fixed.Vec3) (ok bool) {
	m, ok := im.Motion(e)
	if !ok {
		return false
	}
	m.Pos = m.Pos.Add(way)
	if ok = im.setMotion(e, m); ok {
		im.invalidate()
	}
	return ok
}

func (im *Image) setMotion(e Entity, m Motion) (ok bool) {
	im.eachMotion(e, func(r *roles, row unsafe.Pointer) {
		r.setMotion(row, m)
		ok = true
	})
	return ok
}

// eachMotion calls f for every row of e, which exists, whose component has a SetMotion role. The rows count as written.
func (im *Image) eachMotion(e Entity, f func(r *roles, row unsafe.Pointer)) {
	o, i := e.Owner(), e.Row%regionRows
	for n := engineColumns; n < len(im.columns); n++ {
		if c := &im.columns[n]; c.info.roles.setMotion != nil && c.regions[o].has(i) {
			im.markRow(&c.regions[o], c.info, i)
			f(&c.info.roles, c.rowOf(&c.regions[o], i))
		}
	}
}

// Motions calls f for each entity that has a component with a Motion role, upwards by row, with where it is
// and how fast it moves, until f returns false. As in Snapshot.Motion, the first such component speaks for the entity.
func (im *Image) Motions(f func(e Entity, m Motion) bool) {
	identity := im.identity()
	for o := range identity.regions {
		r := &identity.regions[o]
		for k := range r.words {
			for word := r.word(k); word != 0; word &= word - 1 {
				i := uint32(k*blockRows + bits.TrailingZeros64(word))
				if m, ok := im.motionAt(Owner(o), i); ok && !f(*(*Entity)(identity.rowOf(r, i)), m) {
					return
				}
			}
		}
	}
}
