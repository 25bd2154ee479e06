package client

import (
	"bytes"
	"errors"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/rollback"
	"tendon/rollback/journal"
	"tendon/rollback/travel"
	"tendon/systems"
)

// Core is a client without sockets and clocks. The session is there while there is a connection; the half is there
// from the first Welcome on and survives reconnects; joined says that the half holds a state of this session's and
// may speak.
type Core struct {
	config  Config
	state   State
	session *session.Client
	half    systems.Client
	world   *ecs.World
	welcome session.Welcome
	joined  bool
	loaded  bool          // world holds a state of the match
	pending pending       // a state that waits to be taken over
	tail    *journal.Tail // what became final last, for a server that lost it
	ticks   []byte        // scratch: an offer
	backlog ecs.Tick      // most ticks that were still to be computed since the state was loaded

	input    ecs.InputBytes
	bot      *ecs.Rand
	token    []byte
	handed   [][]byte // tokens since they were asked for last, oldest first
	attempts int      // that failed since the client was last live
	retryAt  systems.Time
	err      error

	view       *ecs.View
	nothing    image.Snapshot // shown before there is a state
	news       news
	desyncs    []image.Difference
	comparison rollback.Comparison // with images of the server's
	recent     *travel.Ring        // what entered the last ticks; nil unless Config.Desynced is there
	counts     struct{ reconnects, resyncs uint64 }
	fresh      session.Stats // of the sessions before this one
}

// State is where a client stands.
type State uint8

// The states.
const (
	Connecting   State = iota // no word from the server yet
	Loading                   // the state of the match is arriving
	CatchingUp                // the ticks since are being computed
	Live                      // playing, or watching
	Reconnecting              // the connection broke; trying again
	Ended                     // for good; Err says why
)

// String says it in a word.
func (s State) String() string {
	return [...]string{"connecting", "loading", "catching up", "live", "reconnecting", "ended"}[s]
}

// Errors of a client.
var (
	// ErrStrategy is returned when the server plays by a strategy that Config.Strategies lacks.
	ErrStrategy = errors.New("client: the server uses a sync strategy that this client does not know")
	// ErrUnreachable is returned when connecting failed too often; it wraps the last reason.
	ErrUnreachable = errors.New("client: the server cannot be reached")
	// ErrNotLive is returned by Order while the client is not in the match.
	ErrNotLive = errors.New("client: not in the match yet")
)

// desyncsKept bounds the desync reports that are kept.
const desyncsKept = 8

// NewCore returns a client that connects in its first Frame.
func NewCore(c Config) (*Core, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	tail, err := journal.NewTail(journal.TailConfig{Game: c.Game, Ticks: tailTicks})
	if err != nil {
		return nil, err
	}
	core := &Core{config: c, bot: image.NewRand(c.BotSeed), tail: tail}
	return core, core.keepRecent()
}

// SetInput is what the player does from now on.
func (c *Core) SetInput(in ecs.InputBytes) { c.input = in }

// Frame lets time go by: it connects if it must, computes the ticks that are due and sends what is to be sent. Call it
// once per frame of the display. The error is Err's.
func (c *Core) Frame(now systems.Time) error {
	image.SectionFrame.Enter(c.config.Observer)
	err := c.frame(now)
	image.SectionFrame.Leave(c.config.Observer)
	if c.config.Observer != nil {
		f := ecs.Tick(0)
		if c.world != nil {
			f = c.world.Tick()
		}
		c.config.Observer.Turn(f)
	}
	return err
}

func (c *Core) frame(now systems.Time) error {
	if c.state == Ended {
		if c.session != nil {
			c.session.Frame(now)
		}
		return c.err
	}
	if c.session == nil && now >= c.retryAt {
		c.dial(now)
	}
	if c.session == nil {
		return c.err
	}
	if c.joined {
		c.think()
		c.half.SetInput(c.input)
		c.half.Frame(now)
		image.SectionEncode.Enter(c.config.Observer)
		c.half.Send(now, c.out())
		image.SectionEncode.Leave(c.config.Observer)
		c.loadPending(now)
		if c.state == CatchingUp {
			c.backlog = max(c.backlog, c.half.Stats().Behind)
		}
		if c.state == CatchingUp && c.half.Live() {
			c.state, c.attempts = Live, 0
			c.session.Live()
		} else if c.state == Live && c.awaited() {
			c.session.Live()
		}
	}
	image.SectionSend.Enter(c.config.Observer)
	c.session.Frame(now)
	image.SectionSend.Leave(c.config.Observer)
	c.check(now)
	return c.err
}

