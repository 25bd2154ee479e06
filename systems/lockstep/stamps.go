package lockstep

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// placed is how full the frame is into which the last order was stamped.
type placed struct {
	tick  ecs.Tick
	count int
	bytes int // of payloads
}

// Stamp enters an order into the running frame, or into the next one that has room. It panics on an order that no peer
// would accept.
func (s *Server) Stamp(o image.Order, out systems.Outbox) ecs.Tick {
	s.CheckOrder(&o)
	next := s.stamped
	if next.tick <= s.Done() {
		next = placed{tick: s.Done() + 1}
	} else if next.count == maxOrders || next.bytes+len(o.Payload) > maxOrderPayload {
		next = placed{tick: next.tick + 1}
	}
	next.count, next.bytes = next.count+1, next.bytes+len(o.Payload)
	s.stamped, s.Stamped = next, next.tick
	s.orders.Add(next.tick, o)
	if s.settings.RelayAtOnce && !rare(o.Kind) {
		number := next.count - 1
		if next.tick == s.Done()+1 {
			number = s.relayed
			s.relayed++
		}
		s.relay(&stamped{tick: next.tick, number: number, order: o}, out)
	}
	return next.tick
}

// Unexecuted appends the orders of frames that have not ended.
func (s *Server) Unexecuted(dst []image.Order) []image.Order {
	return s.orders.AppendAfter(dst, s.Done())
}

// receiveOps accepts the progress of a peer and the operations of its player.
func (s *Server) receiveOps(m systems.Message) error {
	p, ops := &s.Peers[m.From], &s.ops
	s.pass(m.Now)
	if !s.AllowMessage(p) {
		return nil
	}
	link := &p.Own
	link.received = m.Now
	if ops.read(m.Body, s.Done(), s.Game) != nil || ops.received > max(s.syncs.sync, p.Opened) || p.Seat < 0 && len(ops.ops) > 0 {
		return ErrMessage
	}
	// The last acknowledgement counts, not the newest frame: one that was sent before an image was loaded may arrive after
	// it.
	if ops.received >= p.Opened {
		p.Acked, p.Stats.Acked = ops.received, ops.received
		link.live, link.stalled = ops.live, ops.stalled
		link.through = max(link.through, ops.executed+ecs.Tick(ops.lead))
	}
	for i := range ops.ops {
		number := ops.first + uint32(i)
		if int32(number-link.operated) <= 0 {
			continue // received before
		}
		link.operated = number
		s.operate(p, &ops.ops[i], m.Out)
	}
	if s.waits.held && link.near && p.Acked < s.syncs.sync && s.syncs.released == s.syncs.sync && m.Now-link.repeated >= resendHeld {
		link.repeated = m.Now
		s.sendNear(p, m.Out) // while frames wait, no later sync repeats a lost one
	}
	return nil
}

// operate stamps an operation of a player into the running frame.
func (s *Server) operate(p *peer, o *op, out systems.Outbox) {
	player := p.Player()
	member := s.members.Has(player)
	switch {
	case o.isOrder:
		order := image.Order{Kind: image.OrderGame, Player: player, Entity: o.target, Payload: o.payload, Number: o.number}
		// While a world on demand is behind, the conditions of orders are left to the execution on every peer.
		if reason := s.RefuseOrder(&order, s.members, s.World().Tick() != s.Done()); reason != "" {
			p.Stats.Refused++
			s.Refuse(&order, reason)
			return
		}
		s.Stamp(order, out)
	case !p.Own.changes.Allow(2 * s.Done()):
		p.Stats.Refused++
	case member:
		s.running.change(player, o.in, s.Game)
		if s.settings.RelayAtOnce && s.relayed < maxNumber {
			s.relay(&stamped{tick: s.Done() + 1, number: s.relayed, player: player, input: true, in: o.in}, out)
			s.relayed++
		}
	default:
		in := o.in
		if before, ok := s.idle[player]; ok {
			in = s.Game.Input.MergeLate(before, in)
		}
		s.idle[player] = in
	}
}

// relay sends a stamped operation to the peers that are near, and where everything is sent over the reliable channel, to
// those that were sent all frames before. A peer whose line is congested, or for which messages wait, receives it in a sync
// instead: on the reliable channel, operations could wait for long.
func (s *Server) relay(o *stamped, out systems.Outbox) {
	s.Sending.Message = o.append(s.Sending.Message[:0], s.Game)
	column := image.PartOrders
	if o.input {
		column = image.PartInputs
	}
	for i := range s.Peers {
		p := &s.Peers[i]
		switch {
		case !p.Open || !p.Own.near && (!s.settings.Reliable || p.Own.sent < s.syncs.sync):
		case p.Own.near && (!out.Ready(p.ID) || out.Room(p.ID) == 0):
			p.Own.whole = o.tick
		default:
			out.Send(p.ID, systems.Reliable, s.Sending.Message)
			s.CountPart(column, len(s.Sending.Message))
		}
	}
}
