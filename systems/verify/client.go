package verify

import (
	"errors"
	"math"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/inputs"
	"tendon/systems/interp"
	"tendon/systems/predictor"
)

// Client is the strategy's half on a client. The world is in State(present), the newest state received. ring holds the
// states before it, which may be the baseline of one that is under way, or are still to be shown. States only move forward. A
// state that is shown was the server's state of that tick.
type Client struct {
	predictor.Half[*Client]
	limits   Config
	ring     *rollback.Snapshots
	effects  rollback.Effects // every event is final when it is received
	commands commandQueue
	own      inputs.Changes
	present  ecs.Tick
	oldest   ecs.Tick // no State on its way has an older base
	playback *interp.Playback
	shown    float64      // the moment on display, in ticks: it never moves back
	showed   systems.Time // when the display was moved there
	released ecs.Tick     // states before it were released
	credit   systems.Time // a message takes a tick's time of it
	paced    systems.Time // when credit was added last
	unsent   bool         // present or lost has changed since the last message
	lost     bool         // a State could not be used
	pieces   []byte
	refused  uint64 // States that could not be used
	useless  int    // States refused since the last that was used

	scratch struct {
		ask    askMessage
		state  stateMessage
		events []image.EmittedEvent
	}
}

// ringDepth is the most ticks of states that a client keeps.
const ringDepth = 512

// Errors of Order.
var (
	ErrOutstanding = errors.New("verify: too many commands are not answered yet: try again later")
	ErrNoMessage   = errors.New("verify: no message from the server yet: try again later")
)

var _ systems.Keeper = (*Client)(nil)

var clientSystems = []systems.System[*Client]{
	{Name: "states", Phase: systems.Receive, Kind: kindState, Accept: (*Client).receiveState}, // on either channel
	{Name: "pieces", Phase: systems.Receive, Kind: kindPiece, Reliable: true, Accept: (*Client).receivePiece},
	{Name: "display", Phase: systems.Reconcile, Run: (*Client).advance},
	{Name: "inputs", Phase: systems.Reconcile, Run: (*Client).sample},
	{Name: "commands", Phase: systems.Send, Run: (*Client).sendCommands},
}

func newClient(c systems.ClientConfig, limits Config) (systems.Client, error) {
	limits, err := limits.withDefaults()
	if err == nil && c.Params != nil {
		err = limits.takeParams(c.Params)
	}
	if err != nil {
		return nil, err
	}
	core, err := predictor.NewCore("verify", ErrMessage, c)
	if err != nil {
		return nil, err
	}
	cl := &Client{limits: limits, ring: rollback.NewSnapshots(ringDepth), commands: commandQueue{first: 1, sent: 1}}
	cl.Core = core
	cl.playback = interp.NewPlayback(interp.PlaybackConfig{TickRate: core.Game.TickRate, Interval: 1, Intervals: 1})
	cl.Start(cl, clientSystems)
	return cl, nil
}

// Load starts from the state that was loaded into World. Commands without an answer are sent again under the same numbers.
func (c *Client) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	c.Begin(now, serverTick, rtt)
	c.ring.Clear()
	c.ring.Save(c.World())
	c.present, c.oldest = c.World().Tick(), c.World().Tick()
	c.playback.Forget()
	c.shown, c.showed, c.released = float64(c.present), now, c.present
	c.unsent, c.lost, c.useless = true, false, 0
	c.pieces = c.pieces[:0]
	c.paced, c.credit = now, c.Timer.Tick()
	c.commands.sent = c.commands.first
	if player, ok := c.Player(); ok {
		c.own.Restart(c.World().Image().Input(player), c.Game)
	}
}

// receivePiece adds a piece to a State, and receives the State with the last one.
func (c *Client) receivePiece(m systems.Message) error {
	more, piece, err := readPiece(m.Body)
	if err != nil || len(c.pieces)+len(piece) > maxState {
		c.pieces = c.pieces[:0]
		return ErrMessage
	}
	c.pieces = append(c.pieces, piece...)
	if more {
		return nil
	}
	m.Body = c.pieces
	c.pieces = c.pieces[:0]
	return c.receiveState(m)
}