// awaited reports whether the player is not in the match yet, as far as this client knows.
func (c *Core) awaited() bool {
	return c.welcome.Seat >= 0 && !c.world.Players().Has(ecs.Player(c.welcome.Seat))
}

// think lets the bot play.
func (c *Core) think() {
	if c.config.Bot && c.welcome.Seat >= 0 {
		image.SectionThink.Enter(c.config.Observer)
		c.input = c.config.Game.Bot(c.world, ecs.Player(c.welcome.Seat), c.bot)
		image.SectionThink.Leave(c.config.Observer)
	}
}

// Receive takes a message from the server.
func (c *Core) Receive(ch systems.Channel, message []byte, now systems.Time) {
	if c.session == nil || c.state == Ended {
		return
	}
	image.SectionReceive.Enter(c.config.Observer)
	c.receive(ch, message, now)
	image.SectionReceive.Leave(c.config.Observer)
}

func (c *Core) receive(ch systems.Channel, message []byte, now systems.Time) {
	switch e := c.session.Receive(ch, message, now); e.Kind {
	case session.EventWelcome:
		c.enter(e.Welcome, now)
	case session.EventTailAsk:
		c.offer(e.Tick)
	case session.EventImage:
		c.arrive(e.Message, e.Tick, e.Chain, now)
	case session.EventStrategy:
		if c.joined && c.half.Receive(ch, e.Message, now) != nil {
			c.session.Fault(now)
		}
	case session.EventToken:
		c.token = append(c.token[:0], e.Message...)
		if len(c.handed) < tokensKept {
			c.handed = append(c.handed, bytes.Clone(e.Message))
		}
	case session.EventChatLine:
		if c.config.Chat != nil {
			c.config.Chat(*e.Line)
		}
	case session.EventNotice:
		if c.config.Notice != nil {
			c.config.Notice(e.Seconds, e.Text)
		}
	}
	c.check(now)
}

// outbox is the client as its half sees it.
type outbox Core

// Send carries a message to the server.
func (o *outbox) Send(_ systems.Peer, ch systems.Channel, message []byte) {
	if o.session != nil && o.joined {
		c := (*Core)(o)
		image.SectionSend.Enter(c.config.Observer)
		o.session.SendStrategy(ch, message)
		image.SectionSend.Leave(c.config.Observer)
	}
}

func (c *Core) out() systems.Outbox { return (*outbox)(c) }

// View brings the view up to date with the moment and returns it. Before there is a state it shows nothing.
func (c *Core) View(now systems.Time) *ecs.View {
	if c.view == nil {
		view, err := ecs.NewView(c.config.Game)
		if err != nil { // the game was checked by NewCore
			panic(fmt.Sprintf("client: the game was changed after NewCore: %v", err))
		}
		c.view = view
	}
	if !c.loaded {
		c.view.Update(&c.nothing, &c.nothing, &c.nothing, 0)
		return c.view
	}
	image.SectionPresent.Enter(c.config.Observer)
	defer image.SectionPresent.Leave(c.config.Observer)
	c.view.Seat = c.welcome.Seat
	if p, ok := c.half.(systems.Presenter); ok {
		p.Present(c.view, now)
		return c.view
	}
	previous, current, confirmed, alpha := c.half.View(now)
	c.view.Update(previous, current, confirmed, alpha)
	return c.view
}

// Snapshots returns the states that View shows, for tests and tools: see systems.Client.View. They are empty before
// there is a state.
func (c *Core) Snapshots(now systems.Time) (previous, current, confirmed *image.Snapshot, alpha float64) {
	if !c.loaded {
		return &c.nothing, &c.nothing, &c.nothing, 0
	}
	return c.half.View(now)
}

// Effects drains the news of events. An irreversible one is told once, whatever states are loaded meanwhile.
func (c *Core) Effects(f func(systems.Effect)) {
	if c.loaded {
		c.news.drain(c.half, f)
	}
}

