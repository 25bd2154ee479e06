package simnet

const (
	headerBytes = 28   // IPv4 and UDP, of each packet on the wire
	maxInFlight = 4096 // packets under way in one direction; more are dropped, and Send refuses datagrams
)

// conduit is the path of one direction of a link. For each packet that is sent it returns the arrival times: none, one or
// two. It holds no packet and reads no clock. Times passed in never fall; the answer depends on the seed, the path and the
// packets before, and on nothing else.
type conduit struct {
	path     Path
	seed     uint64
	walkSeed uint64 // the same for both directions of a link
	dice     dice
	weather  weather

	own  line  // of a path without a Line
	line *line // own, or one that other directions share

	lastArrival Time // of an ordered path
	traceNext   int
	inFlight    int // copies on the way; its owner counts them, and drops packets above maxInFlight
	blocked     int // partitions that hold now
	arrivals    []Time
	Counters    Counters
}

// Counters counts the packets of one direction by outcome. A message of the reliable channel is one or more packets
// (segments), each sent until it is acknowledged.
type Counters struct {
	Packets    uint64 // given to the path, first or again, acknowledgements included
	Bytes      uint64 // of these packets, headers included
	Delivered  uint64 // taken by the receiver, twins included
	Lost       uint64 // by Loss or by Burst
	Tail       uint64 // dropped: no room in the bandwidth's queue, or too many in flight
	Oversized  uint64 // dropped: larger than the MTU
	Cut        uint64 // dropped: a partition was up, or the receiving node was down
	Overrun    uint64 // dropped: the receiver's socket buffer was full
	Scripted   uint64 // dropped by a Rule
	Duplicated uint64 // twins made by Duplicate or by a Rule
	Reordered  uint64 // delayed by Reorder or by a Rule
	Corrupted  uint64 // copies with a flipped bit; of the reliable channel, dropped

	Resent    uint64 // segments sent again
	Repeated  uint64 // segments that arrived again, or after a reset
	Discarded uint64 // segments thrown away by a crash, a restart or Reconnect, and datagrams from before Reconnect
}

// newConduit makes the direction from → to. The seeds depend on the two ends alone, so a link that is added does not
// shift the others.
func newConduit(root, from, to uint64) conduit {
	seed := mix(root, mix(from, to))
	c := conduit{seed: seed, walkSeed: mix(root, mix(min(from, to), max(from, to))), dice: newDice(seed, streamDice), own: line{seed: seed}}
	c.weather.reset(c.seed, c.walkSeed, &c.path)
	return c
}

// set changes the path. Packets queue in a shared line from now on, or in the conduit's own if it is nil. Packets on the way
// keep their arrival; the dice go on; the weather starts over only if its part of the path is another one.
func (c *conduit) set(now Time, p Path, shared *line) {
	old := c.path
	c.path, c.traceNext, c.line = p, 0, shared
	if shared == nil {
		c.line = &c.own
	}
	c.line.set(now, &p)
	if p.Burst != old.Burst || p.Walk != old.Walk {
		c.weather.reset(c.seed, c.walkSeed, &c.path)
	}
}

// pass decides on a packet of size bytes, headers not counted, given to the path at now, to which rules apply v. It
// returns the arrivals of its copies, valid until the next call.
func (c *conduit) pass(now Time, size int, v verdict) []Time {
	size += headerBytes
	c.Counters.Packets++
	c.Counters.Bytes += uint64(size)
	if c.blocked > 0 {
		c.Counters.Cut++
		return nil
	}
	if c.path.MTU > 0 && size > c.path.MTU {
		c.Counters.Oversized++
		return nil
	}
	sent, ok := c.line.queue(now, size)
	if !ok || c.inFlight >= maxInFlight {
		c.Counters.Tail++
		return nil
	}
	if c.weather.outage(&c.path.Burst, now) && c.dice.hit(c.path.Burst.Loss) || c.dice.hit(c.path.Loss) {
		c.Counters.Lost++
		return nil
	}
	at := append(c.arrivals[:0], c.travel(now, sent))
	if c.dice.hit(c.path.Reorder) {
		c.Counters.Reordered++
		at[0] += c.path.ReorderDelay
	}
	if c.dice.hit(c.path.Duplicate) {
		c.Counters.Duplicated++
		at = append(at, c.travel(now, sent))
	}
	if v.drop {
		c.Counters.Scripted += uint64(len(at))
		return nil
	}
	if v.twin && len(at) == 1 {
		c.Counters.Duplicated++
		at = append(at, at[0])
	}
	if v.delay > 0 {
		c.Counters.Reordered++
	}
	for i := range at {
		at[i] += v.delay
		if c.path.Ordered {
			at[i] = max(at[i], c.lastArrival)
			c.lastArrival = at[i]
		}
	}
	c.arrivals = at
	return at
}

// travel draws one arrival of a packet whose last byte left at sent.
func (c *conduit) travel(now, sent Time) Time {
	delay := c.path.Delay
	if c.path.Walk.Max > 0 {
		delay = c.weather.delay(&c.path.Walk, now)
	}
	switch j := &c.path.Jitter; j.Kind {
	case Uniform:
		delay += c.dice.uniform(j.Size)
	case Exponential:
		delay += c.dice.exponential(j.Size)
	case Normal:
		delay += c.dice.normal(j.Size)
	case Trace:
		delay += j.Trace[c.traceNext]
		c.traceNext = (c.traceNext + 1) % len(j.Trace)
	}
	return sent + max(0, delay)
}
