package lockstep

import "tendon/systems"

// Send says how far the client is, and repeats what the player did until the server says that it was stamped; at most
// once a tick.
func (c *Client) Send(now systems.Time, out systems.Outbox) {
	if !c.loaded {
		return
	}
	tick := systems.Second / systems.Time(c.game.TickRate)
	since := now - c.lastSend
	due := c.unsent && since >= tick*4/5 || since >= tick*5/4
	if c.config.Reliable && c.config.Closing == Optimistic {
		// Nothing gets lost: only what is new is worth a packet, and now and then how far the client is.
		due = since >= tick*4/5 && c.own.fresh() < len(c.own.queue) || since >= tick*systems.Time(max(c.interval, 4))
	}
	if due {
		c.unsent, c.lastSend = false, now
		c.sendOps(now, out)
	}
	c.sendHashes(out)
	for i := range c.claims {
		c.scratch.message = c.claims[i].append(c.scratch.message[:0])
		out.Send(0, systems.Reliable, c.scratch.message)
		c.claims[i] = resultMessage{}
	}
	c.claims = c.claims[:0]
}

func (c *Client) sendOps(now systems.Time, out systems.Outbox) {
	m, from, ch := &c.scratch.ops, 0, systems.Datagram
	if c.config.Reliable {
		from, ch = c.own.fresh(), systems.Reliable
	}
	m.received, m.executed, m.live, m.stalled = c.log.last, c.at(), c.Live(), c.margin.share()
	m.lead = 0
	if c.config.Closing != Optimistic {
		tick := systems.Second / systems.Time(c.game.TickRate)
		m.lead = min(int((c.rtt+tick-1)/tick)+c.wanted()+slack, maxLead)
	}
	m.ops, m.first = c.own.queue[from:], c.own.first+uint32(from)
	var n int
	c.scratch.message, n = m.append(c.scratch.message[:0], c.game)
	c.own.sent(from+n, now)
	out.Send(0, ch, c.scratch.message)
}

// slack is how many frames more than it should take a server that waits is told to go on without word.
const slack = 3

// sendHashes sends the checksum of every frame that is checked and was executed. Of those long past, which are passed
// while catching up, nobody wants to know.
func (c *Client) sendHashes(out systems.Outbox) {
	for next := (c.hashed/checkEvery + 1) * checkEvery; next <= c.at(); next += checkEvery {
		c.hashed = next
		s, ok := c.ring.At(next)
		if !ok || next+sumsKept*checkEvery/2 < c.announced {
			continue
		}
		m := hashMessage{next, s.Checksum()}
		c.scratch.message = m.append(c.scratch.message[:0])
		out.Send(0, systems.Reliable, c.scratch.message)
		c.stats.Hashes++
	}
}
