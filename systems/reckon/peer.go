package reckon

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/clock"
	"tendon/systems/internal/checks"
	"tendon/systems/internal/events"
	"tendon/systems/internal/peers"
	"tendon/systems/motion"
	"tendon/systems/state"
)

// peer is what the server knows of one open connection.
type peer struct {
	open       bool
	seat       int // −1: a spectator
	clock      answering
	near       motion.Stamp // the newest of its stamps, for those who exchange no clocks
	sender     *state.Sender
	holds      []uint8 // by slot: the number of the anchor that the client holds
	events     events.Sender
	slot       uint64   // of the last body, in intervals between two
	body       ecs.Tick // of the last body
	spoken     ecs.Tick // of the last message
	introduced bool     // it was told of everything that is in motion
	watching   bool     // it hears of what is near its avatar
	placed     bool     // it has an avatar, which is
	at         fixed.Vec3
	entered    []int // slots of what it hears of since the last tick
	yield      func(ecs.Entity, float32) bool
	interest   func(yield func(ecs.Entity, float32) bool)
	minds      func(*image.EmittedEvent) bool // which events it is told of
	stats      systems.PeerStats
	resync     peers.Resync
	budget     peers.Budget
}

// greetings is how often a second a client is spoken to that does not play yet: it waits for measures.
const greetings = 20

// maxMessagesOut bounds the messages of news that a peer is sent in a tick. What does not fit is told when it is due again.
const maxMessagesOut = 4

// answering is the server's side of the exchange of clocks; a zero one exchanges nothing.
type answering struct{ *clock.Answerer }

func (a answering) owns(message []byte) bool { return a.Answerer != nil && clock.Owns(message) }

func (a answering) remote(now systems.Time) (at systems.Time, known bool) {
	if a.Answerer == nil {
		return 0, false
	}
	return a.ToRemote(now)
}

func (a answering) heard(stamp motion.Stamp, now systems.Time) {
	if a.Answerer != nil {
		a.Heard(stamp.Time(), now)
	}
}

// Open starts to serve a peer that holds State(have).
func (s *Server) Open(id systems.Peer, seat int, have ecs.Tick, now systems.Time, _ systems.Outbox) {
	checks.Seat("reckon", seat, len(s.seats))
	checks.Held("reckon", have, s.OldestServable(), s.done)
	p := &s.peers[id]
	if !p.open {
		*p = peer{budget: peers.NewBudget(s.game.TickRate), sender: state.NewSender(s.changes)}
		if s.limits.Assumed == 0 {
			p.clock.Answerer, _ = clock.NewAnswerer(clock.Config{}) // a zero Config is valid
		}
		p.interest = s.changes.All
		if s.sets != nil {
			visit := func(e ecs.Entity, priority float32) bool {
				return !s.hears(int(id), e) || p.yield(e, priority*s.nearness(int(id), e))
			}
			p.interest = func(yield func(ecs.Entity, float32) bool) {
				p.yield = yield
				s.changes.All(visit)
			}
			p.minds = func(e *image.EmittedEvent) bool { return s.minds(int(id), e) }
		}
	}
	if seat >= 0 && (!p.open || p.seat != seat) {
		s.seats[seat].Forget(s.done)
	}
	held, _ := s.ring.At(have)
	p.sender.Open(seat, held)
	p.open, p.seat, p.slot, p.body, p.spoken, p.resync = true, seat, 0, 0, 0, peers.InSync
	p.events.Open(&s.events, have, s.done, p.minds)
	clear(p.holds)
	p.near, p.introduced = 0, false
	p.stats.Acked = have
	if seat >= 0 {
		s.greet(ecs.Player(seat), now)
	}
}

// Close stops to serve a peer. Its avatars go on as they were believed to move, and come to a stop.
func (s *Server) Close(id systems.Peer) {
	p := &s.peers[id]
	if p.watching {
		s.sets.Unwatch(int(id))
	}
	seat := p.seat
	open := p.open
	*p = peer{}
	if !open || seat < 0 || s.served(ecs.Player(seat)) {
		return
	}
	for i := range s.avatars {
		if a := &s.avatars[i]; int(a.player) == seat {
			a.held, a.unheard = false, false
		}
	}
}

// Send sends every open peer what it was not told of.
func (s *Server) Send(now systems.Time, out systems.Outbox) {
	for i := range s.peers {
		p := &s.peers[i]
		if !p.open {
			continue
		}
		// Also to a peer that needs an image: what happens meanwhile is not in there.
		p.events.Send(systems.Peer(i), &s.events, s.OldestServable(), s.done, kindEvents, &s.scratch.message, out)
		s.sendClock(systems.Peer(i), p, now, out)
		if p.resync == peers.InSync {
			s.sendNews(systems.Peer(i), p, now, out)
		}
	}
	s.herald.sent()
}