// Order asks the server to stamp an order of the player's, at most image.MaxOrderBytes of payload. It is executed at most
// once. One that is not stamped when the connection breaks, or when a resync replaces the state, may be lost, and is
// never doubled: relay, lockstep and predict do not ask again, and nobody is told; verify asks again under the same number for
// as long as its Config says, and tells what came of it. No error means that the order is on its way, no more. An order
// that must arrive is asked for again when its effect does not show, with something in the payload by which the game's
// rules know it again.
func (c *Core) Order(target ecs.Entity, payload []byte) error {
	if c.state != Live || c.welcome.Seat < 0 {
		return ErrNotLive
	}
	return c.half.Order(target, payload, c.out())
}

// Chat says something to the others. Before the server's Welcome it does nothing.
func (c *Core) Chat(text string) {
	if c.session != nil {
		c.session.Chat(text)
	}
}

// Leave ends the client. Its owner lets a few Frames go by, so that the server hears of it.
func (c *Core) Leave() {
	if c.session != nil {
		c.session.End(session.CodeLeft, "")
	}
	c.end(&session.Error{Code: session.CodeLeft})
}

// Lost says that the connection is gone, and why.
func (c *Core) Lost(why error, now systems.Time) {
	if c.state != Ended && c.session != nil {
		c.retry(why, now)
	}
}

// State returns where the client stands.
func (c *Core) State() State { return c.state }

// Err returns why the client has ended, or nil.
func (c *Core) Err() error { return c.err }

// Progress returns the share of the state that has arrived while the client is loading, and of the ticks since that
// are computed while it is catching up, in [0, 1].
func (c *Core) Progress() float64 {
	switch {
	case c.state == Loading && c.session != nil:
		return c.session.Progress()
	case c.state == CatchingUp && c.backlog > 0:
		return 1 - float64(min(c.half.Stats().Behind, c.backlog))/float64(c.backlog)
	case c.state == Live:
		return 1
	}
	return 0
}

// Seat returns the player's seat, −1 for a spectator and before the Welcome.
func (c *Core) Seat() int {
	if c.half == nil {
		return -1
	}
	return c.welcome.Seat
}

// World returns the client's copy of the match, nil before the Welcome. It is only to be read.
func (c *Core) World() *ecs.World { return c.world }

// Strategy returns the strategy's half, nil before the Welcome: for tests and tools.
func (c *Core) Strategy() systems.Client { return c.half }

// Token returns the newest reconnect token, nil if there is none.
func (c *Core) Token() []byte { return c.token }

// takeHanded returns the reconnect tokens that came since it was called last, oldest first.
func (c *Core) takeHanded() (tokens [][]byte) {
	tokens, c.handed = c.handed, nil
	return tokens
}

// Desyncs returns the first difference that each resync found, the last few of them, newest last.
func (c *Core) Desyncs() []image.Difference { return c.desyncs }

// waitingAfter is how long a server that is there is never silent: every strategy has something for a client several times
// a second, of which the worst network loses a quarter.
const waitingAfter = systems.Second

// Stats is what a client counted since it was made.
type Stats struct {
	State      State
	Waiting    bool         // it is live, and has heard nothing of the server for a second, in which much was due
	RTT        systems.Time // of the session's probes, 0 before the first
	Reconnects uint64       // connections after the first
	Resyncs    uint64       // states taken over from the server while playing
	Session    session.Stats
	Strategy   systems.ClientStats
}

// Stats returns what was counted.
func (c *Core) Stats() Stats {
	s := Stats{State: c.state, Reconnects: c.counts.reconnects, Resyncs: c.counts.resyncs, Session: c.fresh}
	if c.session != nil {
		s.Session = added(c.fresh, c.session.Stats())
		s.RTT = s.Session.RTT
		s.Waiting = c.state == Live && s.Session.Silence >= waitingAfter
	}
	if c.half != nil {
		s.Strategy = c.half.Stats()
	}
	return s
}

// added sums the counters of two sessions; what is not a counter is b's.
func added(a, b session.Stats) session.Stats {
	b.MessagesSent += a.MessagesSent
	b.BytesSent += a.BytesSent
	b.MessagesReceived += a.MessagesReceived
	b.BytesReceived += a.BytesReceived
	b.Malformed += a.Malformed
	b.Stale += a.Stale
	b.Dropped += a.Dropped
	return b
}
