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
	switch known, ok := c.read(&head, r.Rest()); {
	case !known:
		return nil // a later confirmation starts later
	case !ok:
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

// read decodes the new ticks of a confirmation into scratch, so that a refused message changes no state. known is false if this
// client lacks inputs against which they are coded, or its own inputs that were left out. ok is false if the message does not
// follow the standard. Ticks that the client has are skipped if the size of their codes is known.
func (c *Client) read(head *confirmHead, ticks []byte) (known, ok bool) {
	bits := wire.NewBitReader(ticks)
	s, received := &c.scratch, c.timeline.Received()
	s.fresh, s.rows = s.fresh[:0], s.rows[:0]
	f := head.first
	begin, hasBegin := c.ends.At(f - 1)
	end, hasEnd := c.ends.At(min(head.last(), received))
	at := uint64(0)
	if hasBegin && hasEnd && c.endsOwn == head.withoutOwn {
		bits.Skip(int(*end - *begin))
		f, at = min(head.last(), received)+1, *end
	} else {
		c.ends.Clear()
		c.ends.Put(f-1, 0)
		c.endsOwn = head.withoutOwn
	}
	for p := range s.before {
		if s.before[p], known = c.course(f-1, ecs.Player(p)); !known {
			return false, false
		}
	}
	own := ownInput{seat: -1}
	left := bits.Len()
	for ; f <= head.last(); f++ {
		if head.withoutOwn {
			own = c.own(f)
		}
		var t finalTick
		if !t.read(&bits, s.before, c.Game, own) || bits.Err() != nil {
			return own.seat < 0 || own.given, false
		}
		c.ends.Put(f, at+uint64(left-bits.Len()))
		if f > received {
			s.fresh = append(s.fresh, t)
			for p := range s.before {
				s.rows = append(s.rows, s.before[p].Last)
			}
		}
	}
	return true, bits.Close() == nil
}

// own returns this client's input of tick f.
func (c *Client) own(f ecs.Tick) (own ownInput) {
	if own.seat = c.Config.Seat; own.seat < 0 {
		return own
	}
	if own.in, own.given = c.timeline.InputAt(f, ecs.Player(own.seat)); own.given {
		return own
	}
	if e, ok := c.line.Inputs.Given(f); ok {
		own.in, own.given = e.In, true
	}
	return own
}

// confirm gives the ticks that are new to the timeline.
func (c *Client) confirm() error {
	players := len(c.scratch.before)
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
