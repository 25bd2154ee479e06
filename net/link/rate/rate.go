package rate

import (
	"encoding/binary"
	"time"
)

// A Controller is one end of a connection. It reads no clock: the time is that of the last Update. One goroutine may use a
// Controller at a time.
type Controller struct {
	now     time.Duration
	most    float64 // bytes per second
	peer    arrivals
	sent    log
	line    line
	report  report // the newest of the peer
	arrived bool   // report was not processed yet

	rate       float64       // bytes per second
	slow       bool          // slow start: there was no overuse yet
	knee       float64       // the highest delivered rate, averaged; it falls by a tenth at most with each decrease
	hold       time.Duration // until when the rate does not change, so that its last change has an effect
	before     float64       // delivered rate at the first decrease since the queue was short
	short      time.Duration // when the queue was last short
	longest    time.Duration // queue since then, or since competing began
	competing  bool          // other flows fill the queue
	competes   time.Duration // when competing began
	limited    bool          // the messages of a tick are limited, too
	ticked     float64       // bytes per second of datagrams and reports
	debt       float64       // bytes of ticks that the rate has not paid yet
	skipped    time.Duration // when Ready last returned false
	unreported time.Duration // time without a report while packets were sent
}

const (
	// Header is what a packet takes on the line besides its content: 28 bytes for IPv4 and UDP, the rest for the seal.
	Header = 50

	lowest    = 2000     // lower limit of the lowest rates, in bytes per second: see least and ticks
	enough    = 4 << 10  // upper limit of the lowest rates
	initial   = 32 << 10 // first rate
	growth    = 0.03     // share of the rate by which it grows in a round trip
	step      = 1200     // maximum of that growth, in bytes per second
	smallStep = 100      // minimum of that growth, in bytes per second

	target   = 80 * time.Millisecond // longest queue that is no overuse: see allowed
	fewTicks = 1000                  // bytes per second of reports and probes alone

	deep = 250 * time.Millisecond // queue above which the factor of a decrease falls
	full = time.Second            // queue at which it is lowest

	shallowLoss = 0.15             // loss above which the rate is at most shallow times the delivered rate
	shallow     = 1.4              // more than 1/0.75, so that a random loss of 25 % does not lower the rate
	calm        = 10 * time.Second // without a skipped tick, after which ticks are not limited any more
	delay       = 100 * time.Millisecond
	stubborn    = 5 * time.Second / 2 // after which a queue that stays is that of other flows
	mute        = 3 * time.Second     // without reports, after which the rate falls
	ticksShare  = 7. / 8              // share of the rate for ticks while they are limited; the rest is for reliable segments
	mostDebt    = 0.2                 // largest debt to which a message is added, in seconds of the rate
)

// New returns a controller that sends at most so many bytes per second.
func New(most int) Controller {
	c := Controller{most: float64(most), rate: min(initial, float64(most)), slow: true}
	c.sent.last.newest--
	return c
}

// Update begins a tick: it processes the reports that arrived. now is the time since a fixed moment and must not decrease.
func (c *Controller) Update(now time.Duration) {
	elapsed := min(max(now-c.now, 0), time.Second)
	c.now = now
	c.peer.update(now)
	c.ticked -= c.ticked * elapsed.Seconds()
	c.debt = max(c.debt-c.ticks()*elapsed.Seconds(), -c.rate/20)
	c.unreported += min(elapsed, time.Second/4)
	if c.arrived {
		c.arrived = false
		if sample, ok := c.sent.match(c.report, now); ok {
			c.unreported = 0
			c.line.add(sample, now)
			c.adapt()
		}
	}
	switch {
	case c.sent.next == c.sent.last.newest+1:
		c.unreported = 0
	case c.unreported > mute:
		c.unreported -= time.Second
		c.limited, c.rate = true, max(c.rate/2, c.least())
	}
}

// Rate returns the bytes per second of all that is sent, headers included.
func (c *Controller) Rate() int { return int(c.rate) }

// RoundTrip returns the newest round trip time, which includes the queue of the line. It is 0 before the first report.
func (c *Controller) RoundTrip() time.Duration { return c.line.rtt }

// Loss returns the share of the last 32 packets or so that the peer did not receive.
func (c *Controller) Loss() float64 { return c.line.loss }

// PeerSent returns the number of packets that the peer has sent, from the first one that arrived to the newest.
func (c *Controller) PeerSent() uint64 { return c.peer.sent }

// Ready reports whether the messages of a tick may be sent. They may always be sent while there is no congestion.
func (c *Controller) Ready() bool {
	if c.limited && c.debt > 0 {
		c.skipped = c.now
		return false
	}
	return true
}

// Charge counts the bytes of a packet's datagrams, without headers: see Ready.
func (c *Controller) Charge(bytes int) {
	c.debt = min(c.debt, mostDebt*c.rate) + float64(bytes+Header)
	c.ticked += float64(bytes + Header)
}

// Sent counts a packet of so many bytes, without headers, and returns its number.
func (c *Controller) Sent(bytes int) (number uint16) { return c.sent.add(c.now, bytes+Header) }

// Received counts a packet of the peer. A packet that has a report alone is no content.
func (c *Controller) Received(number uint16, content bool) { c.peer.add(number, content) }

// ReportSize is the size of a report, in bytes.
const ReportSize = 6

