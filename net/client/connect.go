package client

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
)

const (
	firstWait = systems.Second // before the second attempt to reconnect; it doubles up to mostWait
	mostWait  = 8 * systems.Second
)

func (c *Core) dial(now systems.Time) {
	t, err := c.config.Dial()
	if errors.Is(err, ErrToken) {
		c.end(err)
		return
	}
	if err != nil {
		c.retry(err, now)
		return
	}
	hello := session.Hello{Fingerprint: c.config.Game.Fingerprint(), Name: c.config.Name}
	hello.Build, hello.Target = session.BuildOf(c.config.Game)
	switch {
	case c.loaded && c.welcome.Match != 0:
		hello.Match = c.welcome.Match
		hello.Final, _, _ = c.tail.Newest()
		if f, ok := c.settle(now); ok {
			if chain, ok := c.tail.Chain(f); ok {
				hello.Have, hello.Chain = f, uint64(chain)
			}
		}
	case c.strategy == nil && c.config.Resume != nil:
		r := c.config.Resume
		hello.Match, hello.Have, hello.Chain, hello.Final = r.Match, r.World.Tick(), uint64(r.Chain), r.World.Tick()
	}
	c.session = session.NewClient(hello, c.config.Timeout, t, now)
}

// settle restores the newest final tick in the world and returns it. The predicted ticks are discarded.
func (c *Core) settle(now systems.Time) (f ecs.Tick, ok bool) {
	f = c.strategy.Stats().Confirmed
	if c.world.Tick() == f {
		return f, true
	}
	_, _, confirmed, _ := c.strategy.View(now)
	if confirmed.Empty() || confirmed.Tick() != f {
		return 0, false
	}
	c.world.Image().Restore(confirmed)
	return f, true
}

func (c *Core) retry(why error, now systems.Time) {
	if c.session != nil {
		c.stats.Session = added(c.stats.Session, c.session.Stats())
	}
	c.session, c.pending = nil, pendingImage{}
	if c.retries.failed >= c.config.Attempts {
		c.end(fmt.Errorf("%w: %w", ErrUnreachable, why))
		return
	}
	if c.state != Connecting {
		c.state = Reconnecting
	}
	c.retries.at = now
	if c.retries.failed > 0 {
		c.retries.at += min(firstWait<<min(c.retries.failed-1, 8), mostWait)
	}
	c.retries.failed++
	c.stats.Reconnects++
}

// end ends the client. The session is kept to send its last messages.
func (c *Core) end(why error) {
	if c.state != Ended {
		c.state, c.err = Ended, why
	}
}

func (c *Core) check(now systems.Time) {
	if c.session == nil || c.state == Ended {
		return
	}
	err := c.session.Err()
	if err == nil { // first, because errors.As allocates
		return
	}
	if why := (*session.Error)(nil); errors.As(err, &why) && why.Code.Retry() {
		c.retry(err, now)
	} else {
		c.end(err)
	}
}

// enter processes the Welcome. It makes the strategy, unless that of the last connection can be used.
func (c *Core) enter(w *session.Welcome, now systems.Time) {
	if c.loaded {
		c.effects.beforeLoad(c.strategy)
	}
	if w.Match != c.welcome.Match || w.Tick < c.effects.newest {
		c.effects.restart()
	}
	if c.strategy == nil || w.Strategy != c.welcome.Strategy || w.Seat != c.welcome.Seat {
		if err := c.build(w); err != nil {
			c.session.End(session.CodeInternal, "")
			c.end(err)
			return
		}
		if !w.Image && c.world.Tick() == 0 { // the state in Hello was that of the old strategy; without one, the server sends an image
			c.session.End(session.CodeInternal, "")
			c.retry(errors.New("client: the seat has changed, so the kept state cannot be used"), now)
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

func (c *Core) build(w *session.Welcome) error {
	i := slices.IndexFunc(c.config.Strategies, func(s systems.Strategy) bool { return s.Name == w.Strategy })
	if i < 0 {
		return fmt.Errorf("%w: %q", ErrStrategy, w.Strategy)
	}
	s := c.config.Strategies[i]
	if err := s.Check(c.config.Game); err != nil {
		return err
	}
	world, err := ecs.NewWorld(c.config.Game, 0)
	if err != nil {
		return err
	}
	if r := c.config.Resume; r != nil && c.strategy == nil && !w.Image { // the server goes on with it
		c.tail.Start(record.PositionOf(r.World, r.Chain))
		world = r.World
	}
	view, err := ecs.NewView(c.config.Game)
	if err != nil {
		return err
	}
	world.Image().SetObserver(c.config.Observer)
	strategy, err := s.NewClient(systems.ClientConfig{World: world, Seat: w.Seat, InputDelay: cmp.Or(c.config.InputDelay, w.Delay),
		MaxPrediction: c.config.MaxPrediction, Params: w.Params, Taken: c.finalTick, Elapsed: c.config.elapsed, Observer: c.config.Observer})
	if err != nil {
		return err
	}
	c.world, c.strategy, c.loaded, c.view = world, strategy, false, view
	return nil
}

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
