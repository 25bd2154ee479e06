package client

import (
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

// compareWait bounds how long an image waits for the client's own state of its tick.
const compareWait = systems.Second / 2

// receiveImage loads an image. While the client plays, an image of a tick that is not final here waits for the own state of
// that tick. The two states are then compared.
func (c *Core) receiveImage(image []byte, tick ecs.Tick, chain uint64, now systems.Time) {
	if c.joined() && c.strategy.Stats().Confirmed < tick {
		c.pending = pendingImage{append([]byte(nil), image...), tick, chain, now + compareWait}
		return
	}
	c.load(image, chain, now)
}

// loadPending loads the pending image if its tick is final, or if it has waited long enough.
func (c *Core) loadPending(now systems.Time) {
	if p := c.pending; p.image != nil && (now >= p.until || c.strategy.Stats().Confirmed >= p.tick) {
		c.pending = pendingImage{}
		c.load(p.image, p.chain, now)
	}
}

// load loads an image. If the client was playing, it first compares the image with the own state.
func (c *Core) load(image []byte, chain uint64, now systems.Time) {
	if c.joined() {
		c.stats.Resyncs++
		c.compare(image)
	}
	if c.loaded {
		c.effects.beforeLoad(c.strategy)
	}
	if err := c.world.Image().Load(image); err != nil {
		c.session.End(session.CodeProtocol, "")
		c.end(err)
		return
	}
	c.startFinal(record.Chain(chain))
	c.begin(now)
}

// begin has the strategy start from the state of the world and reports that to the server.
func (c *Core) begin(now systems.Time) {
	rtt, _ := c.session.RTT()
	c.strategy.Load(now, c.session.ServerTick(now), rtt)
	c.session.Ready()
	c.loaded, c.state, c.backlog = true, CatchingUp, 0
}
