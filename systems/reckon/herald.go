package reckon

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/motion"
)

// herald decides what is told of the places of things, once for all clients: of avatars, what their clients said; of all
// else, what a sender's policy makes of how the systems move it. Each record is coded once, or twice where it can be
// told relative to a place that clients hold.
//
// Invariant: a slot is of one entity until that is gone; active slots are those that moved and were not told to have
// stopped.
type herald struct {
	server  *Server
	changed image.Changed
	nothing image.Snapshot
	things  []thing // by slot
	byRow   map[uint32]int
	free    []int // slots
	gone    []int // slots of what is gone in the last tick: who heard of it still does, for its last events
	active  []int // slots
	senders []*motion.SendPolicy
	out     []telling
	bytes   []byte
	record  motion.Record // scratch
	intro   []byte        // scratch
}

// thing is an entity that has a place.
type thing struct {
	entity ecs.Entity
	motion ecs.Motion
	sender *motion.SendPolicy // nil while it is not active
	active bool
	anchor uint8      // number of the last anchor that was set, 0: none was
	at     fixed.Vec3 // of the anchor, as a client has it
	near   bool       // the anchor is of use
	since  ecs.Tick   // when the anchor was set

	stirred ecs.Tick // the last tick in which it moved; 0: it never did
	jumped  ecs.Tick // the last in which it moved farther than Config.Jump
}

// telling is a record that is to be sent: its absolute form lies in bytes[from:middle], and the one that is relative to
// the anchor, if there is one, in bytes[middle:to].
type telling struct {
	slot             int
	entity           ecs.Entity
	anchor           uint8
	from, middle, to int
}

// maxTold bounds the records that wait for Send.
const maxTold = 4096

func (h *herald) init(s *Server) {
	h.server, h.byRow = s, map[uint32]int{}
}

// observe looks at a new state, which follows before, or nil. It reports whether entities came or went.
func (h *herald) observe(before, now *image.Snapshot) (structure bool) {
	if before == nil {
		before = &h.nothing
	}
	h.bury()
	h.changed.Find(before, now)
	for row := range h.changed.Rows {
		e := now.EntityAt(row)
		structure = structure || e != before.EntityAt(row)
		i, known := h.byRow[row]
		if known && h.things[i].entity != e {
			h.drop(i)
			if known = false; !e.IsZero() {
				h.bury()
			}
		}
		m, ok := now.Motion(e)
		if !ok {
			if known {
				h.drop(i)
			}
			continue
		}
		moved := m.Vel != fixed.Vec3{}
		if known {
			moved = moved || m != h.things[i].motion
			if m.Pos.Sub(h.things[i].motion.Pos).Len() > h.server.limits.Jump {
				h.things[i].jumped = now.Tick()
			}
		} else {
			i = h.add(e)
		}
		h.things[i].motion = m
		if moved {
			h.things[i].stirred = now.Tick()
		}
		if s := h.server.sets; s != nil {
			s.Place(i, m.Pos)
		}
		if moved {
			h.activate(i)
		}
	}
	return structure
}

// tells reports whether records tell where an entity is, so that the state need not: while it moves, and for a while
// after, but not where it has jumped to.
func (h *herald) tells(e ecs.Entity) bool {
	slot, known := h.byRow[e.Row]
	if !known || h.things[slot].entity != e {
		return false
	}
	t, s := &h.things[slot], h.server
	rest := ecs.Tick(systems.RestTime * systems.Time(s.game.TickRate) / systems.Second)
	return t.stirred > 0 && t.jumped != s.done && s.done < t.stirred+rest
}

func (h *herald) add(e ecs.Entity) (slot int) {
	if n := len(h.free); n > 0 {
		slot, h.free = h.free[n-1], h.free[:n-1]
		h.things[slot] = thing{entity: e, anchor: h.things[slot].anchor} // so that an old word of the slot means nothing
	} else {
		slot = len(h.things)
		h.things = append(h.things, thing{entity: e})
	}
	h.byRow[e.Row] = slot
	return slot
}

func (h *herald) drop(slot int) {
	t := &h.things[slot]
	h.release(t)
	h.forgetAnchor(slot)
	t.stirred = 0 // nobody is told of it any more
	h.gone = append(h.gone, slot)
}

