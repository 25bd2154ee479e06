package relay

import (
	"slices"

	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/authority"
	"tendon/systems/internal/code"
)

// olderTicks keeps the codes of ticks that have left codes, while a peer needs them: its image is under way, or it has loaded
// one and catches up. They are the ticks from first up to the one before the oldest in codes.
type olderTicks struct {
	limit  int      // most bytes of the ticks and their orders
	wanted ecs.Tick // the oldest tick that a peer needs
	first  ecs.Tick
	codes  []byte
	ends   []oldEnd // by tick, from first on
}

// oldEnd is where the code of a tick ends in codes, and the bytes of all ticks up to it.
type oldEnd struct{ code, bytes int }

const (
	defaultBacklog = 4 << 20
	oldEndBytes    = 16
	orderBytes     = 64       // of an order, beside its payload
	inFlight       = 512      // ticks that a peer is sent without an acknowledgement
	ordersInFlight = 48 << 10 // bytes of orders that a peer is sent without an acknowledgement
	leastOrder     = 16       // bytes that an order in flight counts at least: a client keeps few thousand orders
)

// need sets the oldest tick that a peer needs. If it is in codes, the older ones are dropped.
func (o *olderTicks) need(f, inCodes ecs.Tick) {
	if o.wanted = f; f >= inCodes && len(o.ends) > 0 {
		*o = olderTicks{limit: o.limit, wanted: f}
	}
}

// add keeps a tick that leaves codes, which a peer needs or which follows one that is kept. Above the limit, the older half
// is dropped.
func (o *olderTicks) add(f ecs.Tick, stored []byte, orders int) {
	if len(o.ends) == 0 {
		o.first = f
	}
	o.codes = append(o.codes, stored...)
	o.ends = append(o.ends, oldEnd{len(o.codes), o.bytes() + len(stored) + oldEndBytes + orders})
	if o.bytes() > o.limit {
		o.drop((len(o.ends) + 1) / 2)
	}
}

func (o *olderTicks) bytes() int {
	if len(o.ends) == 0 {
		return 0
	}
	return o.ends[len(o.ends)-1].bytes
}

// drop drops the first n ≥ 1 ticks.
func (o *olderTicks) drop(n int) {
	last := o.ends[n-1]
	o.codes, o.ends, o.first = slices.Delete(o.codes, 0, last.code), slices.Delete(o.ends, 0, n), o.first+ecs.Tick(n)
	for i := range o.ends {
		o.ends[i].code -= last.code
		o.ends[i].bytes -= last.bytes
	}
}

// at returns the code of a tick ≥ first.
func (o *olderTicks) at(f ecs.Tick) []byte {
	i, from := int(f-o.first), 0
	if i > 0 {
		from = o.ends[i-1].code
	}
	return o.codes[from:o.ends[i].code]
}

// Keep keeps the ticks after these states, and the ticks that a peer that catches up still lacks. ServerConfig.Backlog is the
// limit. A peer that has caught up and falls behind again is sent an image.
func (s *Server) Keep(states []ecs.Tick) {
	oldest := s.Done()
	for _, f := range states {
		oldest = min(oldest, f)
	}
	for i := range s.Peers {
		p := &s.Peers[i]
		p.Own.caughtUp = p.Own.caughtUp || p.Acked+backlog/2 >= s.Done()
		if p.Open && p.Resync == authority.InSync && !p.Own.caughtUp && s.Done()-p.Own.moved < backlog {
			oldest = min(oldest, p.Acked)
		}
	}
	s.older.need(oldest+1, s.Recent()+1)
}

// oldest returns the oldest tick whose state a peer may hold when it is opened.
func (s *Server) oldest() ecs.Tick {
	if len(s.older.ends) > 0 {
		return s.older.first - 1
	}
	return s.Recent()
}

// retire moves the tick that is about to leave codes to the older ones.
func (s *Server) retire() {
	f := s.Done() - min(s.Done(), backlog)
	stored, ok := s.codes.At(f)
	if !ok || f == 0 || f < s.older.wanted && len(s.older.ends) == 0 {
		return
	}
	s.scratch.orders = s.orders.AppendAt(s.scratch.orders[:0], f)
	orders := 0
	for i := range s.scratch.orders {
		orders += orderBytes + len(s.scratch.orders[i].Payload)
	}
	s.older.add(f, *stored, orders)
}

// code returns the code of a tick after the oldest.
func (s *Server) code(f ecs.Tick) []byte {
	if n := len(s.older.ends); n > 0 && f < s.older.first+ecs.Tick(n) {
		return s.older.at(f)
	}
	stored, _ := s.codes.At(f)
	return *stored
}

// fit returns how many of the ticks first … last fit into room bytes, at most maxConfirms.
func (s *Server) fit(first, last ecs.Tick, room int) int {
	bits := 0
	for f := first; f <= last; f++ {
		if bits += code.StoredBits(s.code(f)); bits > room*8 || f-first == maxConfirms {
			return int(f - first)
		}
	}
	return int(last + 1 - first)
}

// nextTicks returns the ticks of the next confirmation to a peer, none if all that it may be sent are in flight. After a
// quarter of a second, those are sent again; after a second, if the peer waits for orders.
func (s *Server) nextTicks(p *peer) (first, last ecs.Tick) {
	first, last = max(p.Acked, p.Own.sent)+1, min(s.Done(), p.Acked+inFlight)
	if p.Own.sent == 0 && !s.repeats(p) {
		first = max(first, p.Own.confirmed[copies-1]+1)
	}
	wait := s.Game.TickRate / 4
	if p.Own.flight.Bytes > 0 {
		wait = s.Game.TickRate
	}
	if first > last && s.Done()-p.Own.confirmed[0] >= ecs.Tick(wait) {
		first = p.Acked + 1
	}
	return first, last
}

// repeats reports whether the next confirmation to a peer starts at the first tick that it has not acknowledged. Otherwise, a
// tick is sent in as many confirmations as copies says. Where congestion control skips most confirmations, ticks are repeated
// only while an acknowledgement is overdue.
func (s *Server) repeats(p *peer) bool {
	if p.Own.waits > patience {
		p.Own.repeated = s.Done()
		return true
	}
	congested := s.Done() > p.Own.confirmed[copies-1]+2*copies
	return !congested && s.Done() <= p.Own.repeated+ecs.Tick(cautious*s.Game.TickRate)
}

// sendStamped sends a peer the orders of ticks after p.Own.ordered, in turn, as far as those in flight leave room.
func (s *Server) sendStamped(p *peer) {
	link := &p.Own
	link.flight.Acknowledge(p.Acked)
	for link.ordered < s.stamped.tick && link.flight.Bytes < ordersInFlight {
		link.ordered++
		if n := s.sendOrders(p, link.ordered, systems.Reliable, maxOrdersPerTick); n > 0 {
			link.flight.Add(link.ordered, n)
		}
	}
}