// ReportDue reports whether a report is due. One that needs a packet of its own waits for up to 200 ms, until four packets have
// arrived since the last one.
func (c *Controller) ReportDue(alone bool) bool {
	since := c.now - c.peer.reported
	return c.peer.owed > 0 && since >= delay && (!alone || c.peer.owed >= 4 || since >= 2*delay)
}

// AppendReport appends a report for the peer.
func (c *Controller) AppendReport(dst []byte) []byte {
	c.peer.owed, c.peer.reported = 0, c.now
	r := &c.peer.report
	dst = binary.LittleEndian.AppendUint16(dst, r.newest)
	dst = binary.LittleEndian.AppendUint16(dst, r.count)
	return binary.LittleEndian.AppendUint16(dst, r.arrival)
}

// ReceiveReport accepts a report of the peer, of ReportSize bytes. The next Update processes it.
func (c *Controller) ReceiveReport(b []byte) {
	c.report = report{binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:]), binary.LittleEndian.Uint16(b[4:])}
	c.arrived = true
}

// adapt changes the rate after a report.
func (c *Controller) adapt() {
	l := &c.line
	c.longest = max(c.longest, l.queue)
	switch {
	case l.queue <= c.allowed():
		c.competing, c.short, c.longest, c.before = false, c.now, 0, 0
	case c.competing && c.drains(): // the others have ended
		c.competing, c.short, c.hold = false, c.now, c.now
	}
	switch {
	case c.now < c.hold:
	case c.competing:
		c.compete()
	case l.queue > c.allowed():
		c.decrease()
	default:
		c.increase()
	}
	if l.queue <= c.allowed() && c.now-c.skipped > calm {
		c.limited = false
	}
}

// decrease lowers the rate below the delivered rate, so that the queue drains.
func (c *Controller) decrease() {
	l := &c.line
	c.limited, c.hold = true, c.now+l.rtt*3/2+delay
	if c.before == 0 {
		c.before = l.delivered
	}
	if c.now-c.short > stubborn && c.rate <= max(0.8*c.knee, c.least()) {
		c.competing, c.competes, c.longest, c.rate = true, c.now, l.queue, max(c.rate, 0.85*c.before)
		return
	}
	factor := 0.85 - 0.45*min(max((l.queue-deep).Seconds()/(full-deep).Seconds(), 0), 1)
	c.slow, c.knee = false, max(l.steady, 0.9*c.knee)
	c.rate = max(min(c.rate, factor*l.delivered), c.least())
}

// compete changes the rate by the loss alone.
func (c *Controller) compete() {
	c.hold = c.now + c.line.rtt + delay
	switch l := &c.line; {
	case l.loss > 0.02 && c.rate <= c.least() && c.now-c.competes > stubborn:
		l.restart()
	case l.loss > 0.02:
		c.rate = max(0.75*min(c.rate, max(l.delivered, l.steady)), c.least())
	case c.binds():
		c.raise(c.rate+step, 1.5)
	}
}

// allowed returns the longest queue that is no overuse. Without ticks, a packet of bulk data may wait for one before it.
func (c *Controller) allowed() time.Duration {
	if c.ticked < fewTicks {
		return target + c.line.packet
	}
	return target
}

// drains reports whether the queue has become shorter by a quarter.
func (c *Controller) drains() bool { return c.line.queue < c.longest*3/4 }

// least returns the lowest rate: half of the knee, from lowest to enough.
func (c *Controller) least() float64 { return c.share(0.5) }

func (c *Controller) share(of float64) float64 { return min(max(of*c.knee, lowest), enough) }

// ticks returns the bytes per second for the messages of ticks. They have 0.8 of the knee while other flows cause loss, so that
// some of them arrive. Without reports the loss is not known yet.
func (c *Controller) ticks() float64 {
	least := c.least()
	if l := &c.line; !c.drains() && (l.loss > 0.02 && c.now-l.lost < time.Second || c.unreported > 3*delay) {
		least = c.share(0.8)
	}
	return max(ticksShare*c.rate, least)
}

// raise raises the rate, but not above a multiple of the rate that the line has delivered.
func (c *Controller) raise(to, multiple float64) {
	c.rate = max(c.rate, min(to, multiple*max(c.knee, c.line.delivered), c.most))
}

// increase raises the rate if it is used.
func (c *Controller) increase() {
	c.knee = max(c.knee, c.line.steady)
	if !c.binds() {
		return
	}
	c.hold = c.now + max(c.line.rtt, delay)
	switch {
	case c.line.loss > shallowLoss:
		if c.line.used > 0.8*c.rate {
			c.rate = max(shallow*c.line.delivered, c.least())
		}
	case c.slow:
		c.rate *= 2
	case c.rate < 0.75*c.knee:
		c.raise(1.5*c.rate, 1.2)
	default:
		c.raise(c.rate+min(max(growth*c.rate, smallStep), step), 1.2)
	}
	c.rate = min(c.rate, c.most)
}

// binds reports whether most of the rate is used: more than 0.8 of it, or more than half of it in slow start. The rate thus stays
// near the used rate, so that a sudden growth of the messages of a tick cannot fill a queue.
func (c *Controller) binds() bool {
	share := 0.8
	if c.slow {
		share = 0.5
	}
	return c.line.used > share*c.rate || c.limited && c.now-c.skipped < time.Second/2
}
