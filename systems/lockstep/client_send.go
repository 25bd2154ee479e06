package lockstep

import (
	"slices"

	"tendon/systems"
	"tendon/systems/vote"
)

const (
	maxQueue    = 64              // most operations that wait to be stamped
	slack       = 3               // more frames that a waiting server may end without a message of this client
	votedFrames = 32 * vote.Every // half of those on whose checksums the server keeps the votes
)

// opsDue reports whether a message is due, at most once a tick. It then counts as sent.
func (c *Client) opsDue() bool {
	if !c.limits.Reliable || c.limits.Closing != Optimistic {
		return c.Sends()
	}
	// Nothing is lost: a message is due for a new operation, and now and then for the client's progress.
	since, tick := c.Timer.Since(c.Now), c.Timer.Tick()
	if !(since >= c.Timer.Least && c.own.fresh() < len(c.own.list)) && since < tick*systems.Time(max(c.interval, 4)) || !c.Out.Ready(0) {
		return false
	}
	c.Timer.Sent(c.Now)
	return true
}

// sendOps sends the client's progress, and the player's operations until the server has stamped them.
func (c *Client) sendOps() {
	if !c.opsDue() {
		return
	}
	m, from, ch := &c.ops, 0, systems.Datagram
	if c.limits.Reliable {
		from, ch = c.own.fresh(), systems.Reliable
	}
	m.received, m.executed, m.live, m.stalled = c.log.last, c.at(), c.Live(), c.margin.share(c.Game.TickRate)
	m.lead = 0
	if c.limits.Closing != Optimistic {
		tick := c.Timer.Tick()
		m.lead = min(int((c.RTT+tick-1)/tick)+c.wanted()+slack, maxLead)
	}
	m.ops, m.first = c.own.list[from:], c.own.first+uint32(from)
	var n int
	c.Buffer, n = m.append(c.Buffer[:0], c.Game)
	for i := range c.own.list[:from+n] {
		if o := &c.own.list[i]; o.sent == 0 {
			o.sent = max(c.Now, 1)
		}
	}
	c.Out.Send(0, ch, c.Buffer)
}

// sendChecksums sends the checksums of the executed frames that are checked, except for those long past, on which the
// server has ended the vote.
func (c *Client) sendChecksums() {
	c.checksums.Send(&c.Core, c.at(), c.announced-min(c.announced, votedFrames), c.ring.At)
}

func (c *Client) sendResults() {
	for i := range c.claims {
		c.Buffer = c.claims[i].append(c.Buffer[:0])
		c.Out.Send(0, systems.Reliable, c.Buffer)
		c.claims[i] = resultMessage{}
	}
	c.claims = c.claims[:0]
}

// operationQueue holds the local player's operations that the server has not stamped yet. Operations are numbered from 1,
// for as long as the client exists; list[0] has the number first.
type operationQueue struct {
	list  []op
	first uint32
}

// restart drops the operations that wait: they belong to a state that was replaced.
func (q *operationQueue) restart() {
	q.first = max(q.first+uint32(len(q.list)), 1)
	q.list = slices.Delete(q.list, 0, len(q.list))
}

// fresh returns the index of the first operation that was never sent.
func (q *operationQueue) fresh() int {
	n := len(q.list)
	for n > 0 && q.list[n-1].sent == 0 {
		n--
	}
	return n
}

// acknowledge drops the operations up to a number. The time that they took updates the estimate of the round trip; some
// of it was the wait for the sync.
func (q *operationQueue) acknowledge(number uint32, now systems.Time, rtt *systems.Time) {
	done := int(int32(number-q.first)) + 1
	if done <= 0 || done > len(q.list) {
		return
	}
	if sent := q.list[done-1].sent; sent > 0 {
		*rtt += (now - sent - *rtt) / 10
	}
	q.list = slices.Delete(q.list, 0, done)
	q.first += uint32(done)
}
