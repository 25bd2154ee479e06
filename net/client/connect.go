package client

import (
	"errors"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/rollback/journal"
	"tendon/systems"
)

// Waits between attempts to connect: none before the first after a break, then one second, doubled up to eight.
const (
	firstWait = systems.Second
	mostWait  = 8 * systems.Second
)

var errStateLost = errors.New("client: the seat changed, so the state that was kept cannot be gone on from")

// dial opens a connection and says Hello on it.
func (c *Core) dial(now systems.Time) {
	t, err := c.config.Dial(c.token)
	if err != nil {
		c.retry(err, now)
		return
	}
	hello := session.Hello{Fingerprint: c.config.Game.Fingerprint(), Build: c.config.Build, Target: c.config.Target, Name: c.config.Name}
	switch {
	case c.loaded && c.welcome.Match != 0:
		hello.Match = c.welcome.Match
		hello.Final, _, _ = c.tail.Newest()
		if f, ok := c.settle(now); ok {
			if chain, ok := c.tail.Chain(f); ok {
				hello.Have, hello.Chain = f, uint64(chain)
			}
		}
	case c.half == nil && c.config.Resume != nil:
		r := c.config.Resume
		hello.Match, hello.Have, hello.Chain, hello.Final = r.Match, r.World.Tick(), uint64(r.Chain), r.World.Tick()
	}
	s, err := session.NewClient(session.ClientConfig{Hello: hello, Timeout: c.config.Timeout}, t, now)
	if err != nil {
		c.end(err)
		return
	}
	c.session = s
}

// settle takes the world back to the newest final tick, from which the match can be gone on with, and returns it: what
// was predicted ended with the connection.
func (c *Core) settle(now systems.Time) (f ecs.Tick, ok bool) {
	f = c.half.Stats().Confirmed
	if c.world.Tick() == f {
		return f, true
	}
	_, _, confirmed, _ := c.half.View(now)
	if confirmed.Empty() || confirmed.Tick() != f {
		return 0, false
	}
	c.world.Image().Restore(confirmed)
	return f, true
}

// retry gives a connection up and has another one made after a while.
func (c *Core) retry(why error, now systems.Time) {
	if c.session != nil {
		c.fresh = added(c.fresh, c.session.Stats())
	}
	c.session, c.joined, c.pending = nil, false, pending{}
	if c.attempts >= c.config.Attempts {
		c.end(fmt.Errorf("%w: %w", ErrUnreachable, why))
		return
	}
	if c.state != Connecting {
		c.state = Reconnecting
	}
	wait := systems.Time(0)
	if c.attempts > 0 {
		wait = min(firstWait<<min(c.attempts-1, 8), mostWait)
	}
	c.attempts++
	c.counts.reconnects++
	c.retryAt = now + wait
}

// end ends the client for good. The session is kept for its last words.
func (c *Core) end(why error) {
	if c.state != Ended {
		c.state, c.err, c.joined = Ended, why, false
	}
}

// check acts on the end of the session.
func (c *Core) check(now systems.Time) {
	if c.session == nil || c.state == Ended {
		return
	}
	err := c.session.Err()
	if err == nil { // first, since what errors.As needs is allocated
		return
	}
	var why *session.Error
	if errors.As(err, &why) && why.Code.Retry() {
		c.retry(err, now)
		return
	}
	c.end(err)
}

// enter takes the server's Welcome: it makes the half, unless the one of the last connection will do.
func (c *Core) enter(w *session.Welcome, now systems.Time) {
	if c.loaded {
		c.news.load(c.half)
	}
	if w.Match != c.welcome.Match || w.Tick < c.news.newest {
		c.news.restart()
	}
	if c.half == nil || w.Strategy != c.welcome.Strategy || w.Seat != c.welcome.Seat {
		if err := c.build(w); err != nil {
			c.session.End(session.CodeInternal, "")
			c.end(err)
			return
		}
		if !w.Image && c.world.Tick() == 0 { // the state that Hello told of went with the half; without one, an image will come
			c.session.End(session.CodeInternal, "")
			c.retry(errStateLost, now)
			return
		}
	}
	c.welcome = *w
	c.welcome.Params = append([]byte(nil), w.Params...)
	c.state = Loading
	c.config.Resume = nil
	if !w.Image {
		c.begin(now)
	}
}

