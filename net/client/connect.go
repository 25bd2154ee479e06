package client

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"tendon/ecs"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
)

const (
	firstWait = systems.Second // before the second attempt to reconnect; it doubles up to mostWait
	mostWait  = 8 * systems.Second

	// While a server restarts, the client tries every restartPause for restartTime, in which its reconnect tokens expire.
	restartPause = systems.Second / 2
	restartTime  = 120 * systems.Second
)

func (c *Core) dial(now systems.Time) {
	t, err := c.config.Dial()
	switch {
	case errors.Is(err, errConnecting):
		if c.late(now) {
			c.end(c.unreachable(err, now))
		}
		return
	case errors.Is(err, ErrToken):
		if c.state != Connecting {
			err = c.unreachable(err, now)
		}
		c.end(cmp.Or(c.Refusal(), err))
		return
	case err != nil:
		c.retry(err, now)
		return
	}
	hello := session.Hello{Fingerprint: c.config.Game.Fingerprint(), Name: c.config.Name}
	hello.Build, hello.Target = session.ThisBuild()
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
	_, _, confirmed, _ := c.strategy.View(c.strategyTime(now))
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
	restarts := now < c.retries.until
	if c.config.GiveUp < 0 || c.late(now) {
		c.end(c.unreachable(why, now))
		return
	}
	if c.state != Connecting {
		c.state = Reconnecting
	}
	c.stats.Reconnects++
	if restarts {
		c.retries.at = now + restartPause
		return
	}
	c.retries.at = now + waitAfter(c.retries.failed)
	c.retries.failed++
}

// unreachableError ends a client that tried to connect for some time.
type unreachableError struct {
	tried systems.Time
	why   error
}

func (e *unreachableError) Unwrap() []error { return []error{ErrUnreachable, e.why} }

// Error returns the time, and the reason unless it is that nothing arrived.
func (e *unreachableError) Error() string {
	text := ErrUnreachable.Error()
	tried := e.tried.Round(systems.Second)
	var refused *session.Error
	switch silent := errors.Is(e.why, ErrSilent); {
	case errors.As(e.why, &refused):
		return fmt.Sprintf("client: the server has refused this client for %v: %v", tried, refused)
	case tried > 0 && (silent || errors.Is(e.why, ErrToken)):
		return fmt.Sprintf("client: the server has not answered for %v", tried)
	case tried > 0:
		text += fmt.Sprintf(" for %v", tried)
	}
	return fmt.Sprintf("%s: %v", text, e.why)
}

// unreachable returns the error of a client that does not try to connect any longer.
func (c *Core) unreachable(why error, now systems.Time) error {
	return &unreachableError{tried: now - c.retries.since, why: why}
}

// waitAfter returns the time before an attempt to reconnect, after that many attempts have failed.
func waitAfter(failed int) systems.Time {
	if failed == 0 {
		return 0
	}
	return min(firstWait<<min(failed-1, 8), mostWait)
}

// late reports whether the client has tried to connect for Config.GiveUp.
func (c *Core) late(now systems.Time) bool {
	return c.config.GiveUp > 0 && now-c.retries.since >= c.config.GiveUp && now >= c.retries.until
}

// Left returns the longest time that the client continues without a message from the server. In the match, that is the time
// until it reconnects, else the time until it gives up. It is 0 after the end, and never rises while no message arrives.
func (c *Core) Left(now systems.Time) systems.Time {
	switch {
	case c.state == Ended:
		return 0
	case c.state == Live:
		return c.config.Timeout - c.session.Stats().Silence
	case c.config.GiveUp == 0:
		return math.MaxInt64
	}
	return max(c.retries.since+c.config.GiveUp-now, c.retries.until-now, 0)
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
		if why.Code == session.CodeRestarting {
			c.finish(now)
			c.restarts(now)
		}
		c.refused(why)
		c.retry(err, now)
	} else {
		c.end(err)
	}
}

// Refusal returns why the server refused the last attempt to connect, if it may accept a later attempt. Otherwise it returns nil.
func (c *Core) Refusal() error {
	if c.retries.refused == nil {
		return nil
	}
	return c.retries.refused
}

// refused stores the reason of a refusal and reports it as a notice, if the server may accept the client later.
func (c *Core) refused(why *session.Error) {
	if c.retries.refused = nil; !why.Code.Waits() {
		return
	}
	c.retries.refused = why
	if c.config.Notice != nil {
		c.config.Notice(0, why.Error())
	}
}

// finish computes the ticks that arrived before the end of the session, unless the match is paused. The next server then does not have to send
// them.
func (c *Core) finish(now systems.Time) {
	if c.joined() && !c.pause.last.On {
		c.strategy.Frame(c.strategyTime(now))
	}
}

// restarts begins to wait for the next process of the server.
func (c *Core) restarts(now systems.Time) {
	if c.config.GiveUp >= 0 && now >= c.retries.until {
		c.retries.until, c.retries.notice = now+restartTime, now+ShownAway
	}
}

