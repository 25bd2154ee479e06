package client

import (
	"errors"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
)

// Core is a client without a socket and a clock. The strategy exists from the first Welcome on and survives reconnects.
type Core struct {
	config   Config
	state    State
	err      error
	session  *session.Client // nil without a connection
	strategy systems.Client
	world    *ecs.World
	welcome  session.Welcome
	loaded   bool         // world holds a state of the match
	pending  pendingImage // not loaded yet
	backlog  ecs.Tick     // most ticks that were behind the server since the state was loaded
	retries  retries
	tail     *record.Tail // the last final ticks, for a server that lost them
	input    ecs.InputBytes
	bot      *ecs.Rand
	view     *ecs.View
	empty    image.Snapshot // shown before there is a state
	effects  effects
	pause    pause
	desyncs  desyncs
	ordered  uint64 // orders that were given
	refusals refusals
	stats    Stats // Reconnects, Resyncs, Switches, and Session and Strategy of the earlier ones
}

type retries struct {
	failed  int // since the client was live
	at      systems.Time
	started bool
	since   systems.Time   // when it was live last, or started
	now     systems.Time   // of the last Frame
	until   systems.Time   // the server restarts: the client does not give up before
	notice  systems.Time   // when it reports the restart; 0: it does not
	refused *session.Error // why the server refuses the client for now. Optional
}

// State is the state of a client.
type State uint8

// The states.
const (
	Connecting   State = iota // before the first Welcome
	Loading                   // an image is arriving
	CatchingUp                // the ticks since the image are being computed
	Live                      // playing, or watching
	Reconnecting              // the connection was lost
	Ended                     // finally; Err returns the reason
)

// String returns the name of the state.
func (s State) String() string {
	return [...]string{"connecting", "loading", "catching up", "live", "reconnecting", "ended"}[s]
}

// Errors of a client.
var (
	// ErrStrategy is returned when the server uses a strategy that is not in Config.Strategies.
	ErrStrategy = errors.New("client: the server uses a sync strategy that is not in Config.Strategies")
	// ErrUnreachable is returned when connecting failed for Config.GiveUp; it wraps the last reason.
	ErrUnreachable = errors.New("client: the server cannot be reached")
	// ErrNotLive is returned by Order while the client is not in the match.
	ErrNotLive = errors.New("client: not in the match yet")
)

// NewCore returns a client that connects in its first Frame.
func NewCore(c Config) (*Core, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	core := &Core{config: c, bot: image.NewRand(c.BotSeed), tail: record.NewTail(c.Game, tailTicks, record.TailBytes)}
	if core.view, err = ecs.NewView(c.Game); err != nil {
		return nil, err
	}
	core.view.Roster = make([]ecs.Seated, c.Game.MaxPlayers)
	if c.Desynced != nil {
		core.desyncs.recent = record.NewHistory(c.Game, core.header(), recentTicks)
	}
	return core, nil
}

// SetInput sets the input of the player from now on.
func (c *Core) SetInput(in ecs.InputBytes) { c.input = in }

// Frame connects if necessary, computes the ticks that are due and sends messages. Call it once per frame of the display.
// The error is that of Err. A panic of the rules ends the client with a *session.Panic.
func (c *Core) Frame(now systems.Time) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = c.fail(value, image.SectionFrame)
		}
	}()
	image.SectionFrame.Enter(c.config.Observer)
	err = c.frame(now)
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
	if c.retries.now = now; c.state == Live || !c.retries.started {
		c.retries.since, c.retries.started = now, true
	}
	if c.state == Ended {
		if c.session != nil {
			c.session.Frame(now)
		}
		return c.err
	}
	c.await(now)
	c.noticeRestart(now)
	c.giveOrders()
	if c.session == nil && now >= c.retries.at {
		c.dial(now)
	}
	if c.session == nil {
		return c.err
	}
	if c.joined() {
		c.play(now)
	}
	image.SectionSend.Enter(c.config.Observer)
	c.session.Frame(now)
	image.SectionSend.Leave(c.config.Observer)
	c.check(now)
	return c.err
}

// fail ends the client after a panic inside a section.
func (c *Core) fail(value any, s image.Section) error {
	s.Leave(c.config.Observer)
	if c.session != nil {
		c.session.End(session.CodeInternal, "the rules of the game failed")
	}
	c.loaded = false // the state is not whole
	c.end(session.NewPanic(value, c.world))
	return c.err
}