// build makes the world and the strategy's half.
func (c *Core) build(w *session.Welcome) error {
	for _, s := range c.config.Strategies {
		if s.Name != w.Strategy {
			continue
		}
		if err := s.Check(c.config.Game); err != nil {
			return err
		}
		delay := c.config.InputDelay
		if delay == 0 {
			delay = w.Delay
		}
		world, err := c.worldFor(w)
		if err != nil {
			return err
		}
		world.Image().SetObserver(c.config.Observer)
		half, err := s.NewClient(systems.ClientConfig{World: world, Seat: w.Seat, InputDelay: delay,
			MaxPrediction: c.config.MaxPrediction, Params: w.Params, Taken: c.taken, Elapsed: c.config.Elapsed, Observer: c.config.Observer})
		if err != nil {
			return err
		}
		c.world, c.half, c.loaded, c.view = world, half, false, nil
		return nil
	}
	return fmt.Errorf("%w: %q", ErrStrategy, w.Strategy)
}

// worldFor returns the world that a former process left, if the server goes on with it, else a new one. Its tail begins
// where it stands: the log holds what came before.
func (c *Core) worldFor(w *session.Welcome) (*ecs.World, error) {
	if r := c.config.Resume; r != nil && c.half == nil && !w.Image {
		c.tail.Start(journal.PositionOf(r.World, r.Chain))
		return r.World, nil
	}
	return ecs.NewWorld(c.config.Game, 0)
}

// pending is a state that waits to be taken over. image is nil for none.
type pending struct {
	image []byte
	tick  ecs.Tick
	chain uint64
	until systems.Time
}

// compareWait bounds how long a right state waits for the client's own one of its tick.
const compareWait = systems.Second / 2

// arrive takes an image. One that overtook the news of its tick waits until the client has its own state of that tick,
// or what had gone wrong would not be found out.
func (c *Core) arrive(encoded []byte, tick ecs.Tick, chain uint64, now systems.Time) {
	if c.joined && c.half.Stats().Confirmed < tick {
		c.pending = pending{append([]byte(nil), encoded...), tick, chain, now + compareWait}
		return
	}
	c.load(encoded, chain, now)
}

// loadPending takes over the state that waits, if it is time to.
func (c *Core) loadPending(now systems.Time) {
	if p := c.pending; p.image != nil && (now >= p.until || c.half.Stats().Confirmed >= p.tick) {
		c.pending = pending{}
		c.load(p.image, p.chain, now)
	}
}

// compare returns how the own state of an image's tick differs from the image. ok is false where the half keeps no state of
// that tick and where nothing differs.
func (c *Core) compare(encoded []byte) (d image.Difference, ok bool) {
	if keeper, keeps := c.half.(systems.Keeper); keeps {
		d, ok = c.comparison.With(c.config.Game, encoded, keeper.Kept)
	}
	return d, ok
}

// load takes over the state of an image. If the client was playing, it first finds out what had gone wrong.
func (c *Core) load(encoded []byte, chain uint64, now systems.Time) {
	if c.joined {
		c.counts.resyncs++
		if d, ok := c.compare(encoded); ok {
			if len(c.desyncs) == desyncsKept {
				c.desyncs = append(c.desyncs[:0], c.desyncs[1:]...)
			}
			c.desyncs = append(c.desyncs, d)
			c.report(d, encoded)
		}
	}
	if c.loaded {
		c.news.load(c.half)
	}
	if err := c.world.Image().Load(encoded); err != nil {
		c.session.End(session.CodeProtocol, "")
		c.end(err)
		return
	}
	c.keep(journal.Chain(chain))
	c.begin(now)
}

// begin lets the half start from the world's state and tells the server.
func (c *Core) begin(now systems.Time) {
	rtt, _ := c.session.RTT()
	c.half.Load(now, c.session.ServerTick(now), rtt)
	c.session.Ready()
	c.joined, c.loaded, c.state, c.backlog = true, true, CatchingUp, 0
}
