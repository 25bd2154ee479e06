package client

import (
	"slices"

	"tendon/ecs"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
)

// pendingImage is an image that is not loaded yet. image is nil for none.
type pendingImage struct {
	image []byte
	tick  ecs.Tick
	chain uint64
	until systems.Time
}

const compareWait = systems.Second / 2 // bounds how long an image waits for the client's own state of its tick

func (c *Core) receiveImage(image []byte, tick ecs.Tick, chain uint64, now systems.Time) {
	p := pendingImage{image, tick, chain, now + compareWait}
	if !c.load(p, now) {
		p.image = slices.Clone(image)
		c.pending = p
	}
}

// load loads an image. While the client plays, the image is compared with the own state of its tick. The image waits for
// that state, and load returns false.
func (c *Core) load(p pendingImage, now systems.Time) bool {
	if c.joined() {
		if c.strategy.Stats().Confirmed < p.tick && now < p.until {
			return false
		}
		c.stats.Resyncs++
		c.compare(p.image)
	}
	c.pending = pendingImage{}
	if c.loaded {
		c.effects.beforeLoad(c.strategy)
	}
	if err := c.world.Image().Load(p.image); err != nil {
		c.session.End(session.CodeProtocol, "")
		c.end(err)
		return true
	}
	c.startFinal(record.Chain(p.chain))
	c.begin(now)
	return true
}

func (c *Core) begin(now systems.Time) {
	rtt, _ := c.session.RTT()
	c.strategy.Load(now, c.session.ServerTick(now), rtt)
	c.session.Ready()
	c.loaded, c.state, c.backlog = true, CatchingUp, 0
}
