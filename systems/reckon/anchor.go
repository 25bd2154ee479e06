package reckon

import (
	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems/motion"
)

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
	if out.middle = len(h.bytes); ok {
		h.encode(&relative)
	}
	out.to = len(h.bytes)
	h.out = append(h.out, out)
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

// holds reports whether the client holds an anchor of the entity in a slot.
func (l *link) holds(slot int, anchor uint8) bool {
	return slot < len(l.anchors) && l.anchors[slot] == anchor
}

// acknowledge records that a client holds an anchor.
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

// encoded returns a record as a peer can read it.
func (h *motionReplicator) encoded(p *peer, x *selected) (record []byte, relative bool) {
	if x.to > x.middle && p.Own.holds(x.slot, x.anchor) {
		return h.bytes[x.middle:x.to], true
	}
	return h.bytes[x.from:x.middle], false
}