// bury gives back the slots of what is gone.
func (h *herald) bury() {
	for _, slot := range h.gone {
		t := &h.things[slot]
		delete(h.byRow, t.entity.Row)
		t.entity = ecs.Entity{}
		if s := h.server.sets; s != nil {
			s.Remove(slot)
		}
		h.free = append(h.free, slot)
	}
	h.gone = h.gone[:0]
}

func (h *herald) release(t *thing) {
	if t.sender != nil {
		h.senders = append(h.senders, t.sender)
		t.sender = nil
	}
	t.active = false
}

func (h *herald) activate(slot int) {
	t := &h.things[slot]
	if t.active {
		return
	}
	t.active = true
	for _, i := range h.active {
		if i == slot { // it rested, or was dropped, in this very tick
			return
		}
	}
	h.active = append(h.active, slot)
}

// forgetAnchor makes clients be told absolute records of a slot until they hold its next anchor.
func (h *herald) forgetAnchor(slot int) {
	h.things[slot].near = false
	for i := range h.server.peers {
		if p := &h.server.peers[i]; slot < len(p.holds) {
			p.holds[slot] = 0
		}
	}
}

// tell decides what is to be told after the tick that was due.
func (h *herald) tell(due systems.Time) {
	s := h.server
	for i := range s.avatars {
		a := &s.avatars[i]
		slot, known := h.byRow[a.entity.Row]
		if !a.fresh || !known {
			continue
		}
		if r, ok := a.telling(&s.limits.Remotes.Rules, due); ok {
			h.put(slot, r)
		}
		a.fresh = false
	}
	kept := h.active[:0]
	for _, slot := range h.active {
		t := &h.things[slot]
		if !t.active || h.spoken(t) {
			h.release(t)
			continue
		}
		if kept = append(kept, slot); h.police(slot, due) {
			kept = kept[:len(kept)-1]
			h.release(t)
		}
	}
	h.active = kept
}

// spoken reports whether a client speaks for a thing, or it is held.
func (h *herald) spoken(t *thing) bool {
	if t.entity.Owner() == ecs.OwnedByWorld {
		return false // most things are
	}
	a := h.server.avatar(t.entity)
	if a == nil {
		return false
	}
	_, known := a.belief.Record()
	return a.held || known
}

// introduce returns a record of something, for one who was not told of it before; ok is false where the state tells where
// it is. It is valid until the next call.
func (h *herald) introduce(slot int, due systems.Time) (record []byte, ok bool) {
	s, t := h.server, &h.things[slot]
	if !h.tells(t.entity) {
		return nil, false
	}
	r := motion.Record{Entity: t.entity, Stamp: motion.StampOf(due), Pos: t.motion.Pos, Vel: t.motion.Vel}
	if a := s.avatar(t.entity); a != nil && h.spoken(t) {
		r, _ = a.telling(&s.limits.Remotes.Rules, due)
	} else if last, at, ok := t.sent(); ok {
		r = s.limits.Remotes.Rules.Forward(last, due-at, motion.StampOf(due))
	} else if r.Vel == (fixed.Vec3{}) {
		r.Flags = motion.FlagStop
	}
	r.Anchor, r.Sets, r.Flags = 0, 0, r.Flags&^motion.FlagCast
	w := wire.NewWriter(h.intro[:0], motion.MaxRecord)
	r.Append(&w)
	h.intro = w.Bytes()
	return h.intro, true
}

// viewer returns how far a thing is from the nearest avatar of those who hear of it, 0 if that is not known, or does not
// matter.
func (h *herald) viewer(slot int) (nearest fixed.Num) {
	s, t := h.server, &h.things[slot]
	if s.limits.Records.Near == 0 {
		return 0
	}
	for id := range s.peers {
		p := &s.peers[id]
		if !p.open || p.seat >= 0 && t.entity.Owner() == ecs.OwnedBy(ecs.Player(p.seat)) || !s.hears(id, t.entity) {
			continue
		}
		if !p.placed {
			return 0
		}
		if far := t.motion.Pos.Sub(p.at).Len(); nearest == 0 || far < nearest {
			nearest = max(far, 1)
		}
	}
	return nearest
}

