package reckon

import (
	"fmt"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/clock"
	"tendon/systems/internal/peers"
	"tendon/systems/state"
)

// peer is what the server knows of one open connection.
type peer struct {
	open       bool
	seat       int // −1: a spectator
	clock      answering
	near       Stamp // the newest of its stamps, for those who exchange no clocks
	sender     *state.Sender
	holds      []uint8  // by slot: the number of the anchor that the client holds
	told       ecs.Tick // every event of ticks ≤ told was sent
	heard      ecs.Tick // the newest tick ≤ told whose events were sent since the peer was opened; 0: none was
	slot       uint64   // of the last body, in intervals between two
	body       ecs.Tick // of the last body
	spoken     ecs.Tick // of the last message
	introduced bool     // it was told of everything that is in motion
	watching   bool     // it hears of what is near its avatar
	yield      func(ecs.Entity, float32) bool
	interest   func(yield func(ecs.Entity, float32) bool)
	stats      systems.PeerStats
	flaw       peers.Flaw
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

func (a answering) heard(stamp Stamp, now systems.Time) {
	if a.Answerer != nil {
		a.Heard(stamp.Time(), now)
	}
}

// Open starts to serve a peer that holds State(have).
func (s *Server) Open(id systems.Peer, seat int, have ecs.Tick, now systems.Time, _ systems.Outbox) {
	if seat < -1 || seat >= len(s.seats) {
		panic(fmt.Sprintf("reckon: Open with seat %d in a game of %d players: a spectator's is -1", seat, len(s.seats)))
	}
	if have > s.done || have < s.OldestServable() {
		panic(fmt.Sprintf("reckon: Open of a peer that holds tick %d: ask OldestServable (%d) and Done (%d) first", have, s.OldestServable(), s.done))
	}
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
		}
	}
	if seat >= 0 && (!p.open || p.seat != seat) {
		s.seats[seat].Forget(s.done)
	}
	held, _ := s.ring.At(have)
	p.sender.Open(seat, held)
	p.open, p.seat, p.told, p.heard, p.slot, p.body, p.spoken, p.flaw = true, seat, have, 0, 0, 0, 0, peers.Sound
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

// watch lets peers hear from where their avatars are.
func (s *Server) watch() {
	if s.sets == nil {
		return
	}
	for id := range s.peers {
		p, from := &s.peers[id], (*avatar)(nil)
		for i := range s.avatars {
			if p.open && int(s.avatars[i].player) == p.seat {
				from = &s.avatars[i]
				break
			}
		}
		switch {
		case from != nil:
			m, _ := s.world.Motion(from.entity)
			s.sets.Watch(id, m.Pos)
			p.watching = true
		case p.watching:
			s.sets.Unwatch(id)
			p.watching = false
		}
	}
	s.sets.Update()
}

// hears reports whether a peer is told of an entity: of what is near, what is its own, and what has no place; of
// everything while it has no avatar to hear from.
func (s *Server) hears(id int, e ecs.Entity) bool {
	p := &s.peers[id]
	if s.sets == nil || !p.watching || p.seat >= 0 && e.Owner() == ecs.OwnedBy(ecs.Player(p.seat)) {
		return true
	}
	slot, ok := s.herald.byRow[e.Row]
	return !ok || s.sets.Has(id, slot)
}

// nearness says how many times the priority of an entity counts for a peer that hears of it: once at the border, twice
// where it is and of what has no place.
func (s *Server) nearness(id int, e ecs.Entity) float32 {
	slot, ok := s.herald.byRow[e.Row]
	if !ok || !s.peers[id].watching {
		return 2
	}
	far := float32(s.sets.Distance(id, slot).Float() / s.limits.Interest.Float())
	return 2 - min(far, 1)
}

// Send sends every open peer what it was not told of.
func (s *Server) Send(now systems.Time, out systems.Outbox) {
	for i := range s.peers {
		p := &s.peers[i]
		if !p.open {
			continue
		}
		s.sendEvents(systems.Peer(i), p, out)
		s.sendClock(systems.Peer(i), p, now, out)
		if p.flaw == peers.Sound {
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

// sendEvents sends what the ticks after p.told emitted, a message for each that emitted anything. Also to a peer that
// needs an image: what happens meanwhile is not in there.
func (s *Server) sendEvents(id systems.Peer, p *peer, out systems.Outbox) {
	for f := max(p.told, s.OldestServable()) + 1; f <= s.done; f++ {
		events := s.events[f%ecs.Tick(len(s.events))]
		if len(events) == 0 {
			continue
		}
		s.scratch.message = appendEvents(s.scratch.message[:0], events)
		if len(s.scratch.message) > 0 {
			p.heard = f
			out.Send(id, systems.Reliable, s.scratch.message)
		}
	}
	p.told = s.done
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
	headDue := len(head.snaps) > 0 || !head.ready
	headDue = headDue && s.done >= p.spoken+ecs.Tick(max(1, s.game.TickRate/greetings))
	m := newsMessage{message: s.scratch.message[:0]}
	if head.ready && !p.introduced {
		p.introduced = true
		s.herald.introduce(s.due, func(slot int, record []byte) {
			if s.hears(int(id), s.herald.things[slot].entity) {
				s.tell(id, &m, &head, record, out)
			}
		})
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
		m.message[newsFlags] |= newsBody
		m.message = p.sender.Append(m.message, systems.MaxDatagram-len(m.message), p.interest)
		p.slot, p.body = slot, s.done
	} else if headDue {
		m.begin(&head)
	}
	if m.open() {
		p.spoken = s.done
		if p.seat >= 0 {
			s.seats[p.seat].TakeWorst()
		}
		m.flush(id, out)
	}
	s.scratch.message = m.message
}

// tell adds a record to the message, or to the next.
func (s *Server) tell(id systems.Peer, m *newsMessage, head *newsHead, record []byte, out systems.Outbox) {
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
func (s *Server) head(p *peer, now systems.Time) newsHead {
	h := newsHead{tick: s.done, ready: p.clock.Answerer == nil}
	if !h.ready {
		_, h.ready = p.clock.remote(now)
	}
	if p.heard > 0 {
		h.events = uint64(s.done-p.heard) + 1
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

// newsMessage is a message of news while it is written.
type newsMessage struct {
	message []byte
	count   int // where the number of records stands; 0: the message is not begun
	sent    int // messages so far
}

// newsFlags is where the flags stand in a message.
const newsFlags = 5

func (m *newsMessage) open() bool { return m.count > 0 }

// begin writes the head, if there is no message yet. The avatars are in the first message only.
func (m *newsMessage) begin(h *newsHead) {
	if m.open() {
		return
	}
	w := wire.NewWriter(m.message[:0], newsBytes)
	h.append(&w)
	h.snaps = h.snaps[:0]
	m.message = w.Bytes()
	m.count = len(m.message)
	m.message = append(m.message, 0)
}

// add writes a record; it reports whether there was room.
func (m *newsMessage) add(record []byte) bool {
	if len(m.message)+len(record) > systems.MaxDatagram || m.message[m.count] == maxNews {
		return false
	}
	m.message = append(m.message, record...)
	m.message[m.count]++
	return true
}

func (m *newsMessage) flush(id systems.Peer, out systems.Outbox) {
	out.Send(id, systems.Datagram, m.message)
	m.count = 0
	m.sent++
}

// Desynced calls f for each peer that needs an image and was not told of since it was opened.
func (s *Server) Desynced(f func(systems.Peer)) {
	for id := range s.peers {
		if p := &s.peers[id]; p.open && p.flaw.Tell() {
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
