package lockstep

import (
	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// Bounds of what one peer is sent over the reliable channel, so that one who has much to catch up with does not crowd
// the others out.
const (
	chunkBytes  = 16 << 10 // in one sync
	flightBytes = 48 << 10 // on the way, beyond which nothing is added
)

// quiet is how long a peer of whom nothing was heard is still sent syncs.
const quiet = 2 * systems.Second

// Send sends every open peer what was promised since it was last told.
func (s *Server) Send(now systems.Time, out systems.Outbox) {
	s.now, s.released = max(s.now, now), s.sync
	for _, f := range s.large {
		s.sendLarge(f, out)
	}
	s.large = s.large[:0]
	for id := range s.peers {
		p := &s.peers[id]
		if !p.open || now-p.heard > quiet {
			continue
		}
		if p.near && s.sync > p.holds()+redundant {
			p.near, p.sent, p.flying = false, p.holds(), 0
		}
		switch {
		case !p.near:
			s.sendFar(systems.Peer(id), out)
		case p.told < s.sync:
			s.sendNear(systems.Peer(id), out)
		}
	}
}

// holds is how far the peer has all frames, or will have without doing.
func (p *peer) holds() ecs.Tick { return max(p.received, p.sent) }

// sendFar sends a peer the next frames that it was not sent, over the reliable channel. One that was sent all is near,
// unless everything goes this way.
func (s *Server) sendFar(id systems.Peer, out systems.Outbox) {
	p := &s.peers[id]
	p.land()
	switch {
	case p.sent >= s.sync || p.flying == len(p.flight) || p.onTheWay() > flightBytes:
	case p.sent+1 < s.log.first:
		p.resync.Request() // what it needs is no longer kept
	default:
		head := s.head(p, p.sent+1)
		s.write(&head, chunkBytes, s.sync)
		out.Send(id, systems.Reliable, s.scratch.message)
		p.sent, p.told = head.last(), head.last()
		p.flight[p.flying] = flight{head.last(), len(s.scratch.message)}
		p.flying++
	}
	if p.sent >= s.sync && !s.config.Reliable && !s.spoken() {
		p.near, p.told = true, p.sent
		s.tellStamped(id, out)
	}
}

// spoken reports whether operations of frames that are not in a sync yet were sent by themselves.
func (s *Server) spoken() bool {
	for f := s.sync + 1; f <= s.done; f++ {
		if s.shorts[f%redundant].tick == f {
			return true
		}
	}
	return s.running.touched != 0 && s.config.RelayAtOnce
}

// land forgets what has arrived.
func (p *peer) land() {
	landed := 0
	for landed < p.flying && p.flight[landed].last <= p.received {
		landed++
	}
	p.flying = copy(p.flight[:], p.flight[landed:p.flying])
}

func (p *peer) onTheWay() (bytes int) {
	for i := range p.flying {
		bytes += p.flight[i].bytes
	}
	return bytes
}

// tellStamped sends a peer that becomes near the orders that everybody else was told and that are not in a sync yet.
func (s *Server) tellStamped(id systems.Peer, out systems.Outbox) {
	if !s.config.RelayAtOnce {
		return
	}
	for f := s.done + 1; f <= s.last.tick; f++ {
		s.running.orders = s.orders.AppendAt(s.running.orders[:0], f)
		for i, o := range s.running.orders {
			m := stamped{tick: f, number: i, order: o}
			s.scratch.message = m.append(s.scratch.message[:0], s.game)
			out.Send(id, systems.Reliable, s.scratch.message)
		}
	}
	s.running.orders = s.running.orders[:0]
}

// sendNear sends a peer all that it has not acknowledged, in a datagram: also what the reliable channel carries, as long
// as it fits, since what is lost there with nothing after it comes only after several round trips.
func (s *Server) sendNear(id systems.Peer, out systems.Outbox) {
	p := &s.peers[id]
	first := p.received + 1
	if s.sync > p.received+redundant {
		first = p.holds() + 1
	}
	head := s.head(p, first)
	s.write(&head, systems.MaxDatagram, p.sent)
	if head.ahead > 0 && first <= p.sent {
		head = s.head(p, p.sent+1)
		s.write(&head, systems.MaxDatagram, p.sent)
	}
	out.Send(id, systems.Datagram, s.scratch.message)
	p.told = s.sync
}

// sendLarge sends those who are near the operations of a frame that is too large for a datagram.
func (s *Server) sendLarge(f ecs.Tick, out systems.Outbox) {
	if f < s.log.first {
		return
	}
	c := cursor{frame: newFrame(s.game)}
	before := make([]ecs.InputBytes, len(s.before))
	c.seek(s.log, f-1)
	copy(before, c.inputs)
	c.next(s.log)
	m := stamped{tick: f}
	for p := range before {
		if c.inputs[p] != s.game.Input.Predict(before[p]) {
			m.player, m.input, m.in = ecs.Player(p), true, c.inputs[p]
			s.relay(&m, out)
			m.number++
		}
	}
	m.input = false
	for _, m.order = range c.orders {
		s.relay(&m, out)
		m.number++
	}
}

// head begins a sync of the frames from first on.
func (s *Server) head(p *peer, first ecs.Tick) syncHead {
	return syncHead{first: first, interval: s.interval.n, acked: p.operated, key: first == p.opened+1}
}

// write puts a sync into scratch.message, with as many frames as fit; of those after whole that everybody near was told
// of, only the digest.
func (s *Server) write(h *syncHead, limit int, whole ecs.Tick) {
	room := (limit-syncBytes)*8 - 7
	if h.key {
		room -= worstInputs(s.game)
	}
	for f := h.first; f <= s.sync && h.count < maxFrames; f++ {
		_, n := s.log.code(f)
		if f > whole && s.shorts[f%redundant].tick == f {
			n = shortBits
		}
		if room -= n; room < 0 {
			break
		}
		h.count++
	}
	h.ahead = s.sync - h.last()
	w := wire.NewWriter(s.scratch.message[:0], limit)
	h.append(&w)
	bits := wire.NewBitWriter(w.Bytes(), w.Room())
	if h.key {
		s.key(&bits, h.first-1)
	}
	for f := h.first; f <= h.last(); f++ {
		if short := &s.shorts[f%redundant]; f > whole && short.tick == f {
			bits.Bits(3|uint64(short.digest)<<2, shortBits)
			continue
		}
		code, n := s.log.code(f)
		appendCode(&bits, code, n)
	}
	s.scratch.message = bits.Bytes()
}

// shortBits is what a frame takes of which only the digest is sent.
const shortBits = 34

// key writes the inputs of a frame, each against none at all.
func (s *Server) key(w *wire.BitWriter, f ecs.Tick) {
	inputs := s.before
	if f != s.done {
		if s.reader.inputs == nil {
			s.reader.frame = newFrame(s.game)
		}
		s.reader.seek(s.log, f)
		inputs = s.reader.inputs
	}
	var zero ecs.InputBytes
	for p := range inputs {
		code.AppendChange(w, &zero, &inputs[p], s.game.Input.Size())
	}
}
