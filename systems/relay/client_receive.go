package relay

import (
	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/inputs"
)

// receiveStamped accepts an order, in the order of its tick's numbers. It ignores an order that is held or was executed, and
// one that leaves a gap. The missing orders were dropped with the state that a resync replaced. The server sends all again
// when it opens this peer again.
func (c *Client) receiveStamped(m systems.Message) error {
	var s stampedOrder
	if err := s.read(m.Body, c.Game); err != nil {
		return err
	}
	if s.tick <= c.timeline.Received() || s.number != c.timeline.Orders(s.tick) {
		return nil
	}
	return c.timeline.AddOrder(s.tick, s.order)
}

// receiveConfirm makes final what follows the last final tick. A confirmation that starts later left a gap and waits
// for the next, which starts where this peer's acknowledgement ends.
func (c *Client) receiveConfirm(m systems.Message) error {
	var head confirmHead
	r := wire.NewReader(m.Body)
	if err := head.read(&r, c.timeline.Received()); err != nil {
		return err
	}
	if head.first > c.timeline.Received()+1 {
		return nil
	}
	before, ok := c.ends.At(head.first - 1)
	if !ok {
		return nil // a later confirmation starts later
	}
	if !c.read(&head, *before, r.Rest()) {
		return ErrMessage
	}
	c.Answered()
	c.Counted.ServerTick = max(c.Counted.ServerTick, head.last()+head.more)
	if head.hasMargin {
		c.Counted.Margin = float64(head.margin.Value) / inputs.MarginUnit
		c.line.Lead.Measured(head.margin.Tick, c.Counted.Margin, m.Now)
	}
	return c.confirm()
}

// read reports whether the new ticks of a confirmation follow the standard, and keeps them in scratch. So a message that is
// refused changes nothing. before is where the codes before the first tick end. Ticks that are held are skipped: a tick has
// the same code in every message.
func (c *Client) read(head *confirmHead, before uint64, ticks []byte) bool {
	bits := wire.NewBitReader(ticks)
	s, received := &c.scratch, c.timeline.Received()
	s.fresh, s.rows = s.fresh[:0], s.rows[:0]
	end, _ := c.ends.At(min(head.last(), received))
	bits.Skip(int(*end - before))
	for p := range s.inputs {
		s.inputs[p], _ = c.timeline.InputAt(received, ecs.Player(p))
	}
	t, left := finalTick{inputs: s.inputs}, bits.Len()
	for f := received + 1; f <= head.last(); f++ {
		if !t.read(&bits, c.Game) || bits.Err() != nil {
			return false
		}
		s.fresh = append(s.fresh, finalTick{altered: t.altered, orders: t.orders})
		s.rows = append(s.rows, t.inputs...)
		c.ends.Put(f, *end+uint64(left-bits.Len()))
	}
	return bits.Close() == nil
}

// confirm gives the ticks that are new to the timeline.
func (c *Client) confirm() error {
	players := len(c.scratch.inputs)
	for i := range c.scratch.fresh {
		t := &c.scratch.fresh[i]
		inputs := c.scratch.rows[i*players : (i+1)*players]
		if c.timeline.Confirm(c.timeline.Received()+1, inputs, t.altered, t.orders) != nil {
			return nil // the orders are on their way, or the states up to here must be computed first
		}
		if c.Spectates() {
			c.Timer.Pending = true
		} else if t.altered.Has(ecs.Player(c.Config.Seat)) {
			c.Counted.Substituted++
		}
	}
	return nil
}
