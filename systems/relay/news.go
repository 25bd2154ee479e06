package relay

import (
	"tendon/ecs"
	"tendon/net/wire"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/inputs"
)

// heldOrders counts, by tick, the orders that the timeline was given and has not dropped. Orders that a server sends
// again, to a peer that it opens anew, are known by their number.
type heldOrders []heldTick

type heldTick struct {
	tick  ecs.Tick
	count int
}

// of returns the place of tick f's count, which is made if need be.
func (h *heldOrders) of(f ecs.Tick) *int {
	for i := range *h {
		if (*h)[i].tick == f {
			return &(*h)[i].count
		}
	}
	*h = append(*h, heldTick{tick: f})
	return &(*h)[len(*h)-1].count
}

// dropThrough forgets the ticks ≤ f.
func (h *heldOrders) dropThrough(f ecs.Tick) {
	kept := (*h)[:0]
	for _, t := range *h {
		if t.tick > f {
			kept = append(kept, t)
		}
	}
	*h = kept
}

// Receive takes a message from the server.
func (c *Client) Receive(_ systems.Channel, message []byte, now systems.Time) error {
	if !c.loaded || len(message) == 0 {
		return ErrMessage
	}
	switch {
	case message[0] == kindConfirm: // on either channel: where datagrams do not get through, all goes on the other
		return c.receiveConfirm(message, now)
	case message[0] == kindStamped: // reliable, and as a datagram while a tick waits for it
		return c.receiveStamped(message)
	}
	return ErrMessage
}

// receiveStamped takes an order, in the order of its tick's numbers. One that is held or was carried out is passed
// over. So is one that leaves a gap: what it lacks was dropped with the state that a resync replaced, and the server
// sends all again when it opens this peer anew.
func (c *Client) receiveStamped(message []byte) error {
	var s stampedOrder
	if err := s.read(message, c.game); err != nil {
		return err
	}
	if s.tick > c.server+ecs.Tick(c.game.TickRate)+backlog {
		return ErrMessage
	}
	if s.tick <= c.timeline.Received() {
		return nil
	}
	c.held.dropThrough(c.timeline.Received())
	count := c.held.of(s.tick)
	if s.number != *count {
		return nil
	}
	err := c.timeline.AddOrder(s.tick, s.order)
	if err == nil {
		*count++
	}
	return err
}

// receiveConfirm makes final what follows the last final tick. A confirmation that starts later left a gap and waits
// for the next, which starts where this peer's acknowledgement ends.
func (c *Client) receiveConfirm(message []byte, now systems.Time) error {
	var head confirmHead
	r := wire.NewReader(message)
	if err := head.read(&r, c.timeline.Received()); err != nil {
		return err
	}
	if head.last()+head.more > c.server+backlog {
		return ErrMessage
	}
	if head.first > c.timeline.Received()+1 || !c.startFrom(head.first-1) {
		return nil
	}
	if !c.read(&head, r.Rest()) {
		return ErrMessage
	}
	c.heard, c.server = true, max(c.server, head.last()+head.more)
	if head.hasMargin {
		c.stats.Margin = float64(head.margin.Value) / inputs.MarginUnit
		c.lead.Measured(uint64(head.margin.Tick), c.stats.Margin, now)
	}
	ecs.SectionReconcile.Enter(c.config.Observer)
	defer ecs.SectionReconcile.Leave(c.config.Observer)
	return c.confirm()
}

// startFrom puts the inputs of tick f, against which the next is coded, into scratch. It reports whether they are
// still kept; if not, a later confirmation starts later.
func (c *Client) startFrom(f ecs.Tick) bool {
	for p := range c.scratch.inputs {
		in, known := c.timeline.InputAt(f, ecs.Player(p))
		if !known.Final() {
			return false
		}
		c.scratch.inputs[p] = in
	}
	return true
}

// read reports whether the ticks of a confirmation follow the standard, and keeps those that are new. It comes before
// anything is believed, so that a message which is refused changes nothing.
func (c *Client) read(head *confirmHead, ticks []byte) bool {
	bits := wire.NewBitReader(ticks)
	s := &c.scratch
	s.fresh, s.rows = s.fresh[:0], s.rows[:0]
	t := finalTick{inputs: s.inputs}
	for f := head.first; f <= head.last(); f++ {
		if !t.read(&bits, c.game) || bits.Err() != nil {
			return false
		}
		if f > c.timeline.Received() {
			s.fresh = append(s.fresh, finalTick{altered: t.altered, orders: t.orders})
			s.rows = append(s.rows, t.inputs...)
		}
	}
	return bits.Close() == nil
}

// confirm gives the ticks that are new to the timeline.
func (c *Client) confirm() error {
	players := len(c.scratch.inputs)
	for i := range c.scratch.fresh {
		t := &c.scratch.fresh[i]
		inputs := c.scratch.rows[i*players : (i+1)*players]
		switch err := c.timeline.Confirm(c.timeline.Received()+1, inputs, t.altered, rollback.OrderDigest(t.orders)); err {
		case nil:
		case rollback.ErrOrdersMissing, rollback.ErrTooFar:
			return nil // the orders are on their way, or the states up to here must be computed first
		default:
			return err
		}
		if c.config.Seat < 0 {
			c.unsent = true
		} else if t.altered.Has(ecs.Player(c.config.Seat)) {
			c.stats.Substituted++
		}
	}
	return nil
}

// Send sends the inputs the server has not used yet and how far this peer's input sets are final, and the checksums
// due: after each frame that sampled an input (a spectator's: that follows news), or a little more than a tick's time
// after the last where nothing happens.
func (c *Client) Send(now systems.Time, out systems.Outbox) {
	if !c.loaded {
		return
	}
	tick := systems.Second / systems.Time(c.game.TickRate)
	if c.unsent || now-c.lastSend >= tick+tick/4 {
		c.unsent, c.lastSend = false, now
		m := &c.scratch.window
		m.received, m.inputs = c.timeline.Received(), m.inputs[:0]
		if c.config.Seat >= 0 {
			m.inputs = c.own.AppendFrom(m.inputs, m.received+1)
		}
		c.scratch.message = m.append(c.scratch.message[:0], c.game)
		out.Send(0, systems.Datagram, c.scratch.message)
	}
	c.sendHashes(out)
}

// sendHashes sends the checksum of every tick that is checked and has become confirmed.
func (c *Client) sendHashes(out systems.Outbox) {
	for next := (c.hashed/checkEvery + 1) * checkEvery; next <= c.timeline.Confirmed(); next += checkEvery {
		c.hashed = next
		s, ok := c.timeline.Snapshot(next)
		if !ok {
			continue
		}
		m := hashMessage{next, s.Checksum()}
		c.scratch.message = m.append(c.scratch.message[:0])
		out.Send(0, systems.Reliable, c.scratch.message)
		c.stats.Hashes++
	}
}
