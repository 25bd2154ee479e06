package verify

import (
	"errors"
	"math"

	"tendon/ecs"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/checks"
)

// Client is the strategy's half on a client. World is in State(present), the newest state that came; ring holds the
// states that came before it and may be the base of one that is on its way. States only move forward; what is shown was
// the server's state of that tick, or is not shown.
type Client struct {
	config  systems.ClientConfig
	limits  Config
	world   *ecs.World
	game    *ecs.Game
	ring    *rollback.Snapshots
	news    rollback.News // every event is final when it is heard of
	asks    asks
	own     controls
	tick    systems.Time // length of a tick
	present ecs.Tick
	oldest  ecs.Tick // no State on its way has an older base
	arrived systems.Time
	shown   shown
	pace    pace
	loaded  bool
	heard   bool // a State has come since Load
	unsent  bool // the server does not know yet what present is, or that something is lost
	lost    bool // a State could not be used
	pieces  []byte
	rtt     systems.Time
	stats   systems.ClientStats
	refused uint64
	useless int // States refused since the last that was used

	scratch struct {
		ask     askMessage
		state   stateMessage
		events  []ecs.EmittedEvent
		message []byte
	}
}

// shown is what the display shows: the way from one state to the next, which takes a tick from when the latter came.
type shown struct {
	previous, current ecs.Tick
	since             systems.Time
	released          ecs.Tick // states before it were given back
}

// pace lets one message go out per tick's time. What was not used in time is lost, but for one.
type pace struct {
	last   systems.Time
	credit systems.Time
	due    bool
}

func (p *pace) advance(now, tick systems.Time) {
	p.credit = min(p.credit+max(now-p.last, 0), 2*tick)
	p.last = now
	p.due = p.credit >= tick
}

func (p *pace) spend(tick systems.Time) {
	p.credit -= tick
	p.due = false
}

// ringDepth is how many ticks of states a client keeps at most.
const ringDepth = 512

// Errors of Order.
var (
	ErrOutstanding = errors.New("verify: too many commands are not answered yet")
	ErrNotHeard    = errors.New("verify: nothing was heard of the server yet")
)

var _ systems.Client = (*Client)(nil)

func newClient(c systems.ClientConfig, limits Config) (systems.Client, error) {
	limits, err := limits.withDefaults()
	if err == nil && c.Params != nil {
		err = limits.takeParams(c.Params)
	}
	if err == nil {
		err = checks.Client("verify", &c)
	}
	if err != nil {
		return nil, err
	}
	game := c.World.Game()
	return &Client{config: c, limits: limits, world: c.World, game: game, ring: rollback.NewSnapshots(ringDepth), asks: asks{first: 1, next: 1, sent: 1},
		tick: systems.Second / systems.Time(game.TickRate)}, nil
}

// World is the client's copy of the match, in the state of Present.
func (c *Client) World() *ecs.World { return c.world }

// Load takes over the state that was loaded into World. Commands that are not answered are sent again; they are the same
// ones.
func (c *Client) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	if c.loaded {
		c.stats.Snaps++
	}
	c.ring.Clear()
	c.ring.Save(c.world)
	c.present = c.world.Tick()
	c.oldest = c.present
	c.shown = shown{previous: c.present, current: c.present, since: now, released: c.present}
	c.arrived, c.rtt = now, rtt
	c.loaded, c.heard, c.unsent, c.lost, c.useless = true, false, true, false, 0
	c.pieces = c.pieces[:0]
	c.pace = pace{last: now, credit: c.tick}
	c.asks.sent = c.asks.first
	c.stats.ServerTick = max(c.stats.ServerTick, serverTick, c.present)
	if c.config.Seat >= 0 {
		c.own.restart(c.world.InputOf(ecs.Player(c.config.Seat)), c.game)
	}
}

// Receive takes a message from the server.
func (c *Client) Receive(ch systems.Channel, message []byte, now systems.Time) error {
	if !c.loaded || len(message) == 0 {
		return ErrMessage
	}
	switch {
	case message[0] == kindState: // on either channel
		return c.receiveState(ch, message, now)
	case message[0] == kindPiece && ch == systems.Reliable:
		return c.receivePiece(message, now)
	}
	return ErrMessage
}

