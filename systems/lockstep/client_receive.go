package lockstep

import (
	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// maxHeld is the most operations that wait for their frame.
const maxHeld = 4096

// maxPending is the most bytes of frames that wait to be executed: more than any server keeps.
const maxPending = 2 * maxBacklog

// receiveSync accepts the frames that follow those that are complete. A sync that leaves a gap is dropped: the next one
// starts where the acknowledgement of this peer ends. All of it is read before any of it is used, so that a message which
// is refused changes nothing.
func (c *Client) receiveSync(m systems.Message) error {
	var head syncHead
	r := wire.NewReader(m.Body)
	if err := head.read(&r, c.log.last); err != nil {
		return err
	}
	bits := wire.NewBitReader(r.Rest())
	known, ok := c.startFrom(&head, &bits)
	if !ok {
		return ErrMessage
	}
	was := c.log.last
	if known {
		frames := bits
		whole, ok := c.readFrames(&head, frames, false)
		if !ok || c.log.bytes > maxPending {
			return ErrMessage
		}
		c.startFrom(&head, nil)
		c.readFrames(&head, bits, true)
		in := &c.incoming
		if in.blocked = in.blocked[:0]; !whole {
			in.blocked = append(in.blocked, m.Body...)
		}
	}
	if promised := head.last() + head.ahead; promised >= c.announced {
		c.announced, c.interval = promised, head.interval
	}
	c.own.acknowledge(head.acked, m.Now, &c.RTT)
	if c.log.last > was {
		c.margin.arrived(was, c.log.last, c.interval, m.Now, !c.Live())
		c.grid.anchor = m.Now
		c.Timer.Pending = c.Timer.Pending || c.Spectates()
	}
	return nil
}

// startFrom copies the inputs of the frame before the sync's first into before. They are those of the sync's key, which
// is read if r is not nil, or those that are kept. known is false where there are none, and for a gap.
func (c *Client) startFrom(h *syncHead, r *wire.BitReader) (known, ok bool) {
	if h.key && r != nil {
		c.incoming.key = append(c.incoming.key[:0], c.incoming.before...)
		clear(c.incoming.key)
		for p := range c.incoming.key {
			if _, ok := code.ReadChange(r, &c.incoming.key[p], c.Game); !ok {
				return false, false
			}
		}
	}
	if h.first > c.log.last+1 {
		return false, true
	}
	inputs := c.incoming.key
	if !h.key {
		if inputs = c.incoming.recent.at(h.first - 1); inputs == nil {
			return false, true
		}
	}
	copy(c.incoming.before, inputs)
	return true, true
}

// readFrames reads the frames of a sync, which follow before, and with keep stores those that are new. whole is false
// if operations of a frame are missing; that frame and those behind it are then not kept. ok is false for a malformed
// message.
func (c *Client) readFrames(h *syncHead, r wire.BitReader, keep bool) (whole, ok bool) {
	if keep && h.key && h.first == c.at()+1 && c.log.last == c.at() {
		copy(c.executed.inputs, c.incoming.before) // the game may have refused some of them
		c.incoming.recent.put(c.at(), c.incoming.before)
	}
	for f := h.first; f <= h.last(); f++ {
		code, digest := c.incoming.tail.read(&r, c.incoming.before, c.Game)
		if code == codedWrong || r.Err() != nil {
			return false, false
		}
		switch known := c.incoming.recent.at(f); {
		case f <= c.log.last && known == nil:
			return true, true // executed long ago
		case f <= c.log.last:
			copy(c.incoming.tail.inputs, known)
		case code == codedDigest && !c.gather(f, digest):
			return false, true
		case keep:
			c.log.add(&c.incoming.tail, c.incoming.before)
			c.incoming.recent.put(f, c.incoming.tail.inputs)
			c.incoming.dropThrough(f)
		}
		copy(c.incoming.before, c.incoming.tail.inputs)
	}
	return true, r.Close() == nil
}

// gather builds frame f in tail from the operations that came by themselves, and reports whether they are complete.
func (c *Client) gather(f ecs.Tick, want uint32) bool {
	c.incoming.tail.follow(c.incoming.before, c.Game)
	for i := range c.incoming.held {
		if o := &c.incoming.held[i]; o.tick == f {
			o.apply(&c.incoming.tail, c.Game)
		}
	}
	c.incoming.tail.finish()
	w := wire.NewBitWriter(c.scratch.code[:0], worstCode(c.Game))
	c.incoming.tail.append(&w, c.incoming.before, c.Game)
	w.Bool(true)
	c.scratch.code = w.Bytes()
	return w.Err() == nil && digest(c.scratch.code) == want
}

// receiveStamped accepts an operation that comes by itself, in the order of its frame's numbers. One that is held or was
// executed is dropped.
func (c *Client) receiveStamped(m systems.Message) error {
	var s stamped
	if err := s.read(m.Body, c.Game); err != nil {
		return err
	}
	if s.tick > c.announced+redundant+ecs.Tick(2*c.Game.TickRate) || len(c.incoming.held) >= maxHeld {
		return ErrMessage
	}
	if s.tick <= c.log.last {
		return nil
	}
	number := 0
	for i := range c.incoming.held {
		if c.incoming.held[i].tick == s.tick {
			number++
		}
	}
	if s.number != number {
		return nil
	}
	c.incoming.held = append(c.incoming.held, s)
	if in := &c.incoming; len(in.blocked) > 0 {
		in.again = append(in.again[:0], in.blocked...)
		m.Body = in.again
		return c.receiveSync(m)
	}
	return nil
}
