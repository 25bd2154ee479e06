package reckon

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/table"
	"tendon/systems/motion"
)

// motionReplicator selects the motion records to send, once for all clients. It forwards the records of clients for their
// avatars, and applies the send policy to all other moving entities. Each record is encoded once, or twice where it can be
// relative to an anchor that clients hold.
//
// Invariant: a slot belongs to one entity until that is removed. The active slots are those of entities that moved and
// whose stop was not sent.
type motionReplicator struct {
	server   *Server
	entities table.Table[tracked]
	active   []int // slots
	recent   []int // slots of which a record was sent in the last repeatSeconds
	out      []selected
	bytes    []byte        // of out
	record   motion.Record // scratch
}

// tracked is an entity with a position.
type tracked struct {
	entity ecs.Entity
	motion ecs.Motion
	policy *motion.SendPolicy // nil if no entity of the slot has moved; it has sent nothing unless active
	active bool
	anchor uint8      // number of the last anchor, 0 for none
	at     fixed.Vec3 // of the anchor, as a client has it
	usable bool       // the anchor can be used
	since  ecs.Tick   // when the anchor was set
	put    ecs.Tick   // when its last record was selected, 0 for none
	last   selected   // that record, in bytes
	bytes  []byte
	recent bool     // the slot is in motionReplicator.recent
	moved  ecs.Tick // last tick in which it moved, 0 for none
	jumped ecs.Tick // last tick in which it moved farther than Config.jump
}

// selected is a record to send. Its absolute form is bytes[from:middle], and the one relative to the anchor, if there is
// one, bytes[middle:to].
type selected struct {
	slot             int
	entity           ecs.Entity
	anchor           uint8
	from, middle, to int
}

// maxSelected bounds the records that wait for Send.
const maxSelected = 4096

// observe takes the changes of the last tick. It reports whether entities were spawned or removed.
func (h *motionReplicator) observe() (structure bool) {
	step := &h.server.Step
	for row := range h.server.Changed.Rows {
		e := step.State.EntityAt(row)
		structure = structure || e != step.Before.EntityAt(row)
		m, placed := step.State.Motion(e)
		slot, known := h.entities.Slot(row)
		if known && (!placed || h.entities.At(slot).entity != e) {
			h.remove(slot)
			known = false
		}
		if placed {
			h.place(e, slot, known, m)
		}
	}
	return structure
}

// place takes the motion of an entity. known says that it has the slot already.
func (h *motionReplicator) place(e ecs.Entity, slot int, known bool, m ecs.Motion) {
	s, moved := h.server, m.Vel != fixed.Vec3{}
	if !known {
		slot = h.entities.Add(e.Row)
	}
	t := h.entities.At(slot)
	if !known { // the anchor's number goes on, so that an old acknowledgement of the slot is not valid
		*t = tracked{entity: e, anchor: t.anchor, policy: t.policy, bytes: t.bytes, recent: t.recent}
	} else {
		moved = moved || m != t.motion
		if m.Pos.Sub(t.motion.Pos).Len() > s.settings.jump {
			t.jumped = s.Done()
		}
	}
	t.motion = m
	if moved {
		t.moved = s.Done()
		h.activate(slot)
	}
}

// replicates reports whether the place of an entity is sent in records, so that bodies of state leave it out: while it
// moves, and for a while after. A jump is sent in a body.
func (h *motionReplicator) replicates(e ecs.Entity) bool {
	t := h.entities.Get(e.Row)
	if t == nil || t.entity != e {
		return false
	}
	s := h.server
	rest := ecs.Tick(systems.RestTime * systems.Time(s.Game.TickRate) / systems.Second)
	return t.moved > 0 && t.jumped != s.Done() && s.Done() < t.moved+rest
}

func (h *motionReplicator) remove(slot int) {
	h.entities.At(slot).release()
	h.entities.At(slot).put = 0
	h.forgetAnchor(slot)
	h.entities.Remove(slot)
}