// police tells of something that the systems move, if it is time to. It reports whether all is said of it.
func (h *herald) police(slot int, due systems.Time) (rests bool) {
	t, s := &h.things[slot], h.server
	if t.sender == nil {
		t.sender = h.take()
	}
	r := &h.record
	*r = motion.Record{Entity: t.entity, Stamp: motion.StampOf(due), Pos: t.motion.Pos, Vel: t.motion.Vel}
	if s.limits.Mode != nil {
		s.limits.Mode(s.world, r)
	}
	if t.sender.Update(r, due, h.viewer(slot)) != motion.NotDue {
		h.put(slot, *r)
	}
	return t.sender.Rests(r)
}

// sent returns the last record of an active thing, and when it was sent; ok is false if there is none.
func (t *thing) sent() (r motion.Record, at systems.Time, ok bool) {
	if t.sender == nil {
		return r, 0, false
	}
	return t.sender.Last()
}

// take returns a sender that has sent nothing.
func (h *herald) take() *motion.SendPolicy {
	if n := len(h.senders); n > 0 {
		t := h.senders[n-1]
		h.senders = h.senders[:n-1]
		t.Reset()
		return t
	}
	t, err := motion.NewSendPolicy(h.server.limits.Records, &h.server.limits.Remotes.Rules)
	if err != nil {
		panic("reckon: what Check took is refused now: " + err.Error())
	}
	return t
}

// put codes a record for those who are to hear of it.
func (h *herald) put(slot int, r motion.Record) {
	if len(h.out) >= maxTold {
		return
	}
	t := &h.things[slot]
	r.Anchor, r.Sets = 0, 0
	relative, ok := r.Against(motion.Anchor{Number: t.anchor, Entity: t.entity, Pos: t.at})
	if ok = ok && t.near; r.Mode == motion.Ground && (!ok || h.unheard(slot)) {
		h.forgetAnchor(slot)
		t.anchor, t.at, t.near, t.since = t.anchor%motion.MaxAnchor+1, motion.OnWire(r.Pos), true, h.server.done
		r.Sets, ok = t.anchor, false // this very record, and no other, has the anchor's place
	}
	told := telling{slot: slot, entity: t.entity, anchor: t.anchor, from: len(h.bytes)}
	w := wire.NewWriter(h.bytes, motion.MaxRecord)
	r.Append(&w)
	h.bytes = w.Bytes()
	told.middle = len(h.bytes)
	if ok {
		w = wire.NewWriter(h.bytes, motion.MaxRecord)
		relative.Append(&w)
		h.bytes = w.Bytes()
	}
	told.to = len(h.bytes)
	h.out = append(h.out, told)
}

// anchorSeconds is how long the word that an anchor is held may take: longer than a round trip. A number comes again after
// 15 times that, when no word of the first is under way any more.
const anchorSeconds = 4

// unheard reports whether somebody does not hold an anchor who should by now: the record that set it was lost.
func (h *herald) unheard(slot int) bool {
	s := h.server
	if s.done-h.things[slot].since < ecs.Tick(anchorSeconds*s.game.TickRate) {
		return false
	}
	for i := range s.peers {
		p := &s.peers[i]
		if p.open && s.hears(i, h.things[slot].entity) && (slot >= len(p.holds) || p.holds[slot] == 0) {
			return true
		}
	}
	return false
}

// held takes note that a client holds an anchor.
func (h *herald) held(p *peer, x anchorAck) {
	slot, known := h.byRow[x.row]
	if !known || h.things[slot].anchor != x.anchor || !h.things[slot].near {
		return
	}
	for len(p.holds) <= slot {
		p.holds = append(p.holds, 0)
	}
	p.holds[slot] = x.anchor
}

// coded returns a record as a client can read it.
func (h *herald) coded(p *peer, x *telling) (record []byte, relative bool) {
	if x.to > x.middle && x.slot < len(p.holds) && p.holds[x.slot] == x.anchor {
		return h.bytes[x.middle:x.to], true
	}
	return h.bytes[x.from:x.middle], false
}

// sent forgets what everybody was told.
func (h *herald) sent() { h.out, h.bytes = h.out[:0], h.bytes[:0] }
