package simnet

import (
	"cmp"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
)

// crossPacket is the size of a packet of cross traffic, headers included: a full packet of Ethernet.
const crossPacket = 1500

// Cross is traffic of others through the bandwidth of a Path. It is on and off by turns, and begins off. While it is on, its
// packets of 1500 bytes come at random (Poisson). It does not respond to congestion, and does not depend on other traffic.
type Cross struct {
	Bandwidth int           // while on, in bytes per second, headers included; 0: no cross traffic
	On        time.Duration // mean length of a burst, exponential, [1 ms, 1 min] if Bandwidth is set
	Off       time.Duration // mean time between two bursts, exponential, [0, 1 min]; 0: always on
}

// line is a bottleneck: one bandwidth and one queue, for one direction or for all that name the same Path.Line.
type line struct {
	seed       uint64
	bandwidth  int
	queueBytes int
	busyUntil  Time // when all that is queued has left
	cross      *crossTraffic
	scripted   []*crossTraffic // of Network.Cross
}

// set gives the line the bandwidth, the queue and the cross traffic of a path.
func (l *line) set(now Time, p *Path) {
	if p.Bandwidth != l.bandwidth {
		l.busyUntil = 0 // another bottleneck, with an empty queue
	}
	old := Cross{}
	if l.cross != nil {
		old = l.cross.Cross
	}
	l.bandwidth, l.queueBytes = p.Bandwidth, cmp.Or(p.QueueBytes, defaultQueueBytes)
	if p.Cross != old {
		l.cross = newCrossTraffic(now, l.seed, p.Cross)
	}
}

// queue returns when the last byte of a packet has left, or that the queue is full.
func (l *line) queue(now Time, size int) (Time, bool) {
	if l.bandwidth == 0 {
		return now, true
	}
	l.advance(now)
	return l.offer(now, size)
}

// offer puts a packet into the queue, at a time that never falls.
func (l *line) offer(now Time, size int) (Time, bool) {
	const perSecond = int64(time.Second)
	rate := int64(l.bandwidth)
	l.busyUntil = max(l.busyUntil, now)
	waiting := int64(l.busyUntil-now) * rate / perSecond // at most maxQueueBytes, so the product does not overflow
	if waiting+int64(size) > int64(l.queueBytes) {
		return 0, false
	}
	l.busyUntil += Time(int64(size) * perSecond / rate)
	return l.busyUntil, true
}

// advance offers the packets of cross traffic that come up to now.
func (l *line) advance(now Time) {
	for {
		first := l.cross
		for _, c := range l.scripted {
			if first == nil || c.next < first.next {
				first = c
			}
		}
		if first == nil || first.next > now {
			return
		}
		l.offer(first.next, crossPacket)
		first.step()
	}
}

// crossTraffic draws the times of the packets of a Cross.
type crossTraffic struct {
	Cross
	dice  dice
	next  Time // of the next packet
	until Time // end of the burst
}

// newCrossTraffic returns nil for no traffic.
func newCrossTraffic(now Time, seed uint64, c Cross) *crossTraffic {
	if c.Bandwidth == 0 {
		return nil
	}
	t := &crossTraffic{Cross: c, dice: newDice(seed, streamCross), next: now, until: now}
	t.step()
	return t
}

// step draws the next packet. Each turn of the loop moves it forward.
func (c *crossTraffic) step() {
	c.next += 1 + c.dice.exponential(time.Duration(crossPacket*int64(time.Second)/int64(c.Bandwidth)))
	for c.Off > 0 && c.next >= c.until {
		begin := c.until + 1 + c.dice.exponential(c.Off)
		c.next, c.until = begin, begin+1+c.dice.exponential(c.On)
	}
}

// shared returns the line that a path names, or nil.
func (n *Network) shared(p *Path) *line {
	if p.Line == "" {
		return nil
	}
	l := n.lines[p.Line]
	if l == nil {
		l = &line{seed: mix(n.config.Seed, xxhash.Sum64String(p.Line))}
		n.lines[p.Line] = l
	}
	return l
}

// Cross sends cross traffic through the line from → to in [t0, t1), in bytes per second, headers included: see Cross. The
// path must have a Bandwidth then.
func (n *Network) Cross(from, to NodeID, bandwidth int, t0, t1 Time) {
	if bandwidth < 1 || bandwidth > maxBandwidth {
		panic("simnet: Cross of a bandwidth out of range; want 1 to 1<<30 bytes per second")
	}
	var l *line
	var c *crossTraffic
	n.during(t0, t1, func() {
		d := n.direction(from, to)
		l = d.line
		l.advance(n.now)
		c = newCrossTraffic(n.now, l.seed, Cross{Bandwidth: bandwidth})
		l.scripted = append(l.scripted, c)
	}, func() {
		l.advance(n.now)
		l.scripted = slices.DeleteFunc(l.scripted, func(x *crossTraffic) bool { return x == c })
	})
}

// Queued returns the time that a packet sent now from → to would wait for the bandwidth.
func (n *Network) Queued(from, to NodeID) time.Duration {
	l := n.direction(from, to).line
	if l.bandwidth != 0 {
		l.advance(n.now)
	}
	return max(0, l.busyUntil-n.now)
}
