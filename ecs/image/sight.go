package image

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
	views []Sight // index = Player; made with the first stamp that counts
	set   PlayerSet
}

// SetPast says where older states are read: a server's ring of snapshots that this world saved, one of each tick. nil,
// the default: there is no past, and stamps mean nothing. Snapshots that past returns must stay as they are until the
// end of a Step.
func (im *Image) SetPast(past func(Tick) (*Snapshot, bool)) { im.sight.past = past }

// Past returns the state of an older tick for systems that look at what was seen; ok is false if it is not held or
// further back than MaxViewTicks.
func (im *Image) Past(f Tick) (s *Snapshot, ok bool) {
	now := im.Tick()
	if im.sight.past == nil || f >= now || now-f > MaxViewTicks {
		return nil, false
	}
	s, ok = im.sight.past(f)
	if !ok || s.Empty() || s.tick != f || s.image != im {
		return nil, false
	}
	return s, true
}

// ViewOf returns the moment that p saw when doing what p does in the running tick; ok is false where that is the
// present. It comes from an order of kind OrderView in this tick and is gone when the tick is over.
func (im *Image) ViewOf(p Player) (v ViewStamp, ok bool) {
	if !im.sight.set.Has(p) {
		return ViewStamp{}, false
	}
	return im.sight.views[p].Stamp, true
}

// SetView makes what the payload says p's view of the running tick. A stamp that is malformed, of a moment that has
// not been or that the past does not hold makes it the present: a server stamps what it holds, so such a stamp is none
// that it has judged by.
func (im *Image) SetView(p Player, payload []byte) {
	im.sight.set &^= 1 << p
	v, ok := ParseViewStamp(payload)
	if !ok || v.Tick == 0 {
		return
	}
	from, ok := im.Past(v.Tick)
	to := from
	if ok && v.Part > 0 {
		to, ok = im.Past(v.Tick + 1)
	}
	if !ok {
		return
	}
	if im.sight.views == nil {
		im.sight.views = make([]Sight, im.schema.MaxPlayers)
	}
	im.sight.views[p] = Sight{v, from, to}
	im.sight.set |= 1 << p
}

// clearViews lets go of the tick's views.
func (im *Image) clearViews() {
	if im.sight.set != 0 {
		clear(im.sight.views)
		im.sight.set = 0
	}
}

// Sight is what a player saw when doing what they do in the running tick: a moment and the states around it, which are the
// same where Part is 0.
type Sight struct {
	Stamp    ViewStamp
	From, To *Snapshot
}

// Sight returns what p saw of e when doing what p does in the running tick; late is false where that is the present. What
// belongs to p is always seen in the present, since p predicts it.
func (im *Image) Sight(p Player, e Entity) (s Sight, late bool) {
	if !im.sight.set.Has(p) || e.Owner() == OwnedBy(p) {
		return s, false
	}
	return im.sight.views[p], true
}

// Targets calls f for each entity that can be hit, upwards by row, with where p saw it when doing what p does in the running
// tick and with its radius in world units, until f returns false. It is to Motion and to the role Bounds what Seen is to
// Read, for code that works with any game. Whoever p did not see, since it had not appeared, is left out.
func (im *Image) Targets(p Player, f func(e Entity, at Motion, radius fixed.Num) bool) {
	identity := im.identity()
	for o := range identity.regions {
		r := &identity.regions[o]
		for k := range r.words {
			for word := r.word(k); word != 0; word &= word - 1 {
				i := uint32(k*blockRows + bits.TrailingZeros64(word))
				radius, ok := im.boundsAt(Owner(o), i)
				if !ok {
					continue
				}
				e := *(*Entity)(identity.rowOf(r, i))
				if at, ok := im.seenMotion(p, e); ok && !f(e, at, radius) {
					return
				}
			}
		}
	}
}

// seenMotion is to Motion what Seen is to Read.
func (im *Image) seenMotion(p Player, e Entity) (m Motion, ok bool) {
	if !im.sight.set.Has(p) || e.Owner() == OwnedBy(p) {
		return im.Motion(e)
	}
	v := &im.sight.views[p]
	if !ExistsAt(v.To, e) {
		return Motion{}, false
	}
	o, i := e.Owner(), e.Row%regionRows
	for n := range v.To.image.columns {
		c := &v.To.image.columns[n]
		role := &c.info.roles
		if role.motion == nil || !v.To.has(c, o, i) {
			continue
		}
		if role.motionBetween != nil && v.Stamp.Part > 0 && ExistsAt(v.From, e) && v.From.has(c, o, i) {
			return role.motionBetween(v.From.row(c, o, i), v.To.row(c, o, i), float64(v.Stamp.Part)/256), true
		}
		return role.motion(v.To.row(c, o, i)), true
	}
	return Motion{}, false
}