// receiveState advances to a newer state. An older one is dropped. One whose base is not held any more is refused: a
// datagram with another base follows when an acknowledgement arrives. On the reliable channel none would.
func (c *Client) receiveState(message systems.Message) error {
	m := &c.scratch.state
	if err := m.read(message.Body); err != nil {
		return err
	}
	events, err := c.scratch.events[:0], error(nil)
	for _, b := range m.happened {
		if events, err = c.World().Image().Schema().ReadEvents(events, b); err != nil {
			return ErrMessage
		}
	}
	c.scratch.events = events
	if m.tick <= c.present {
		return nil
	}
	if !c.restore(m.base) || c.World().Image().ApplyDelta(m.delta) != nil {
		c.refused++
		c.useless++
		if c.World().Tick() == m.base || message.Channel == systems.Reliable || c.useless > 2*c.Game.TickRate {
			c.lost, c.unsent = true, true
		}
		c.restore(c.present)
		return nil
	}
	c.useless = 0
	c.ring.Save(c.World())
	if message.Channel == systems.Datagram || c.limits.Reliable {
		c.oldest = max(c.oldest, m.base) // acknowledgements only rise, and so do the states of a chain
	}
	for _, e := range events {
		if e.Key.Tick > c.present {
			c.effects.Confirm(e)
		}
	}
	c.present, c.unsent = m.tick, true
	c.playback.Arrived(m.tick, message.Now)
	c.Reach(predictor.Live)
	c.Counted.ServerTick = max(c.Counted.ServerTick, m.tick)
	c.Counted.Hashes++
	if !c.Spectates() {
		rejected, again := c.commands.receive(m)
		c.Counted.Rejected += uint64(rejected)
		if again {
			c.own.Repeat()
		}
	}
	return nil
}

// restore restores the state of a tick, and reports whether it is held.
func (c *Client) restore(f ecs.Tick) bool {
	if c.World().Tick() == f {
		return true
	}
	s, ok := c.ring.At(f)
	if ok && f <= c.present {
		c.World().Image().Restore(s)
	}
	return ok
}

// SetInput sets the local player's input from now on. The input is sampled once a tick's time. A press in between is
// not lost, and not doubled.
func (c *Client) SetInput(in ecs.InputBytes) { c.own.Set(in, true, c.Game) }

// Order requests an order of the local player from the server. It is the last command of Pending.
func (c *Client) Order(number uint64, target ecs.Entity, payload []byte, _ systems.Outbox) error {
	err := c.CheckOrder(payload)
	switch {
	case err != nil:
		return err
	case !c.commands.known:
		return ErrNoMessage
	case len(c.commands.list) >= c.limits.MaxOutstanding:
		return ErrOutstanding
	}
	c.commands.add(Command{Kind: CommandOrder, Given: number, Target: target, Order: payload, Sent: c.Now})
	return nil
}

// advance moves the display to the present, and releases the states that are not needed any more.
func (c *Client) advance() {
	c.advanceTo(c.Now)
	previous, _ := c.bracket()
	until := min(c.oldest, previous.Tick())
	for c.released = max(c.released, until-min(until, ringDepth)); c.released < until; c.released++ {
		c.ring.Release(c.released)
	}
	c.credit = min(c.credit+max(c.Now-c.paced, 0), 2*c.Timer.Tick())
	c.paced = c.Now
}

// sample makes a command of the player's input if it has changed. A command that finds no room waits. Commands that
// have waited for too long are dropped.
func (c *Client) sample() {
	player, ok := c.Player()
	if !ok {
		return
	}
	if c.commands.expire(c.Now, c.limits.Timeout) {
		c.own.Repeat()
	}
	switch {
	case c.credit < c.Timer.Tick() || !c.commands.known:
	case !c.World().Players().Has(player):
		c.own.Restart(ecs.InputBytes{}, c.Game) // a player who joins begins without input
	case len(c.commands.list) < c.limits.MaxOutstanding:
		c.own.Pass(1, c.Game)
		if in, changed := c.own.Sample(); changed {
			c.commands.add(Command{Kind: CommandInput, Input: in, Sent: c.Now})
		}
	}
}

// repeatAsk is the interval at which a client repeats its last message while it has nothing new to send. That message contains an
// acknowledgement, for which a server with a full window may be waiting.
const repeatAsk = systems.Second / 4