func (t *tracked) release() {
	t.active = false
	if t.policy != nil {
		t.policy.Reset()
	}
}

func (h *motionReplicator) activate(slot int) {
	t := h.entities.At(slot)
	if t.active {
		return
	}
	t.active = true
	if !slices.Contains(h.active, slot) { // else it rested, or was removed, in this tick
		h.active = append(h.active, slot)
	}
}

// selectRecords selects the records that are due after the tick that was due at a time.
func (h *motionReplicator) selectRecords(due systems.Time) {
	s := h.server
	h.recent = slices.DeleteFunc(h.recent, func(slot int) bool {
		t := h.entities.At(slot)
		t.recent = t.put > 0 && s.Done() < t.put+ecs.Tick(repeatSeconds*s.Game.TickRate)
		return !t.recent
	})
	for i := range s.avatars {
		a := &s.avatars[i]
		slot, known := h.entities.Slot(a.entity.Row)
		if !a.fresh || !known {
			continue
		}
		if r, ok := a.replicated(&s.settings.Remotes.Rules, due); ok {
			h.put(slot, r)
		}
		a.fresh = false
	}
	kept := h.active[:0]
	for _, slot := range h.active {
		t := h.entities.At(slot)
		if !t.active || h.claimed(t) {
			t.release()
			continue
		}
		kept = append(kept, slot)
		if h.update(slot, due) {
			kept = kept[:len(kept)-1]
			t.release()
		}
	}
	h.active = kept
}

// claimed reports whether a client sends the records of an entity, or the server holds it.
func (h *motionReplicator) claimed(t *tracked) bool {
	if t.entity.Owner() == ecs.OwnedByWorld {
		return false // most entities
	}
	a := h.server.avatar(t.entity)
	if a == nil {
		return false
	}
	_, known := a.belief.Record()
	return a.held || known
}

// update applies the send policy to an entity. It reports whether the entity rests and its stop was sent. One that a carrier
// moves does not rest.
func (h *motionReplicator) update(slot int, due systems.Time) (rests bool) {
	t, s := h.entities.At(slot), h.server
	if t.policy == nil {
		t.policy = motion.NewSendPolicy(s.settings.Records, &s.settings.Remotes.Rules)
	}
	r := &h.record
	s.settings.record(r, s.World(), t.entity, t.motion, due)
	if t.policy.Update(r, due, h.viewer(slot)) != motion.NotDue {
		h.put(slot, *r)
	}
	return t.policy.Rests(r) && t.moved != s.Done()
}

// viewer returns the distance of an entity from the nearest avatar of a peer that it is relevant to. 0 stands for a distance
// that is unknown or does not matter.
func (h *motionReplicator) viewer(slot int) (nearest fixed.Num) {
	s, t := h.server, h.entities.At(slot)
	if s.settings.Records.Near == 0 {
		return 0
	}
	for i := range s.Peers {
		p := &s.Peers[i]
		if !p.Open || p.Seat >= 0 && t.entity.Owner() == ecs.OwnedBy(p.Player()) || !s.relevant(p, t.entity) {
			continue
		}
		if !p.Own.placed {
			return 0
		}
		if far := t.motion.Pos.Sub(p.Own.at).Len(); nearest == 0 || far < nearest {
			nearest = max(far, 1)
		}
	}
	return nearest
}

// introduction returns a record of an entity for a peer that has none. ok is false if bodies of state have its place. The
// record is valid until the next call.
func (h *motionReplicator) introduction(e ecs.Entity, due systems.Time) (record []byte, ok bool) {
	if !h.replicates(e) {
		return nil, false
	}
	s, t := h.server, h.entities.Get(e.Row)
	var r, last motion.Record
	var at systems.Time
	var sent bool
	if t.policy != nil {
		last, at, sent = t.policy.Last()
	}
	switch {
	case h.claimed(t):
		r, _ = s.avatar(t.entity).replicated(&s.settings.Remotes.Rules, due)
	case sent:
		r = s.settings.Remotes.Rules.Forward(last, due-at, motion.StampOf(due))
	default:
		s.settings.record(&r, s.World(), t.entity, t.motion, due)
		if (r.Vel == fixed.Vec3{}) {
			r.Flags = motion.FlagStop
		}
	}
	r.Anchor, r.Sets, r.Flags = 0, 0, r.Flags&^motion.FlagCast
	from := len(h.bytes)
	h.encode(&r)
	record, h.bytes = h.bytes[from:], h.bytes[:from]
	return record, true
}