// sendClock sends what the exchange of clocks owes.
func (s *Server) sendClock(id systems.Peer, p *peer, now systems.Time, out systems.Outbox) {
	if p.clock.Answerer == nil {
		return
	}
	for {
		s.scratch.message = p.clock.Append(s.scratch.message[:0], now)
		if len(s.scratch.message) == 0 {
			return
		}
		out.Send(id, systems.Datagram, s.scratch.message)
	}
}

// intervals counts the intervals between bodies to a peer, from 1 on. Those of different peers begin in different ticks,
// so that a server has the same work in each.
func (s *Server) intervals(peer int) uint64 {
	rate := uint64(s.game.TickRate)
	return (uint64(s.done)*uint64(s.limits.StateRate)+uint64(peer)*rate/uint64(len(s.peers)))/rate + 1
}

// sendNews sends a peer the records that are new, and a body if one is due.
func (s *Server) sendNews(id systems.Peer, p *peer, now systems.Time, out systems.Outbox) {
	head := s.head(p, now)
	slot := s.intervals(int(id))
	bodyDue := p.body < s.done && (slot != p.slot || s.urgent > p.body)
	bodyDue = bodyDue || len(p.entered) > 0 && s.done >= p.body+ecs.Tick(max(1, s.game.TickRate/greetings))
	headDue := len(head.snaps) > 0 || !head.ready
	headDue = headDue && s.done >= p.spoken+ecs.Tick(max(1, s.game.TickRate/greetings))
	m := newsMessage{message: s.scratch.message[:0]}
	if head.ready {
		s.introduce(id, p, &m, &head, out)
	}
	for i := range s.herald.out {
		x := &s.herald.out[i]
		if s.hears(int(id), x.entity) {
			record, relative := s.herald.coded(p, x)
			if relative {
				s.counts.Compact++
			}
			s.tell(id, &m, &head, record, out)
		}
	}
	if bodyDue {
		const least = systems.MaxDatagram / 4
		if m.open() && systems.MaxDatagram-len(m.message) < least {
			m.flush(id, out)
		}
		head.body = true
		m.begin(&head)
		m.message[newsFlags] |= headBody
		m.message = p.sender.Append(m.message, systems.MaxDatagram-len(m.message), p.interest)
		p.slot, p.body = slot, s.done
	} else if headDue {
		m.begin(&head)
	}
	if m.open() {
		p.spoken = s.done
		if p.seat >= 0 {
			s.seats[p.seat].PopWorst()
		}
		m.flush(id, out)
	}
	s.scratch.message = m.message
}

// introduce tells a peer of what it hears of since the last tick; at first of all that it hears of.
func (s *Server) introduce(id systems.Peer, p *peer, m *newsMessage, head *updateHead, out systems.Outbox) {
	tell := func(slot int) {
		if record, ok := s.herald.introduce(slot, s.grid.Due); ok && s.hears(int(id), s.herald.things[slot].entity) {
			s.tell(id, m, head, record, out)
		}
	}
	if p.introduced {
		for _, slot := range p.entered {
			tell(slot)
		}
		return
	}
	p.introduced = true
	for slot := range s.herald.things {
		tell(slot)
	}
}

// tell adds a record to the message, or to the next.
func (s *Server) tell(id systems.Peer, m *newsMessage, head *updateHead, record []byte, out systems.Outbox) {
	if m.sent >= maxMessagesOut {
		return
	}
	m.begin(head)
	if !m.add(record) {
		m.flush(id, out)
		m.begin(head)
		m.add(record)
	}
	s.counts.Records++
	s.counts.Bytes += uint64(len(record))
}

// head returns the head of a message to a peer.
func (s *Server) head(p *peer, now systems.Time) updateHead {
	h := updateHead{tick: s.done, ready: p.clock.Answerer == nil, events: p.events.Since(s.done)}
	if !h.ready {
		_, h.ready = p.clock.remote(now)
	}
	h.snaps = s.scratch.snaps[:0]
	if p.seat >= 0 {
		h.altered = s.altered[p.seat]
		h.margin, h.hasMargin = s.seats[p.seat].Worst()
		for i := range s.avatars {
			if a := &s.avatars[i]; int(a.player) == p.seat && a.unheard {
				h.snaps = append(h.snaps, claim{a.epoch, a.snap})
			}
		}
	}
	s.scratch.snaps = h.snaps
	return h
}

// Desynced calls f for each peer that needs an image and was not told of since it was opened.
func (s *Server) Desynced(f func(systems.Peer)) {
	for id := range s.peers {
		if p := &s.peers[id]; p.open && p.resync.Report() {
			f(systems.Peer(id))
		}
	}
}

// PeerStats returns what the server knows of an open peer.
func (s *Server) PeerStats(id systems.Peer) systems.PeerStats {
	p := &s.peers[id]
	st := p.stats
	if p.open && p.seat >= 0 {
		seat := &s.seats[p.seat]
		st.Substituted, st.Late, st.Margin = seat.Substituted, seat.Late, seat.MeanMargin()
	}
	if p.open && p.sender != nil {
		sent := p.sender.Stats()
		st.Overdue, st.LongestWait = sent.Late, sent.Longest
	}
	return st
}