// noticeRestart reports that the server restarts, unless the client was back in time: its room has moved then.
func (c *Core) noticeRestart(now systems.Time) {
	if at := c.retries.notice; at == 0 || now < at {
		return
	}
	c.retries.notice = 0
	if c.state != Live && c.config.Notice != nil {
		c.config.Notice(0, "the server restarts")
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
	if c.strategy == nil || w.Seat != c.welcome.Seat || c.changes(w.Strategy, w.Params) {
		if !c.build(w) {
			return
		}
		c.welcome.Seat, c.welcome.Strategy, c.welcome.Params = w.Seat, w.Strategy, bytes.Clone(w.Params)
		if !w.Image && c.world.Tick() == 0 { // the state in Hello was that of the old strategy; without one, the server sends an image
			c.session.End(session.CodeInternal, "")
			c.retry(errors.New("client: the seat has changed, so the kept state cannot be used"), now)
			return
		}
	}
	played := c.welcome.Match
	if r := c.config.Resume; r != nil && !c.loaded {
		played = r.Match
	}
	if played != 0 && w.Match != played && c.config.Notice != nil {
		c.config.Notice(0, "the match that you played is over: this is another one")
	}
	c.setPaused(session.Paused{}, now)
	c.welcome = *w
	c.welcome.Params = append([]byte(nil), w.Params...)
	c.state = Loading
	c.config.Resume = nil
	if !w.Image {
		c.begin(now)
	}
}

// changes reports whether a strategy differs from the present one, in name or parameters.
func (c *Core) changes(strategy string, params []byte) bool {
	return strategy != c.welcome.Strategy || !bytes.Equal(params, c.welcome.Params)
}

// build constructs the strategy of a Welcome. It ends the client and returns false if the client cannot play with it.
func (c *Core) build(w *session.Welcome) bool {
	old := c.strategy
	if err := c.tryBuild(w); err != nil {
		c.session.End(session.CodeInternal, "")
		c.end(err)
		return false
	}
	if old != nil {
		c.stats.Strategy = continued(c.stats.Strategy, old.Stats())
	}
	return true
}

func (c *Core) tryBuild(w *session.Welcome) error {
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
	view := c.view
	if w.Seat != c.welcome.Seat || c.strategy == nil { // the game's additions to the view may depend on the seat
		if view, err = ecs.NewView(c.config.Game); err != nil {
			return err
		}
		view.Roster = c.view.Roster
	}
	world.Image().SetObserver(c.config.Observer)
	strategy, err := s.NewClient(systems.ClientConfig{World: world, Seat: w.Seat, InputDelay: cmp.Or(c.config.InputDelay, w.Delay),
		MaxPrediction: c.config.MaxPrediction, Params: w.Params, Taken: c.finalTick, Refused: c.refusedHere, Elapsed: c.config.elapsed, Observer: c.config.Observer})
	if err != nil {
		return err
	}
	c.world, c.strategy, c.loaded, c.view = world, strategy, false, view
	return nil
}

// pendingImage is an image that is not loaded yet. image is nil for none.
type pendingImage struct {
	image    []byte
	tick     ecs.Tick
	chain    uint64
	until    systems.Time
	strategy string // with which the match continues
	params   []byte
}

// These bound how long an image waits for the client's own state of its tick.
const (
	compareWait = systems.Second / 2
	switchWait  = systems.Second / 10 // with an image that begins another strategy
)

func (c *Core) receiveImage(e *session.Event, now systems.Time) {
	p := pendingImage{image: e.Message, tick: e.Tick, chain: e.Chain, until: now + compareWait, strategy: e.Name, params: e.Params}
	if c.changes(p.strategy, p.params) {
		p.until = now + switchWait
	}
	if !c.load(p, now) {
		c.pending = p
	}
}

// load loads an image, with the strategy that it names. While the client plays, the image is compared with the own state of
// its tick. The image waits for that state, and load returns false.
func (c *Core) load(p pendingImage, now systems.Time) bool {
	if c.joined() {
		if c.strategy.Stats().Confirmed < p.tick && now < p.until {
			return false
		}
		c.compare(p.image)
	}
	c.pending = pendingImage{}
	if c.loaded {
		c.effects.beforeLoad(c.strategy)
	}
	switch {
	case c.changes(p.strategy, p.params):
		w := c.welcome
		if w.Strategy, w.Params = p.strategy, p.params; !c.build(&w) {
			return true
		}
		c.welcome = w
		c.stats.Switches++
		if c.config.Switched != nil {
			c.config.Switched(w.Strategy)
		}
	case c.joined():
		c.stats.Resyncs++
	}
	if err := c.world.Image().LoadOwned(p.image); err != nil {
		c.session.End(session.CodeProtocol, "")
		c.end(err)
		return true
	}
	c.startFinal(record.Chain(p.chain))
	c.begin(now)
	return true
}

func (c *Core) begin(now systems.Time) {
	rtt, ok := c.session.RTT()
	if !ok {
		rtt = c.stats.Session.RTT // that of the last session
	}
	c.strategy.Load(c.strategyTime(now), c.session.ServerTick(now), rtt)
	c.session.Ready()
	c.loaded, c.state, c.backlog = true, CatchingUp, 0
}