// receivePiece puts a State together.
func (c *Client) receivePiece(message []byte, now systems.Time) error {
	more, piece, err := readPiece(message)
	if err != nil || len(c.pieces)+len(piece) > maxState {
		c.pieces = c.pieces[:0]
		return ErrMessage
	}
	c.pieces = append(c.pieces, piece...)
	if more {
		return nil
	}
	whole := c.pieces
	c.pieces = c.pieces[:0]
	return c.receiveState(systems.Reliable, whole, now)
}

// receiveState moves on to a newer state. A message that is overtaken is passed over. One whose base is not held any
// more is refused: of datagrams, one with another base comes when an acknowledgement gets through; on the reliable channel
// none would.
func (c *Client) receiveState(ch systems.Channel, message []byte, now systems.Time) error {
	m := &c.scratch.state
	if err := m.read(message); err != nil {
		return err
	}
	events := c.scratch.events[:0]
	for _, b := range m.happened {
		var err error
		if events, err = c.game.ReadEvents(events, b); err != nil {
			return ErrMessage
		}
	}
	c.scratch.events = events
	if m.tick <= c.present {
		return nil
	}
	ecs.SectionReconcile.Enter(c.config.Observer)
	defer ecs.SectionReconcile.Leave(c.config.Observer)
	if !c.apply(m) {
		c.refused++
		c.useless++
		if c.world.Tick() == m.base || ch == systems.Reliable || c.useless > 2*c.game.TickRate {
			c.lost, c.unsent = true, true
		}
		c.stand(c.present)
		return nil
	}
	c.useless = 0
	c.ring.Save(c.world)
	if ch == systems.Datagram || c.limits.Reliable {
		c.oldest = max(c.oldest, m.base) // acknowledgements only rise, and so do the states of a chain
	}
	for _, e := range events {
		if e.Key.Tick > c.present {
			c.news.Add(e, ecs.EffectConfirmed, true)
		}
	}
	c.present, c.arrived, c.heard, c.unsent = m.tick, now, true, true
	c.stats.ServerTick = max(c.stats.ServerTick, m.tick)
	c.stats.Hashes++
	if c.config.Seat >= 0 {
		rejected, again := c.asks.hear(m)
		c.stats.Rejected += uint64(rejected)
		c.own.again = c.own.again || again
	}
	return nil
}

// apply brings the world from the base of a State to its tick.
func (c *Client) apply(m *stateMessage) bool {
	return c.stand(m.base) && c.world.ApplyDelta(m.delta) == nil
}

// stand brings the world into the state of a tick that is held.
func (c *Client) stand(f ecs.Tick) bool {
	if c.world.Tick() == f {
		return true
	}
	s, ok := c.ring.At(f)
	if ok && f <= c.present {
		c.world.Restore(s)
	}
	return ok
}

// SetInput is what the local player does from now on. What he does is sampled once a tick's time; a press is not lost
// in between, and not doubled.
func (c *Client) SetInput(in ecs.InputBytes) { c.own.set(in, c.game) }

// Order asks the server for an order of the local player. Its number is the last of Pending.
func (c *Client) Order(target ecs.Entity, payload []byte, _ systems.Outbox) error {
	err := checks.Order("verify", c.config.Seat, payload)
	switch {
	case err != nil:
		return err
	case !c.asks.known:
		return ErrNotHeard
	case c.asks.outstanding() >= c.limits.MaxOutstanding:
		return ErrOutstanding
	}
	c.asks.add(Command{Kind: CommandOrder, Target: target, Order: payload, Sent: c.pace.last})
	return nil
}

// Frame shows what has come, and samples the player's input.
func (c *Client) Frame(now systems.Time) {
	if !c.loaded {
		return
	}
	if c.present > c.shown.current {
		c.shown.previous, c.shown.current, c.shown.since = c.shown.current, c.present, c.arrived
	}
	c.release()
	c.pace.advance(now, c.tick)
	if c.config.Seat < 0 {
		return
	}
	if c.asks.expire(now, c.limits.Timeout) {
		c.own.again = true
	}
	if c.pace.due && c.asks.known {
		c.sample(now)
	}
}

