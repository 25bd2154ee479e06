package ecs

import (
	"unsafe"

	"tendon/ecs/fixed"
)

// Compose begins a picture of several timelines: the rows of own are shown as Update shows them, all others as remote
// has them, the state of a server as it was a while ago. Resources, players and inputs are cur's. An empty cur shows all
// as remote has it, with its resources; an empty remote shows only own rows.
//
// What follows puts single entities where their own timelines have them (Blend, Move, Shift, Hide); Dress ends the
// picture. All snapshots are of one world, and as with Update they may be released at once.
func (v *View) Compose(prev, cur, confirmed *Snapshot, alpha float64, remote *Snapshot, own *RowSet) {
	v.show(shown{prev: prev, cur: cur, confirmed: confirmed, remote: remote, own: own}, alpha)
}

// Blend shows e a fraction t ∈ [0, 1] of the way from state a to state b: a component with a Lerp role has the value
// between the two if e has it in both, else b's. What e does not have in b, or is not shown with, stays as it is.
func (v *View) Blend(e Entity, a, b *Snapshot, t float64) {
	v.mustShow(a)
	v.mustShow(b)
	if !v.Sim.exists(e) || !ExistsAt(b, e) {
		return
	}
	o, i, inBoth := e.Owner(), e.Row%regionRows, ExistsAt(a, e)
	t = min(max(t, 0), 1)
	for n := engineColumns; n < len(v.Sim.image.columns); n++ {
		c := &v.Sim.image.columns[n]
		if c.info.single || c.info.stride == 0 || !c.regions[o].has(i) || !b.has(c, o, i) {
			continue
		}
		v.Sim.image.markRow(&c.regions[o], c.info, i)
		dst, to := c.rowOf(&c.regions[o], i), b.row(c, o, i)
		if lerp := c.info.roles.lerp; lerp != nil && inBoth && a.has(c, o, i) {
			lerp(dst, a.row(c, o, i), to, t)
		} else {
			copy(unsafe.Slice((*byte)(dst), c.info.stride), unsafe.Slice((*byte)(to), c.info.stride))
		}
	}
}

// Move shows e with this position and velocity, in every component that has a SetMotion role.
func (v *View) Move(e Entity, m Motion) {
	if v.Sim.exists(e) {
		v.Sim.setMotion(e, m)
	}
}

// Shift shows e this far, in world units, from where it would be shown, in every component that has both roles Motion
// and SetMotion. Shifts of one picture add up.
func (v *View) Shift(e Entity, by fixed.Vec3) {
	if !v.Sim.exists(e) {
		return
	}
	v.Sim.eachMotion(e, func(r *roles, row unsafe.Pointer) {
		if r.motion != nil {
			m := r.motion(row)
			m.Pos = m.Pos.Add(by)
			r.setMotion(row, m)
		}
	})
}

// Hide takes e out of the picture. What Dress gave it is gone; it is dressed anew when it is shown again.
func (v *View) Hide(e Entity) {
	if v.Sim.exists(e) {
		v.Sim.clearRow(e.Owner(), e.Row%regionRows)
		v.Sim.structure.changes++
	}
}

// Dress ends a picture that Compose began: World is brought in step with Sim, and the game dresses the entities that
// were not shown before, in the order of rows.
func (v *View) Dress() {
	v.Sim.invalidate()
	b := v.Sim.bring()
	if dress := v.Sim.game.Screen.Dress; dress != nil {
		for _, e := range b.appeared {
			if entry := v.Sim.Entry(e); entry != nil { // else it was hidden again
				dress(v, entry)
			}
		}
	}
	b.appeared = b.appeared[:0]
}

// mustShow panics if a snapshot is of another world than those that are shown.
func (v *View) mustShow(s *Snapshot) {
	if !s.Empty() && (s.image != v.source || s.image.fingerprint != v.Sim.image.fingerprint) {
		panic("ecs: a View of snapshots of several worlds or of another game: pass snapshots that one world of the view's game saved")
	}
}
