package image

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"tendon/ecs/fixed"
)

// ViewStamp is a moment that a player saw: Part/256 of the way from State(Tick) to State(Tick+1). If Tick is zero, it is
// the present, and Part is ignored.
type ViewStamp struct {
	Tick Tick
	Part uint8
}

// MaxViewTicks bounds the age of a stamp, in ticks. World.Step ignores an older one, so a replay needs no more history than
// this.
const MaxViewTicks = 1024

// AppendViewStamp appends the payload of an order of kind OrderView, at most 11 bytes: the tick as a uvarint, then the
// part.
func AppendViewStamp(dst []byte, v ViewStamp) []byte {
	return append(binary.AppendUvarint(dst, uint64(v.Tick)), v.Part)
}

// ParseViewStamp reads the payload of an order of kind OrderView. ok is false if AppendViewStamp has not written it.
func ParseViewStamp(payload []byte) (v ViewStamp, ok bool) {
	tick, n := binary.Uvarint(payload)
	if n <= 0 || n > 1 && payload[n-1] == 0 || len(payload) != n+1 {
		return ViewStamp{}, false
	}
	return ViewStamp{Tick: Tick(tick), Part: payload[n]}, true
}

// sight holds the moments that players saw when giving the inputs of the running tick.
type sight struct {
	past  func(Tick) (*Snapshot, bool)
	saved *Image // whose snapshots past returns
	views []view // index = Player; allocated for the first stamp
	used  bool   // a view was set in this tick
}

// view is a moment with the states around it, which are the same if its Part is 0. The zero view is the present.
type view struct {
	stamp    ViewStamp
	from, to *Snapshot
}

// SetPast sets the source of older states: a server's ring of snapshots that this image saved, one per tick. With nil, the
// default, view stamps are ignored. Snapshots that past returns must not change until the end of World.Step.
func (im *Image) SetPast(past func(Tick) (*Snapshot, bool)) { im.sight.past, im.sight.saved = past, im }

// Past returns the state of an older tick. ok is false if past does not return it, or if it is more than MaxViewTicks old.
func (im *Image) Past(f Tick) (s *Snapshot, ok bool) {
	now := im.Tick()
	if im.sight.past == nil || f >= now || now-f > MaxViewTicks {
		return nil, false
	}
	s, ok = im.sight.past(f)
	if !ok || s.Empty() || s.tick != f || s.image != im.sight.saved {
		return nil, false
	}
	return s, true
}

// ViewOf returns the moment that p saw when giving the inputs of the running tick. ok is false if that is the present. An
// order of kind OrderView in this tick sets it, and it ends with the tick.
func (im *Image) ViewOf(p Player) (v ViewStamp, ok bool) {
	if im.sight.used && int(p) < len(im.sight.views) {
		v, ok = im.sight.views[p].stamp, im.sight.views[p].to != nil
	}
	return v, ok
}

// SetView sets p's view of the running tick from the payload of an order. The view is the present if the payload is
// malformed, or if its moment is in the future or not in the history. A server stamps only states that it has.
func (im *Image) SetView(p Player, payload []byte) {
	if im.sight.views == nil {
		im.sight.views = make([]view, im.schema.MaxPlayers)
	}
	im.sight.views[p], im.sight.used = view{}, true
	v, ok := ParseViewStamp(payload)
	if !ok || v.Tick == 0 {
		return
	}
	from, ok := im.Past(v.Tick)
	to := from
	if ok && v.Part > 0 {
		to, ok = im.Past(v.Tick + 1)
	}
	if ok {
		im.sight.views[p] = view{v, from, to}
	}
}

// viewOf returns p's view of e in the running tick. ok is false if it is the present. Entities of p, and those with the role
// Predicted, are always in the present, because p predicts them.
func (im *Image) viewOf(p Player, e Entity) (v view, ok bool) {
	if _, ok = im.ViewOf(p); !ok || e.Owner() == OwnedBy(p) || im.shared(e) {
		return v, false
	}
	return im.sight.views[p], true
}

// shared reports whether every client predicts e.
func (im *Image) shared(e Entity) bool {
	if im.predicted == 0 || !im.Exists(e) {
		return false
	}
	for set := im.predicted; set != 0; set &= set - 1 {
		c := &im.components()[bits.TrailingZeros64(uint64(set))]
		if c.regions[e.Owner()].has(e.Row % regionRows) {
			return true
		}
	}
	return false
}

// Seen returns the memory of e's component as player p saw it when giving the inputs of the running tick, until the next call.
// It is interpolated by the Lerp role between the two states around that moment. Without that role, or if only the later state
// has the component, it is the later state's. It returns nil if e did not exist then or had no such component.
func (im *Image) Seen(d *Declaration, p Player, e Entity) unsafe.Pointer {
	v, late := im.viewOf(p, e)
	if !late {
		return im.Row(d, e)
	}
	to := v.to.Row(d, e)
	if to == nil || v.stamp.Part == 0 || d.roles.lerp == nil {
		return to
	}
	from := v.from.Row(d, e)
	if from == nil {
		return to
	}
	between, _ := im.scratchRows(int(d.layout.size))
	at := unsafe.Pointer(unsafe.SliceData(between))
	d.roles.lerp(at, from, to, float64(v.stamp.Part)/256)
	return at
}

// Targets calls f for each entity that can be hit, in the order of rows, until f returns false. at is the motion that p saw
// when giving the inputs of the running tick, and radius is in world units. Entities that p had not seen yet are left out.
// It is for code that works with any game; see Component.Seen of ecs.
func (im *Image) Targets(p Player, f func(e Entity, at Motion, radius fixed.Num) bool) {
	now := im.present()
	for e := range now.Entities {
		c := now.firstWith(e, func(r *roles) bool { return r.bounds != nil })
		if c == nil {
			continue
		}
		radius := c.roles.bounds(now.row(c, e.Owner(), e.Row%regionRows))
		if at, ok := im.seenMotion(p, e); ok && !f(e, at, radius) {
			return
		}
	}
}

func (im *Image) seenMotion(p Player, e Entity) (m Motion, ok bool) {
	s := im.present()
	if v, late := im.viewOf(p, e); late {
		s = v.to
	}
	c := s.firstWith(e, func(r *roles) bool { return r.motion != nil })
	if c == nil {
		return Motion{}, false
	}
	return c.roles.motion(im.Seen(c.Declaration, p, e)), true
}
