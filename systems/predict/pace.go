package predict

import (
	"math"

	"tendon/ecs"
	"tendon/systems"
)

// Frame computes the ticks that are due.
func (c *Client) Frame(now systems.Time) {
	if !c.loaded {
		return
	}
	view := c.picture.seen() // what the player looked at when he did what he does
	c.pacer.Advance(now)
	c.picture.advance(now)
	if c.config.Seat < 0 {
		c.follow()
		return
	}
	c.steer()
	if c.heard { // who just joined waits for the first news instead of guessing
		c.sample(view, now)
		c.run()
	}
	c.live = c.Live()
}

// steer lets the lead control move the pacer, and the delay follow.
func (c *Client) steer() {
	if frame := c.pacer.Regular(); float64(c.confirmed)+frame > c.pacer.Position() {
		// The server is ahead of the oldest tick that such a frame brings: this client was suspended, or draws slowly and
		// has not made up for it yet. What it measured before tells nothing of now.
		c.pacer.Shift(float64(c.confirmed) + c.leadTicks() + frame - 1 - c.pacer.Position())
		c.forget()
	}
	pace, jump := c.lead.Control(c.pacer.Gained())
	c.pacer.Shift(jump)
	c.pacer.Dilate(pace)
	c.jumped = c.jumped || jump > 0
	if c.lead.Settled() {
		c.locked, c.rtt = true, c.lead.RTT()
	}
	until := int(c.pacer.Position())
	if !c.live {
		return // how far a client is behind while it catches up says nothing of the connection
	}
	for range min(until-c.reach, c.pacer.Most()) {
		c.delay.Observe(until-int(c.confirmed), c.game.TickRate)
	}
}

// forget drops what was measured before the present was put elsewhere. Before the lead has settled that is all recent, and
// has to add up: where each snapshot overtakes the present, because the round trip is not known yet, nothing else would
// ever tell how far ahead to go.
func (c *Client) forget() {
	if c.locked {
		c.lead.Forget()
	}
	c.jumped = true
}

// follow paces a spectator, who sends no inputs to measure: he stands where what he heard of ends.
func (c *Client) follow() {
	wrong := float64(c.confirmed) - c.pacer.Position()
	if math.Abs(wrong) > followJump {
		c.pacer.Shift(wrong)
		wrong = 0
	}
	c.pacer.Dilate(min(max(1+0.1*wrong, 0.9), 1.1))
}

// sample gives every tick up to the pacer's its input. Ticks that a jump passed over, or that a frame is too late for,
// are missed: they get what anybody would predict, and tell nothing of how inputs arrive. Where the queue is full the
// input waits.
func (c *Client) sample(view ecs.ViewStamp, now systems.Time) {
	until := ecs.Tick(c.pacer.Position())
	recent := ecs.Tick(c.pacer.Most())
	if c.jumped && (c.locked || c.counts.Snaps == 0) { // else each snapshot may be a jump, and the server tells of the oldest input of a frame
		recent = 1
	}
	for f := c.pending.last() + 1; f <= until; f++ {
		missed := f+recent <= until
		in := c.sampled.Next(missed || !c.locked, c.game)
		if !c.pending.push(entry{in, view}) {
			c.counts.Refusals++
			return
		}
		c.sampled.Put(f, in, missed || !c.locked)
		if !missed {
			c.lead.Sent(uint64(f), c.pacer.Gained(), now)
		}
		c.unsent, c.jumped = true, false
	}
}

// run steps to the tick that is due. New ticks per frame are capped; what is left goes on in the next frame.
func (c *Client) run() {
	want := c.want()
	due := max(0, int(c.pacer.Position())-c.reach)
	c.reach = int(c.pacer.Position())
	for fresh := 0; int(c.present) < want && fresh < c.pacer.Most(); fresh++ {
		e, ok := c.pending.at(c.present + 1)
		if !ok || c.frozen() {
			c.stall(min(due, want-int(c.present)))
			return
		}
		c.step(e.in)
	}
	c.stats.Stalled = systems.NotStalled
}

// frozen reports whether as many ticks are predicted as may be.
func (c *Client) frozen() bool { return c.present-c.confirmed >= ecs.Tick(c.config.MaxPrediction) }

func (c *Client) stall(ticks int) {
	if c.stats.Stalled == systems.NotStalled {
		c.stats.Episodes++
	}
	c.stats.Stalled = systems.StallWindow
	c.stats.Stalls += uint64(ticks)
}

// want is the tick that is due.
func (c *Client) want() int { return int(c.pacer.Position()) - c.delay.Ticks() }

// Send sends the inputs that the server has not consumed and which state is held: after each frame that sampled an input
// (a spectator's: that follows news), or a little more than a tick's time after the last where nothing happens.
func (c *Client) Send(now systems.Time, out systems.Outbox) {
	if !c.loaded {
		return
	}
	tick := systems.Second / systems.Time(c.game.TickRate)
	if !c.unsent && now-c.lastSend < tick+tick/4 {
		return
	}
	c.unsent, c.lastSend = false, now
	m := &c.scratch.window
	m.received, m.ack, m.helpless, m.delay, m.done = c.confirmed, c.receiver.Ack(), c.useless >= patience, c.picture.delay(), m.done[:0]
	m.waits = c.config.Seat >= 0 && !c.locked
	first := c.oldestAsked()
	m.back = uint8(c.confirmed + 1 - first)
	for f := first; f <= c.pending.last() && len(m.done) < maxInputs; f++ {
		e, _ := c.pending.given(f)
		m.done = append(m.done, e)
	}
	c.scratch.message = m.append(c.scratch.message[:0], c.game)
	out.Send(0, systems.Datagram, c.scratch.message)
}

// oldestAsked returns the tick of the oldest input to send: that after the newest state, or one before that the server
// lacks and that the player has given.
func (c *Client) oldestAsked() ecs.Tick {
	if c.lacked > 0 {
		for f := c.lacked; f <= c.confirmed; f++ {
			if _, ok := c.pending.given(f); ok {
				return f
			}
		}
	}
	return c.confirmed + 1
}
