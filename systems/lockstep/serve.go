package lockstep

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// The most bytes that one peer receives on the reliable channel, so that a peer far behind leaves room for the others.
const (
	chunkBytes  = 16 << 10 // in one sync
	flightBytes = 48 << 10 // unacknowledged, beyond which nothing is added
	flightSyncs = 64
)

const (
	quiet      = 2 * systems.Second  // how long a peer that sends nothing is still sent syncs
	resendHeld = systems.Second / 20 // how often a peer is sent the last sync again while the match waits
	digestBits = 34                  // of a frame of which only the digest is sent
)

// sendSyncs sends the frames up to sync, which may be sent from now on.
func (s *Server) sendSyncs() {
	s.pass(s.Sending.Now)
	s.syncs.released = s.syncs.sync
	s.Serve((*Server).sendSync)
}

// sendSync sends a peer the frames that were announced since its last sync. A large frame goes over the reliable channel.
func (s *Server) sendSync(p *peer) {
	link := &p.Own
	silent := s.Sending.Now-link.received > quiet
	if link.near && (silent || s.syncs.sync > holds(p)+redundant || s.syncs.large > holds(p)) {
		link.near, link.sent = false, holds(p)
		link.flight.Clear()
	}
	switch {
	case silent:
	case !link.near:
		s.sendFar(p)
	case link.synced < s.syncs.sync:
		s.sendNear(p, s.Sending.Out)
	}
}

// holds returns the last frame up to which a peer has all frames, or will have when the reliable channel delivers.
func holds(p *peer) ecs.Tick { return max(p.Acked, p.Own.sent) }

// sendFar sends a peer the next frames over the reliable channel. A peer that was sent all becomes near, unless everything
// is sent this way. It stays far while more is unacknowledged than a datagram would repeat, since it cannot use datagrams yet.
func (s *Server) sendFar(p *peer) {
	link, sync := &p.Own, s.syncs.sync
	link.flight.Acknowledge(p.Acked)
	switch {
	case link.sent >= sync || link.flight.Len() == flightSyncs || link.flight.Bytes > flightBytes:
	case link.sent+1 < s.log.first:
		p.Resync.Request() // the frames that it needs are not kept any more
	default:
		head := s.head(p, link.sent+1)
		inputs := s.write(&head, chunkBytes, sync)
		s.Sending.Out.Send(p.ID, systems.Reliable, s.Sending.Message)
		s.spendSync(inputs)
		link.sent, link.synced = head.last(), head.last()
		link.flight.Add(head.last(), len(s.Sending.Message))
	}
	if link.sent >= sync && link.flight.Bytes <= systems.MaxDatagram && !s.settings.Reliable && !s.relayedAhead() {
		link.near, link.synced = true, link.sent
		s.sendStamped(p)
	}
}

// relayedAhead reports whether operations of frames after sync were sent by themselves.
func (s *Server) relayedAhead() bool {
	for f := s.syncs.sync + 1; f <= s.Done(); f++ {
		if _, ok := s.syncs.digests.At(f); ok {
			return true
		}
	}
	return s.running.touched != 0 && s.settings.RelayAtOnce
}

// sendStamped sends a peer that becomes near the orders that the near peers have received and that are not in a sync yet.
func (s *Server) sendStamped(p *peer) {
	if !s.settings.RelayAtOnce {
		return
	}
	for f := s.Done() + 1; f <= s.stamped.tick; f++ {
		s.running.orders = s.orders.AppendAt(s.running.orders[:0], f)
		for i, o := range s.running.orders {
			if rare(o.Kind) {
				continue
			}
			m := stamped{tick: f, number: i, order: o}
			s.Sending.Message = m.append(s.Sending.Message[:0], s.Game)
			s.Sending.Out.Send(p.ID, systems.Reliable, s.Sending.Message)
			s.CountPart(image.PartOrders, len(s.Sending.Message))
		}
	}
	s.running.orders = s.running.orders[:0]
}

// sendNear sends a peer all frames that it has not acknowledged, in a datagram. As far as they fit, it repeats those on
// the reliable channel, too, which repeats the last message only after several round trips.
func (s *Server) sendNear(p *peer, out systems.Outbox) {
	link, first := &p.Own, p.Acked+1
	if s.syncs.sync > p.Acked+redundant {
		first = holds(p) + 1
	}
	head, whole := s.head(p, first), max(link.sent, link.whole)
	inputs := s.write(&head, systems.MaxDatagram, whole)
	if head.ahead > 0 && first <= link.sent {
		head = s.head(p, link.sent+1)
		inputs = s.write(&head, systems.MaxDatagram, whole)
	}
	out.Send(p.ID, systems.Datagram, s.Sending.Message)
	s.spendSync(inputs)
	link.synced = s.syncs.sync
}

// spendSync accounts the sync in Sending.Message. Its inputs and orders begin at a byte.
func (s *Server) spendSync(inputs int) {
	s.CountPart(image.PartTick, inputs)
	s.CountPart(image.PartInputs, len(s.Sending.Message)-inputs)
}

func (s *Server) head(p *peer, first ecs.Tick) syncHead {
	return syncHead{first: first, interval: s.syncs.interval.n, acked: p.Own.operated, key: first == p.Opened+1}
}

// write writes a sync into Sending.Message, with as many frames as fit. Of a frame after whole whose operations were sent by
// themselves it writes the digest only.
func (s *Server) write(h *syncHead, limit int, whole ecs.Tick) (inputs int) {
	room := (limit-syncBytes)*8 - 7
	if h.key {
		room -= worstInputs(s.Game)
	}
	for f := h.first; f <= s.syncs.sync && h.count < maxFrames; f++ {
		n := code.StoredBits(s.log.code(f))
		if _, ok := s.syncs.digests.At(f); ok && f > whole {
			n = digestBits
		}
		if room -= n; room < 0 {
			break
		}
		h.count++
	}
	h.ahead = s.syncs.sync - h.last()
	w := wire.NewWriter(s.Sending.Message[:0], limit)
	h.append(&w)
	inputs = len(w.Bytes())
	bits := wire.NewBitWriter(w.Bytes(), w.Room())
	if h.key {
		inputs := s.before
		if h.first-1 != s.Done() {
			s.reader.seek(s.log, h.first-1)
			inputs = s.reader.inputs
		}
		var zero ecs.InputBytes
		for p := range inputs {
			code.AppendChange(&bits, &zero, &inputs[p], s.Game)
		}
	}
	for f := h.first; f <= h.last(); f++ {
		if digest, ok := s.syncs.digests.At(f); ok && f > whole {
			bits.Bits(3|uint64(*digest)<<2, digestBits)
			continue
		}
		code.AppendStored(&bits, s.log.code(f))
	}
	s.Sending.Message = bits.Bytes()
	return inputs
}