// sendCommands sends the commands without an answer, and which state is held, if one of them is new: once a tick's time.
func (c *Client) sendCommands() {
	if c.credit < c.Timer.Tick() {
		return
	}
	from, channel, room := c.commands.first, systems.Datagram, systems.MaxDatagram
	if c.limits.Reliable {
		from, channel, room = c.commands.sent, systems.Reliable, systems.MaxReliable
	}
	again := channel == systems.Datagram && c.Timer.Since(c.Now) >= repeatAsk
	if !c.unsent && from == c.commands.next() && !again || !c.Out.Ready(0) {
		return
	}
	m := &c.scratch.ask
	m.held, m.lost, m.first, m.skip = c.present, c.lost, c.commands.first, int(from-c.commands.first)
	m.asked = append(m.asked[:0], c.commands.list[from-c.commands.first:]...)
	var fits int
	c.Buffer, fits = m.append(c.Buffer[:0], room, c.Game)
	c.commands.sent = max(c.commands.sent, from+uint64(fits))
	c.unsent = false
	c.Timer.Sent(c.Now)
	c.credit -= c.Timer.Tick()
	c.Out.Send(0, channel, c.Buffer)
}

// The display follows the playback. It stops at the newest state, and then catches up at a bounded pace.
const (
	nearTick = 1e-3 // ticks by which rounding may put the playback before a state that it has reached
	catchUp  = 1.1  // pace at most
)

// advanceTo moves the display to a time. Before the first State arrives, it shows the state that was loaded. More than half a
// second behind the playback, it jumps.
func (c *Client) advanceTo(now systems.Time) {
	rate := float64(c.Game.TickRate)
	most := c.shown + catchUp*rate*float64(max(now-c.showed, 0))/float64(systems.Second)
	c.showed = now
	if !c.playback.Started() {
		return
	}
	to := min(c.playback.Advance(now)+nearTick, float64(c.present))
	if to-c.shown <= rate/2 {
		to = min(to, most)
	}
	c.shown = max(c.shown, to)
}

// bracket returns the two states that the display is between. They are the same one if no later state is held.
func (c *Client) bracket() (previous, current *image.Snapshot) {
	f := ecs.Tick(c.shown)
	previous, held := c.ring.Floor(f)
	for f++; f <= c.present; f++ {
		if s, ok := c.ring.At(f); ok {
			current = s
			break
		}
	}
	switch {
	case current == nil:
		current = previous
	case !held:
		previous = current
	}
	return previous, current
}

// View returns the two states that the display is between, and the fraction. The display is a playout delay behind the newest
// state, so that late states do not stop it. All states are final. As confirmed it returns current, so that all components are
// of one moment.
func (c *Client) View(now systems.Time) (previous, current, confirmed *image.Snapshot, alpha float64) {
	c.advanceTo(now)
	previous, current = c.bracket()
	if from, to := previous.Tick(), current.Tick(); from < to {
		alpha = min(max((c.shown-float64(from))/float64(to-from), 0), math.Nextafter(1, 0))
	}
	return previous, current, current, alpha
}

// Effects drains the effects of events. All of them are confirmed.
func (c *Client) Effects(f func(systems.Effect)) { c.effects.Drain(c.present, f) }

// Pending appends the commands without an answer, oldest first, and returns the extended slice.
func (c *Client) Pending(dst []Command) []Command { return append(dst, c.commands.list...) }

// Answers drains the results of commands, in the order in which they were given.
func (c *Client) Answers(f func(Answer)) {
	for _, a := range c.commands.answers {
		f(a)
	}
	c.commands.answers = c.commands.answers[:0]
}

// Stats returns the counters. Hashes are the states whose checksums were right.
func (c *Client) Stats() systems.ClientStats {
	s := c.CommonStats()
	s.Present, s.Confirmed = c.present, c.present
	s.Playout = systems.Time(c.playback.Delay() * float64(c.Timer.Tick()))
	return s
}

// Kept returns the own state of a tick; ok is false where it is not kept.
func (c *Client) Kept(f ecs.Tick) (*image.Snapshot, bool) {
	mine, held := c.ring.At(f)
	return mine, held && f <= c.present
}
