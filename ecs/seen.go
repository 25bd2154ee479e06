package ecs

import (
	"encoding/binary"
	"math/bits"

	"tendon/ecs/fixed"
)

// ViewStamp is a moment that a player saw: Part/256 of the way from State(Tick) to State(Tick+1). A zero Tick is the
// present, whatever Part says.
type ViewStamp struct {
	Tick Tick
	Part uint8
}

// MaxViewTicks is how far back a stamp can lie. World.Step passes over an older one, so that whoever plays a match
// again needs no more of its past than this.
const MaxViewTicks = 1024

// AppendViewStamp appends what an order of kind OrderView carries, at most 11 bytes: the tick as a uvarint, then the
// part.
func AppendViewStamp(dst []byte, v ViewStamp) []byte {
	return append(binary.AppendUvarint(dst, uint64(v.Tick)), v.Part)
}

// ParseViewStamp reads the payload of an order of kind OrderView; ok is false if AppendViewStamp has not written it.
func ParseViewStamp(payload []byte) (v ViewStamp, ok bool) {
	tick, n := binary.Uvarint(payload)
	if n <= 0 || n > 1 && payload[n-1] == 0 || len(payload) != n+1 {
		return ViewStamp{}, false
	}
	return ViewStamp{Tick: Tick(tick), Part: payload[n]}, true
}

// sight is what players saw when they did what they do in the running tick. views is empty between ticks.
type sight struct {
	past  func(Tick) (*Snapshot, bool)
	views []view // index = Player; made with the first stamp that counts
	set   PlayerSet
}

// view is a stamp and the states around it, which are the same where Part is 0.
type view struct {
	stamp    ViewStamp
	from, to *Snapshot
}

// SetPast says where older states are read: a server's ring of snapshots that this world saved, one of each tick. nil,
// the default: there is no past, and stamps mean nothing. Snapshots that past returns must stay as they are until the
// end of a Step.
func (w *World) SetPast(past func(Tick) (*Snapshot, bool)) { w.sight.past = past }

// Past returns the state of an older tick for systems that look at what was seen; ok is false if it is not held or
// further back than MaxViewTicks.
func (w *World) Past(f Tick) (s *Snapshot, ok bool) {
	now := w.Tick()
	if w.sight.past == nil || f >= now || now-f > MaxViewTicks {
		return nil, false
	}
	s, ok = w.sight.past(f)
	if !ok || s.Empty() || s.tick != f || s.image != w.image {
		return nil, false
	}
	return s, true
}

// ViewOf returns the moment that p saw when doing what p does in the running tick; ok is false where that is the
// present. It comes from an order of kind OrderView in this tick and is gone when the tick is over.
func (w *World) ViewOf(p Player) (v ViewStamp, ok bool) {
	if !w.sight.set.Has(p) {
		return ViewStamp{}, false
	}
	return w.sight.views[p].stamp, true
}

// setView makes what the payload says p's view of the running tick. A stamp that is malformed, of a moment that has
// not been or that the past does not hold makes it the present: a server stamps what it holds, so such a stamp is none
// that it has judged by.
func (w *World) setView(p Player, payload []byte) {
	w.sight.set &^= 1 << p
	v, ok := ParseViewStamp(payload)
	if !ok || v.Tick == 0 {
		return
	}
	from, ok := w.Past(v.Tick)
	to := from
	if ok && v.Part > 0 {
		to, ok = w.Past(v.Tick + 1)
	}
	if !ok {
		return
	}
	if w.sight.views == nil {
		w.sight.views = make([]view, w.game.MaxPlayers)
	}
	w.sight.views[p] = view{v, from, to}
	w.sight.set |= 1 << p
}

// forgetViews lets go of the tick's views.
func (w *World) forgetViews() {
	if w.sight.set != 0 {
		clear(w.sight.views)
		w.sight.set = 0
	}
}

// Seen returns e's value as p saw it when doing what p does in the running tick; ok is false if e was not there then
// or had no such component. The value lies between those of the two states around the moment, by the Lerp role; where
// there is none, or the entity appears between them, it is the later one's, as views show it. An entity that is gone by
// now is seen all the same.
//
// What belongs to p is never seen late: p sees it as p predicts it. For it, and for a player without a stamp, Seen is
// Read. Older states are only read: the world is the same before and after.
func (c *Component[T]) Seen(w *World, p Player, e Entity) (value T, ok bool) {
	if !w.sight.set.Has(p) || e.Owner() == OwnedBy(p) {
		return c.Read(w, e)
	}
	v := &w.sight.views[p]
	if value, ok = c.ReadAt(v.to, e); !ok || v.stamp.Part == 0 || c.typed.Lerp == nil {
		return value, ok
	}
	if from, there := c.ReadAt(v.from, e); there {
		value = c.typed.Lerp(from, value, float64(v.stamp.Part)/256)
	}
	return value, true
}

// Targets calls f for each entity that can be hit, upwards by row, with where p saw it when doing what p does in the running
// tick and with its radius in world units, until f returns false. It is to Motion and to the role Bounds what Seen is to
// Read, for code that works with any game. Whoever p did not see, since it had not appeared, is left out.
func (w *World) Targets(p Player, f func(e Entity, at Motion, radius fixed.Num) bool) {
	identity := w.identity()
	for o := range identity.regions {
		r := &identity.regions[o]
		for k := range r.words {
			for word := r.word(k); word != 0; word &= word - 1 {
				i := uint32(k*blockRows + bits.TrailingZeros64(word))
				radius, ok := w.boundsAt(Owner(o), i)
				if !ok {
					continue
				}
				e := *(*Entity)(identity.rowOf(r, i))
				if at, ok := w.seenMotion(p, e); ok && !f(e, at, radius) {
					return
				}
			}
		}
	}
}

// seenMotion is to Motion what Seen is to Read.
func (w *World) seenMotion(p Player, e Entity) (m Motion, ok bool) {
	if !w.sight.set.Has(p) || e.Owner() == OwnedBy(p) {
		return w.Motion(e)
	}
	v := &w.sight.views[p]
	if !ExistsAt(v.to, e) {
		return Motion{}, false
	}
	o, i := e.Owner(), e.Row%regionRows
	for n := range v.to.image.columns {
		c := &v.to.image.columns[n]
		role := &c.info.roles
		if role.motion == nil || !v.to.has(c, o, i) {
			continue
		}
		if role.motionBetween != nil && v.stamp.Part > 0 && ExistsAt(v.from, e) && v.from.has(c, o, i) {
			return role.motionBetween(v.from.row(c, o, i), v.to.row(c, o, i), float64(v.stamp.Part)/256), true
		}
		return role.motion(v.to.row(c, o, i)), true
	}
	return Motion{}, false
}

// Roles returns what the component was declared with, for code that works with any component.
func (c *Component[T]) Roles() Roles[T] { return c.typed }