// play has the strategy compute a frame, and reports to the server when it has caught up.
func (c *Core) play(now systems.Time) {
	if c.config.Bot && c.welcome.Seat >= 0 {
		image.SectionThink.Enter(c.config.Observer)
		c.input = c.config.Game.Think(c.world, ecs.Player(c.welcome.Seat), c.bot, c.view.Orders)
		image.SectionThink.Leave(c.config.Observer)
	}
	if !c.pause.last.On {
		c.strategy.SetInput(c.input)
		c.strategy.Frame(c.strategyTime(now))
		image.SectionEncode.Enter(c.config.Observer)
		c.strategy.Send(c.strategyTime(now), c.out())
		image.SectionEncode.Leave(c.config.Observer)
	}
	if c.pending.image != nil {
		c.load(c.pending, now)
	}
	if c.state == CatchingUp {
		c.backlog = max(c.backlog, c.strategy.Stats().Behind)
	}
	if c.state == CatchingUp && c.strategy.Live() {
		c.state, c.retries.failed, c.retries.since, c.retries.until, c.retries.refused = Live, 0, now, 0, nil
		c.session.Live()
	} else if c.state == Live && c.welcome.Seat >= 0 && !c.world.Players().Has(ecs.Player(c.welcome.Seat)) {
		c.session.Live() // the player is not in the match yet
	}
}

// Receive processes a message from the server.
func (c *Core) Receive(ch systems.Channel, message []byte, now systems.Time) {
	if c.session == nil || c.state == Ended {
		return
	}
	c.pause.received = now
	image.SectionReceive.Enter(c.config.Observer)
	defer func() {
		if value := recover(); value != nil {
			_ = c.fail(value, image.SectionReceive)
			return
		}
		image.SectionReceive.Leave(c.config.Observer)
	}()
	switch e := c.session.Receive(ch, message, now); e.Kind {
	case session.EventWelcome:
		clear(c.view.Roster)
		c.enter(e.Welcome, now)
	case session.EventTailAsk:
		c.offer(e.Tick)
	case session.EventProof:
		c.tail.Prove(e.Tick, e.Message)
	case session.EventImage:
		c.receiveImage(&e, now)
	case session.EventStrategy:
		if c.joined() && c.strategy.Receive(ch, e.Message, c.strategyTime(now)) != nil {
			c.session.Fault(now)
		}
	case session.EventToken:
		if c.config.ReceiveToken != nil {
			c.config.ReceiveToken(e.Message)
		}
	case session.EventEndpoints:
		if c.config.ReceiveEndpoints != nil {
			c.config.ReceiveEndpoints(e.Message)
		}
	case session.EventChatLine:
		if c.config.Chat != nil {
			c.config.Chat(*e.Line)
		}
	case session.EventPaused:
		c.setPaused(*e.Paused, now)
		if c.config.Notice != nil {
			c.config.Notice(0, pauseText(e.Paused))
		}
	case session.EventSeat:
		if s := e.Seat; s.Seat < len(c.view.Roster) {
			c.view.Roster[s.Seat] = ecs.Seated{Name: s.Name, Connected: s.Connected, Bot: s.Bot}
		}
	case session.EventPings:
		for seat := range c.view.Roster {
			c.view.Roster[seat].Ping = time.Duration(e.Pings[seat]) * time.Millisecond
		}
	case session.EventRefused:
		if c.isNewRefusal(e.Refused.Number) {
			c.refuse(e.Refused.Number, e.Refused.Type, e.Refused.Reason)
		}
	case session.EventVerdict:
		c.effects.verdict(e.Verdict)
	case session.EventNotice:
		if c.config.Notice != nil {
			c.config.Notice(e.Seconds, e.Text)
		}
	}
	c.check(now)
}

// outbox is a client as its strategy sends through it.
type outbox Core

// Send sends a message to the server.
func (o *outbox) Send(_ systems.Peer, ch systems.Channel, message []byte) {
	if c := (*Core)(o); c.session != nil && c.joined() {
		image.SectionSend.Enter(c.config.Observer)
		c.session.SendStrategy(ch, message)
		image.SectionSend.Leave(c.config.Observer)
	}
}

// Ready reports whether the strategy may send its periodic messages now.
func (o *outbox) Ready(systems.Peer) bool { return o.session == nil || o.session.TransportReady() }

