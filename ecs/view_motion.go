package ecs

import "math/bits"

// Motions calls f for each entity that is shown and has a component with a Motion role, upwards by row, with where it is
// shown and how fast, until f returns false. As in Snapshot.Motion, the first such component speaks for the entity.
func (v *View) Motions(f func(e Entity, m Motion) bool) {
	identity := v.Sim.identity()
	for o := range identity.regions {
		r := &identity.regions[o]
		for k := range r.words {
			for word := r.word(k); word != 0; word &= word - 1 {
				i := uint32(k*blockRows + bits.TrailingZeros64(word))
				if m, ok := v.motionOf(Owner(o), i); ok && !f(*(*Entity)(identity.rowOf(r, i)), m) {
					return
				}
			}
		}
	}
}

func (v *View) motionOf(o Owner, i uint32) (m Motion, ok bool) {
	for n := range v.Sim.image.columns {
		c := &v.Sim.image.columns[n]
		if c.info.roles.motion != nil && c.regions[o].has(i) {
			return c.info.roles.motion(c.rowOf(&c.regions[o], i)), true
		}
	}
	return Motion{}, false
}
