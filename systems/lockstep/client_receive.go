package lockstep

import (
	"slices"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/code"
)

const (
	maxHeld    = 4096           // most operations that wait for their frame
	maxPending = 2 * maxBacklog // most bytes of frames that wait to be executed: more than any server keeps
	remembered = 2 * redundant  // frames whose inputs are kept: datagrams may bring half of them beyond the first reliable one
)

// receiveSync accepts the frames that follow those that are complete. A sync that leaves a gap is dropped: the next one
// starts where the acknowledgement of this peer ends. All of it is read before any of it is used, so that a message which
// is refused changes nothing.
func (c *Client) receiveSync(m systems.Message) error {
	var head syncHead
	r := wire.NewReader(m.Body)
	if err := head.read(&r, c.log.last); err != nil {
		return err
	}
	in, was := &c.incoming, c.log.last
	_, known := in.recent.At(head.first - 1)
	if head.first <= was+1 && (head.key || known) {
		bits := wire.NewBitReader(r.Rest())
		whole, ok := c.readFrames(&head, bits, false)
		if !ok || c.log.bytes > maxPending {
			return ErrMessage
		}
		c.readFrames(&head, bits, true)
		in.blocked = in.blocked[:0]
		if !whole {
			in.blocked = append(in.blocked, m.Body...)
		}
	}
	if promised := head.last() + head.ahead; promised >= c.announced {
		c.announced, c.interval = promised, head.interval
	}
	c.own.acknowledge(head.acked, m.Now, &c.RTT)
	if c.log.last > was {
		c.margin.arrived(was, c.log.last, c.interval, m.Now, !c.Live())
		c.anchor = m.Now
		c.Timer.Pending = c.Timer.Pending || c.Spectates()
	}
	return nil
}

// readFrames reads the frames of a sync, and with keep stores those that are new. The first one is coded against the key, or
// against the inputs that are kept. whole is false if operations of a frame are missing; that frame and those behind it are
// then not kept. ok is false for a malformed message.
func (c *Client) readFrames(h *syncHead, r wire.BitReader, keep bool) (whole, ok bool) {
	in := &c.incoming
	if h.key {
		clear(in.before)
		if _, ok := code.ReadInputs(&r, in.before, c.Game); !ok {
			return false, false
		}
	} else if kept, ok := in.recent.At(h.first - 1); ok {
		copy(in.before, *kept)
	}
	if keep && h.key && h.first == c.at()+1 && c.log.last == c.at() {
		copy(c.executed.inputs, in.before) // the game may have refused some of them
		in.remember(c.at(), in.before)
	}
	for f := h.first; f <= h.last(); f++ {
		digest, whole, ok := in.tail.read(&r, in.before, c.Game)
		if !ok || r.Err() != nil {
			return false, false
		}
		switch known, kept := in.recent.At(f); {
		case f <= c.log.last && !kept:
			return true, true // executed long ago
		case f <= c.log.last:
			copy(in.tail.inputs, *known)
		case !whole && !c.gather(f, digest):
			return false, true
		case keep:
			c.log.add(&in.tail, in.before)
			in.remember(f, in.tail.inputs)
			in.held = slices.DeleteFunc(in.held, func(o stamped) bool { return o.tick <= f })
		}
		copy(in.before, in.tail.inputs)
	}
	return true, r.Close() == nil
}

// gather builds frame f in tail from the operations of stamped messages, and reports whether they are complete.
func (c *Client) gather(f ecs.Tick, want uint32) bool {
	in := &c.incoming
	in.tail.follow(in.before, c.Game)
	for i := range in.held {
		if o := &in.held[i]; o.tick == f {
			o.apply(&in.tail, c.Game)
		}
	}
	in.tail.finish()
	w := wire.NewBitWriter(c.code[:0], worstCode(c.Game))
	in.tail.append(&w, in.before, c.Game)
	w.Bool(true)
	c.code = w.Bytes()
	return w.Err() == nil && digest(c.code) == want
}

// receiveStamped accepts an operation that comes in a message of its own, in the order of its frame's numbers. One that is held or was
// executed is dropped.
func (c *Client) receiveStamped(m systems.Message) error {
	var s stamped
	if err := s.read(m.Body, c.Game); err != nil {
		return err
	}
	if s.tick > c.announced+redundant+ecs.Tick(2*c.Game.TickRate) || len(c.incoming.held) >= maxHeld {
		return ErrMessage
	}
	in, number := &c.incoming, 0
	for i := range in.held {
		if in.held[i].tick == s.tick {
			number++
		}
	}
	if s.tick <= c.log.last || s.number != number {
		return nil
	}
	in.held = append(in.held, s)
	if len(in.blocked) > 0 {
		m.Body = in.blocked
		return c.receiveSync(m)
	}
	return nil
}

// incoming assembles the frames of syncs and of stamped messages.
type incoming struct {
	recent  rollback.Ring[[]ecs.InputBytes] // inputs of the last complete frames, which syncs are coded against
	tail    frame                           // the frame that is read
	before  []ecs.InputBytes                // inputs of the frame before it
	held    []stamped                       // operations of incomplete frames
	blocked []byte                          // the last sync that lacked operations; empty: none did
}

func (in *incoming) init(game *ecs.Game) {
	in.tail, in.recent = newFrame(game), rollback.NewRing[[]ecs.InputBytes](remembered)
	in.before = make([]ecs.InputBytes, game.MaxPlayers)
	for f := range ecs.Tick(remembered) {
		in.recent.Put(f, make([]ecs.InputBytes, game.MaxPlayers))
	}
}

// reset starts after frame f.
func (in *incoming) reset(f ecs.Tick, inputs []ecs.InputBytes) {
	in.recent.Clear()
	in.remember(f, inputs)
	in.held, in.blocked = in.held[:0], in.blocked[:0]
}

func (in *incoming) remember(f ecs.Tick, inputs []ecs.InputBytes) {
	slot, _ := in.recent.Slot(f)
	copy(*slot, inputs)
}