// put encodes a record for the peers that its entity is relevant to.
func (h *motionReplicator) put(slot int, r motion.Record) {
	if len(h.out) >= maxSelected {
		return
	}
	t := h.entities.At(slot)
	r.Anchor, r.Sets = 0, 0
	relative, ok := r.Against(motion.Anchor{Number: t.anchor, Entity: t.entity, Pos: t.at})
	if ok = ok && t.usable; r.Mode == motion.Ground && (!ok || h.lost(slot)) {
		h.forgetAnchor(slot)
		t.anchor, t.at, t.usable, t.since = t.anchor%motion.MaxAnchor+1, motion.OnWire(r.Pos), true, h.server.Done()
		r.Sets, ok = t.anchor, false // this record, and no other, has the position of the anchor
	}
	out := selected{slot: slot, entity: t.entity, anchor: t.anchor, from: len(h.bytes)}
	h.encode(&r)
	out.middle = len(h.bytes)
	if ok {
		h.encode(&relative)
	}
	out.to = len(h.bytes)
	h.out = append(h.out, out)
	t.put, t.last, t.bytes = h.server.Done(), out, append(t.bytes[:0], h.bytes[out.from:]...)
	t.last.from, t.last.middle, t.last.to = 0, out.middle-out.from, out.to-out.from
	if !t.recent {
		t.recent, h.recent = true, append(h.recent, slot)
	}
}

func (h *motionReplicator) encode(r *motion.Record) {
	w := wire.NewWriter(h.bytes, motion.MaxRecord)
	r.Append(&w)
	h.bytes = w.Bytes()
}

// forgetAnchor makes the records of an entity absolute until clients hold its next anchor.
func (h *motionReplicator) forgetAnchor(slot int) {
	h.entities.At(slot).usable = false
	for i := range h.server.Peers {
		if link := &h.server.Peers[i].Own; slot < len(link.anchors) {
			link.anchors[slot] = 0
		}
	}
}

// anchorSeconds is the longest time until the acknowledgement of an anchor: more than a round trip. A number is used again
// after 15 times that, when no acknowledgement of the first anchor is under way any more.
const anchorSeconds = 4

// lost reports whether a peer does not hold an anchor that it should hold by now: the record that set it was lost.
func (h *motionReplicator) lost(slot int) bool {
	s, t := h.server, h.entities.At(slot)
	if s.Done()-t.since < ecs.Tick(anchorSeconds*s.Game.TickRate) {
		return false
	}
	for i := range s.Peers {
		if p := &s.Peers[i]; p.Open && s.relevant(p, t.entity) && !p.Own.holds(slot, t.anchor) {
			return true
		}
	}
	return false
}

func (l *link) holds(slot int, anchor uint8) bool {
	return slot < len(l.anchors) && l.anchors[slot] == anchor
}

func (h *motionReplicator) acknowledge(p *peer, ack anchorAck) {
	slot, known := h.entities.Slot(ack.row)
	if !known {
		return
	}
	if t := h.entities.At(slot); t.anchor != ack.anchor || !t.usable {
		return
	}
	for len(p.Own.anchors) <= slot {
		p.Own.anchors = append(p.Own.anchors, 0)
	}
	p.Own.anchors[slot] = ack.anchor
}

// in returns the record in the form that a peer can read.
func (x *selected) in(bytes []byte, p *peer) []byte {
	if x.to > x.middle && p.Own.holds(x.slot, x.anchor) {
		return bytes[x.middle:x.to]
	}
	return bytes[x.from:x.middle]
}
