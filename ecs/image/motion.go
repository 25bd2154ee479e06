package image

import (
	"math/bits"
	"unsafe"

	"tendon/ecs/fixed"
)

// Motion returns e's position and velocity in the state, from the first of its components with a Motion role. ok is
// false if e is not in the state or has no such component.
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

// Motion returns e's position and velocity in the present state, as Snapshot.Motion does.
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

// boundsAt returns the radius in which the entity in row i of an owner can be hit, from the first of its components
// with a Bounds role.
func (im *Image) boundsAt(o Owner, i uint32) (radius fixed.Num, ok bool) {
	for n := range im.columns {
		if c := &im.columns[n]; c.info.roles.bounds != nil && c.regions[o].has(i) {
			return c.info.roles.bounds(c.rowOf(&c.regions[o], i)), true
		}
	}
	return 0, false
}

// SetMotion gives e this position and velocity in every component that has a SetMotion role. It reports whether
// there was one. Call it between ticks, on a client. On a server an order of kind OrderMotion does the same and is
// recorded.
func (im *Image) SetMotion(e Entity, m Motion) (ok bool) {
	if im.running {
		panic("image: SetMotion in a tick: write the component by a query or Component.Write")
	}
	if im.Exists(e) && im.setMotion(e, m) {
		im.invalidate()
		return true
	}
	return false
}

// Displace moves e by a distance in every component that has a SetMotion role, also inside a tick. It reports
// whether there was one. It is for tools that cause a desync on purpose.
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

// eachMotion calls f for every row of e whose component has a SetMotion role, and marks the rows as written. e must
// exist.
func (im *Image) eachMotion(e Entity, f func(r *roles, row unsafe.Pointer)) {
	o, i := e.Owner(), e.Row%regionRows
	for n := engineColumns; n < len(im.columns); n++ {
		if c := &im.columns[n]; c.info.roles.setMotion != nil && c.regions[o].has(i) {
			im.markRow(&c.regions[o], c.info, i)
			f(&c.info.roles, c.rowOf(&c.regions[o], i))
		}
	}
}

// Motions calls f with the position and velocity of each entity that has a component with a Motion role, in the
// order of rows, until f returns false. As in Snapshot.Motion, the first such component counts.
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
