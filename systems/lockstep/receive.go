package lockstep

import (
	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// maxHeld bounds the operations that wait for their frame.
const maxHeld = 4096

// maxPending bounds the frames that wait to be executed, in bytes: more than any server keeps.
const maxPending = 2 * maxBacklog

// Receive takes a message from the server.
func (c *Client) Receive(ch systems.Channel, message []byte, now systems.Time) error {
	if !c.loaded || len(message) == 0 {
		return ErrMessage
	}
	switch {
	case message[0] == kindSync: // on either channel: where datagrams do not get through, all goes on the other
		return c.receiveSync(message, now)
	case message[0] == kindStamped && ch == systems.Reliable:
		return c.receiveStamped(message, now)
	}
	return ErrMessage
}

// receiveSync takes the frames that follow those that are complete. A sync that leaves a gap waits for the next, which
// starts where this peer's acknowledgement ends. All of it is read before any is believed, so that a message which is
// refused changes nothing.
func (c *Client) receiveSync(message []byte, now systems.Time) error {
	var head syncHead
	r := wire.NewReader(message)
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
		if c.blocked = c.blocked[:0]; !whole {
			c.blocked = append(c.blocked, message...)
		}
	}
	if promised := head.last() + head.ahead; promised >= c.announced {
		c.announced, c.interval = promised, head.interval
	}
	c.own.acknowledge(head.acked, now, &c.rtt)
	if c.log.last > was {
		c.margin.arrived(was, c.log.last, c.interval, now, c.catching)
		c.grid.anchor = now
		c.unsent = c.unsent || c.host.Seat < 0
	}
	return nil
}

// startFrom puts the inputs of the frame before the sync's first into before: those that the sync has itself, which
// are read if r is not nil, or those that are remembered. known is false where there are none, and for a gap.
func (c *Client) startFrom(h *syncHead, r *wire.BitReader) (known, ok bool) {
	if h.key && r != nil {
		c.key = append(c.key[:0], c.before...)
		clear(c.key)
		for p := range c.key {
			if !code.ReadChange(r, &c.key[p], c.game) {
				return false, false
			}
		}
	}
	if h.first > c.log.last+1 {
		return false, true
	}
	inputs := c.key
	if !h.key {
		if inputs = c.recent.at(h.first - 1); inputs == nil {
			return false, true
		}
	}
	copy(c.before, inputs)
	return true, true
}

// readFrames reads the frames of a sync, of which before is the predecessor, and keeps those that are new, if keep says
// so. whole is false if operations of a frame are missing; it and those behind it are left alone then. ok is false for
// what does not follow the standard.
func (c *Client) readFrames(h *syncHead, r wire.BitReader, keep bool) (whole, ok bool) {
	if keep && h.key && h.first == c.at()+1 && c.log.last == c.at() {
		copy(c.executed.inputs, c.before) // the game may have refused some of them
		c.recent.put(c.at(), c.before)
	}
	for f := h.first; f <= h.last(); f++ {
		code, digest := c.tail.read(&r, c.before, c.game)
		if code == codedWrong || r.Err() != nil {
			return false, false
		}
		switch known := c.recent.at(f); {
		case f <= c.log.last && known == nil:
			return true, true // long executed
		case f <= c.log.last:
			copy(c.tail.inputs, known)
		case code == codedDigest && !c.gather(f, digest):
			return false, true
		case keep:
			c.log.add(&c.tail, c.before)
			c.recent.put(f, c.tail.inputs)
			c.forget(f)
		}
		copy(c.before, c.tail.inputs)
	}
	return true, r.Close() == nil
}

// gather makes tail frame f out of the operations that came by themselves, and reports whether they are all.
func (c *Client) gather(f ecs.Tick, want uint32) bool {
	c.tail.follow(c.before, c.game)
	for i := range c.held {
		if o := &c.held[i]; o.tick == f {
			o.apply(&c.tail, c.game)
		}
	}
	c.tail.finish()
	w := wire.NewBitWriter(c.scratch.code[:0], worstCode(c.game))
	c.tail.append(&w, c.before, c.game)
	w.Bool(true)
	c.scratch.code = w.Bytes()
	return w.Err() == nil && digest(c.scratch.code) == want
}

// forget drops the operations of the frames ≤ f.
func (c *Client) forget(f ecs.Tick) {
	if len(c.held) == 0 {
		return
	}
	kept := c.held[:0]
	for _, o := range c.held {
		if o.tick > f {
			kept = append(kept, o)
		}
	}
	c.held = kept
}

// receiveStamped takes an operation that comes by itself, in the order of its frame's numbers. One that is held or was
// carried out is passed over.
func (c *Client) receiveStamped(message []byte, now systems.Time) error {
	var s stamped
	if err := s.read(message, c.game); err != nil {
		return err
	}
	if s.tick > c.announced+redundant+ecs.Tick(2*c.game.TickRate) || len(c.held) >= maxHeld {
		return ErrMessage
	}
	if s.tick <= c.log.last {
		return nil
	}
	number := 0
	for i := range c.held {
		if c.held[i].tick == s.tick {
			number++
		}
	}
	if s.number != number {
		return nil
	}
	c.held = append(c.held, s)
	if len(c.blocked) > 0 {
		c.again = append(c.again[:0], c.blocked...)
		return c.receiveSync(c.again, now)
	}
	return nil
}

// recent remembers the inputs of the last frames that are complete, against which syncs are coded. Those of frame f lie
// in slot f % remembered, which stores its frame.
type recent struct {
	ticks   [remembered]ecs.Tick // + 1; 0: none
	inputs  []ecs.InputBytes
	players int
}

// remembered is how many frames are: what datagrams may bring a client beyond the frame after which the server began to
// send it the rest over the reliable channel, twice.
const remembered = 2 * redundant

func (r *recent) init(game *ecs.Game) {
	r.players = game.MaxPlayers
	r.inputs = make([]ecs.InputBytes, remembered*r.players)
}

func (r *recent) reset() { clear(r.ticks[:]) }

func (r *recent) slot(f ecs.Tick) []ecs.InputBytes {
	at := int(f%remembered) * r.players
	return r.inputs[at : at+r.players]
}

func (r *recent) put(f ecs.Tick, inputs []ecs.InputBytes) {
	r.ticks[f%remembered] = f + 1
	copy(r.slot(f), inputs)
}

// at returns the inputs of frame f, nil if they are forgotten.
func (r *recent) at(f ecs.Tick) []ecs.InputBytes {
	if r.ticks[f%remembered] != f+1 {
		return nil
	}
	return r.slot(f)
}