// release gives states back that nothing needs any more.
func (c *Client) release() {
	until := min(c.oldest, c.shown.previous)
	for c.shown.released = max(c.shown.released, until-min(until, ringDepth)); c.shown.released < until; c.shown.released++ {
		if s, ok := c.ring.At(c.shown.released); ok {
			s.Release()
			c.ring.Drop(c.shown.released)
		}
	}
}

// sample makes a command of what the player does, if it is not what he did. What does not find room waits.
func (c *Client) sample(now systems.Time) {
	if !c.world.Players().Has(ecs.Player(c.config.Seat)) {
		c.own.restart(ecs.InputBytes{}, c.game) // who joins begins with nothing
		return
	}
	if c.asks.outstanding() >= c.limits.MaxOutstanding {
		return
	}
	if in, changed := c.own.change(c.game); changed {
		c.asks.add(Command{Kind: CommandInput, Input: in, Sent: now})
	}
}

// Send sends the commands that are not answered, and which state is held, if there is news: once a tick's time.
func (c *Client) Send(_ systems.Time, out systems.Outbox) {
	if !c.loaded || !c.pace.due {
		return
	}
	from, channel, room := c.asks.first, systems.Datagram, systems.MaxDatagram
	if c.limits.Reliable {
		from, channel, room = c.asks.sent, systems.Reliable, systems.MaxReliable
	}
	if !c.unsent && from == c.asks.next {
		return
	}
	m := &c.scratch.ask
	m.held, m.lost, m.first, m.skip = c.present, c.lost, c.asks.first, int(from-c.asks.first)
	m.asked = c.asks.appendFrom(m.asked[:0], from)
	var fits int
	c.scratch.message, fits = m.append(c.scratch.message[:0], room, c.game)
	c.asks.sent = max(c.asks.sent, from+uint64(fits))
	c.unsent = false
	c.pace.spend(c.tick)
	out.Send(0, channel, c.scratch.message)
}

// View returns the two last states, and how far between them the display stands: it takes a tick from when the newer one
// came. What is shown is final.
func (c *Client) View(now systems.Time) (previous, current, confirmed *ecs.Snapshot, alpha float64) {
	current, _ = c.ring.At(c.shown.current)
	previous, ok := c.ring.At(c.shown.previous)
	if !ok {
		previous = current
	}
	alpha = float64(now-c.shown.since) / float64(c.tick)
	return previous, current, current, min(max(alpha, 0), math.Nextafter(1, 0))
}

// Live reports whether the client has heard of the present since it was loaded.
func (c *Client) Live() bool { return c.heard }

// Effects drains the news of events. All of them are confirmed.
func (c *Client) Effects(f func(systems.Effect)) { c.news.Drain(c.present, f) }

// Pending appends the commands that are not answered, oldest first, and returns the extended slice.
func (c *Client) Pending(dst []Command) []Command { return c.asks.appendFrom(dst, c.asks.first) }

// Answers drains what came of commands, in the order in which they were given. Commands are valid during the call.
func (c *Client) Answers(f func(Answer)) { c.asks.answers.drain(f) }

// Refused returns how many States could not be used, since their base is not held or their checksum is wrong. None of
// them was shown.
func (c *Client) Refused() uint64 { return c.refused }

// Stats returns what the client counted. Hashes are the states whose checksums were found right.
func (c *Client) Stats() systems.ClientStats {
	s := c.stats
	s.Present, s.Confirmed = c.present, c.present
	s.Dilation, s.RTT, s.RingBytes = 1, c.rtt, c.world.PageBytes()
	return s
}

// Kept returns the own state of a tick that is final here, as far as the client keeps them.
func (c *Client) Kept(f ecs.Tick) (*ecs.Snapshot, bool) {
	mine, held := c.ring.At(f)
	return mine, held && f <= c.present
}
