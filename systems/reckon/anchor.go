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
		r.Sets, ok = t.anchor, false // this record, and no other, has the anchor's place
	}
	out := selected{slot: slot, entity: t.entity, anchor: t.anchor, from: len(h.bytes)}
	w := wire.NewWriter(h.bytes, motion.MaxRecord)
	r.Append(&w)
	h.bytes = w.Bytes()
	out.middle = len(h.bytes)
	if ok {
		w = wire.NewWriter(h.bytes, motion.MaxRecord)
		relative.Append(&w)
		h.bytes = w.Bytes()
	}
	out.to = len(h.bytes)
	h.out = append(h.out, out)
}

// forgetAnchor has clients receive absolute records of an entity until they hold its next anchor.
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
		p := &s.Peers[i]
		if p.Open && s.relevant(p, t.entity) && (slot >= len(p.Own.anchors) || p.Own.anchors[slot] == 0) {
			return true
		}
	}
	return false
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
	if x.to > x.middle && x.slot < len(p.Own.anchors) && p.Own.anchors[x.slot] == x.anchor {
		return h.bytes[x.middle:x.to], true
	}
	return h.bytes[x.from:x.middle], false
}

// sent forgets the records that were sent.
func (h *motionReplicator) sent() { h.out, h.bytes = h.out[:0], h.bytes[:0] }