// Room returns how many bytes of reliable messages can be queued now.
func (o *outbox) Room(systems.Peer) int {
	if o.session == nil {
		return 0
	}
	return o.session.TransportRoom()
}

func (c *Core) out() systems.Outbox { return (*outbox)(c) }

// View updates the view to a moment and returns it. Before there is a state the view is empty.
func (c *Core) View(now systems.Time) *ecs.View {
	image.SectionPresent.Enter(c.config.Observer)
	defer image.SectionPresent.Leave(c.config.Observer)
	if c.holds() {
		return c.view
	}
	if c.loaded {
		c.view.Seat = c.welcome.Seat
		c.view.Past, _ = c.strategy.(ecs.Past)
		if p, ok := c.strategy.(systems.Presenter); ok {
			p.Present(c.view, c.strategyTime(now))
			return c.view
		}
	}
	c.view.Update(c.Snapshots(now))
	return c.view
}

// Snapshots returns the states of the view, for tests and tools: see systems.Client. They are empty before there is a
// state.
func (c *Core) Snapshots(now systems.Time) (previous, current, confirmed *image.Snapshot, alpha float64) {
	if !c.loaded {
		return &c.empty, &c.empty, &c.empty, 0
	}
	return c.strategy.View(c.strategyTime(now))
}

// ConfirmedChecksums returns the newest confirmed tick, and a checksum of its state for each column of image.Schema.Columns, to
// compare with the server's. The checksum of a column that the strategy does not replicate is 0. sums is nil if the tick is not later
// than after, or if its state is incomplete.
func (c *Core) ConfirmedChecksums(after ecs.Tick) (f ecs.Tick, sums []image.Checksum) {
	_, _, confirmed, _ := c.Snapshots(0) // the confirmed state does not depend on the moment
	if confirmed.Empty() || confirmed.Tick() <= after {
		return 0, nil
	}
	sums = confirmed.ComponentChecksums(nil)
	if half, ok := c.strategy.(systems.Replicated); ok {
		if _, whole := half.Replica(); !whole {
			return 0, nil
		}
		for i, lacks := range systems.Unreplicated(nil, c.config.Game, half) {
			if lacks {
				sums[i] = 0
			}
		}
	}
	return confirmed.Tick(), sums
}

// Effects calls f for each effect since the last call. An irreversible one is passed once, whatever states are loaded
// meanwhile. The verdict on a match that has ended is an effect, too: see ecs.Effect.
func (c *Core) Effects(f func(systems.Effect)) {
	if c.loaded {
		c.effects.drain(c.strategy, f)
		c.effects.drainVerdicts(c.strategy.Stats().Present, f)
	}
}

// Chat sends a chat message to all players. Before the Welcome it does nothing.
func (c *Core) Chat(text string) {
	if c.session != nil {
		c.session.Chat(text)
	}
}

// Leave ends the client. Call Frame a few times afterwards, so that the server receives the message.
func (c *Core) Leave() {
	if c.session != nil {
		c.session.End(session.CodeLeft, "")
	}
	c.end(&session.Error{Code: session.CodeLeft})
}

// Lost reports that the connection is lost, and why.
func (c *Core) Lost(why error, now systems.Time) {
	if c.state != Ended && c.session != nil {
		c.retry(why, now)
		c.retries.at = min(c.retries.at, now+firstWait)
	}
}

// joined reports whether the strategy holds a state of this session and may send.
func (c *Core) joined() bool { return c.state == CatchingUp || c.state == Live }

// State returns the state of the client.
func (c *Core) State() State { return c.state }

// Err returns why the client has ended, or nil.
func (c *Core) Err() error { return c.err }

// Seat returns the seat of the player, −1 for a spectator and before the Welcome.
func (c *Core) Seat() int {
	if c.strategy == nil {
		return -1
	}
	return c.welcome.Seat
}

// World returns the client's copy of the match, nil before the Welcome. It must not be changed.
func (c *Core) World() *ecs.World { return c.world }

// Strategy returns the client half of the strategy, nil before the Welcome: for tests, tools, and what one strategy alone
// has, such as predict.Client.Switch.
func (c *Core) Strategy() systems.Client { return c.strategy }

// Playing returns the name of the sync strategy, empty before the Welcome.
func (c *Core) Playing() string { return c.welcome.Strategy }
