package client

import (
	"fmt"

	"tendon/net/session"
	"tendon/systems"
)

// pause holds the pauses of the match. In a pause, the time of the strategy stops, and it computes no frame. The time of the
// strategy also stops while the server is silent for longer than patience.
type pause struct {
	last     session.Paused // as the server sent it
	strategy systems.Time   // the time of the strategy when the pause began
	total    systems.Time   // length of all pauses that have ended, and of the silence of the server
	received systems.Time   // when the last message arrived
	frame    systems.Time   // time of the last frame
	catching catching
}

func (c *Core) setPaused(p session.Paused, now systems.Time) {
	if on := c.pause.last.On; p.On && !on {
		c.pause.strategy = now - c.pause.total
	} else if !p.On && on {
		c.pause.total = now - c.pause.strategy
	}
	c.pause.last = p
}

// maxSilence is the longest silence of a server that goes on. A room that stood still catches up for as long: until then, the
// player gives inputs for its ticks.
const maxSilence = systems.Second / 2

// patience returns how long a server may be silent until it counts as one that stands still. That is maxSilence, but longer on
// a slow connection, or where ticks, and so the messages of some strategies, are far apart.
func (c *Core) patience() systems.Time {
	rtt := systems.Time(0)
	if c.session != nil {
		rtt, _ = c.session.RTT()
	}
	return max(maxSilence, maxSilence/2+2*rtt, 15*systems.Second/systems.Time(c.config.Game.TickRate))
}

// await stops the time of the strategy while the server is silent for longer than patience. A server that stood still gives up
// that time too. If it went on, the strategy follows it as after a pause of this host.
func (c *Core) await(now systems.Time) {
	p := &c.pause
	silent := now - p.received - c.patience()
	c.stats.Waiting = c.state == Live && !p.last.On && now-p.received >= maxSilence
	if c.loaded {
		c.hold(now, c.state != CatchingUp && !p.last.On && (silent >= 0 || now-p.frame > maxSilence))
	}
	if c.loaded && c.state != CatchingUp && !p.last.On && silent > 0 {
		p.total += min(silent, now-p.frame)
	}
	p.frame = now
}

// catching holds the picture while the client catches up after this host, or the server, stood still. So the player sees a
// jump, and not the ticks of that time at many times the speed.
type catching struct {
	behind int          // ticks between the server and the present, before
	until  systems.Time // the latest end; 0: nothing to catch up with
	held   bool         // the picture is held
}

// mostHeld bounds how long a picture is held: a host that is too slow never catches up.
const mostHeld = 3 * systems.Second

// hold begins or ends the holding of the picture. stood reports that the server is silent, or that this host stood still.
func (c *Core) hold(now systems.Time, stood bool) {
	h, st := &c.pause.catching, c.strategy.Stats()
	behind, most := int(st.ServerTick)-int(st.Present), int(maxSilence*systems.Time(c.config.Game.TickRate)/(2*systems.Second))
	switch {
	case stood:
		h.until = now + mostHeld
	case h.until == 0:
		if now-c.pause.received < maxSilence/4 {
			h.behind = behind
		}
	case !c.joined():
		h.until = now + mostHeld
	default:
		h.held = now < h.until && (c.state != Live || behind > h.behind+most)
		if !h.held {
			h.until = 0
		}
	}
}

// holds reports whether the picture is held now.
func (c *Core) holds() bool {
	h := &c.pause.catching
	return h.held || h.until > 0 && c.state != Live
}

// pauseText describes a pause to the player.
func pauseText(p *session.Paused) string {
	if !p.On {
		return "the match continues"
	}
	by := "the operator"
	if p.Seat >= 0 {
		by = fmt.Sprintf("the player of seat %d", p.Seat)
	}
	return fmt.Sprintf("%s paused the match, for at most %d s", by, p.Seconds)
}

// strategyTime returns the time that the strategy reads: see pause.
func (c *Core) strategyTime(now systems.Time) systems.Time {
	if c.pause.last.On {
		return c.pause.strategy
	}
	return now - c.pause.total
}

// Pause requests a pause of the match, or its end. A server that refuses it sends the reason to Config.Notice.
func (c *Core) Pause(on bool) {
	if c.session != nil {
		c.session.Pause(on)
	}
}

// Paused returns the last report of a pause or its end on this connection, the zero value if there was none.
func (c *Core) Paused() session.Paused { return c.pause.last }
