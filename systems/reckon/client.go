package reckon

import (
	"fmt"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/clock"
	"tendon/systems/internal/checks"
	"tendon/systems/internal/events"
	"tendon/systems/internal/inputs"
	"tendon/systems/state"
)

// Client is the strategy's half on a client.
//
// World is in State(present) as this client has it: the rows of own, which are the player's avatars, are simulated from
// his inputs as they come, all others are as in the newest state that the server told, that of tick confirmed. Where the
// avatars are is this client's word: nothing but a word of the server's (see pilot) changes it. What else they hold is
// put right by what the server tells, and the ticks since are computed again; their places stay.
//
// A tick is computed when the local clock says so, never sooner or later, since the others reckon with the speed that
// they were told. What moves to keep inputs arriving in time is the number that a tick has on the server: see labels.
type Client struct {
	config   systems.ClientConfig
	limits   Config
	game     *ecs.Game
	world    *ecs.World
	seat     *ecs.Component[ecs.Seat]
	steered  *ecs.Query1[ecs.Seat, ecs.Seat]
	own      ecs.RowSet
	history  *rollback.Snapshots // states of ticks ≤ present
	receiver *state.Receiver
	effects  *rollback.Effects
	probe    *clock.Prober // nil: clocks are not exchanged
	near     Stamp         // the newest of the server's stamps, for when its clock is not known
	labels   labels
	sampled  inputs.Own
	doing    ecs.InputBytes // what the player does
	pilots   []pilot
	crowd    crowd

	previous, current ecs.Snapshot // the last two states that were computed

	present   ecs.Tick
	confirmed ecs.Tick
	loaded    bool
	heard     bool // news have come since Load
	ready     bool // the server knows this client's clock
	locked    bool // the lead has settled since Load
	playing   bool // the player's inputs count
	unsent    bool
	useless   int // bodies in a row that could not be used
	events    events.Receiver
	altered   uint64 // what the last news said
	lastSend  systems.Time
	frame     systems.Time // of the last Frame
	rtt       systems.Time
	stats     systems.ClientStats
	counts    ClientCounts

	scratch struct {
		inputs  []ecs.InputBytes // zero but for the local player's
		message []byte
		move    moveMessage
		head    newsHead
		records []Record
		told    ecs.Snapshot
		motions []ecs.Motion
		record  Record
	}
}

// historyKept is how many ticks of states are kept: more than a round trip that is worth playing on.
const historyKept = 256

// patience is for how many bodies in a row that cannot be used a client waits for one that can.
const patience = 40

// farAhead is how many ticks news may be ahead of all before: more is nothing that a server says.
const farAhead = 1 << 14

var (
	_ systems.Client    = (*Client)(nil)
	_ systems.Presenter = (*Client)(nil)
)

func newClient(c systems.ClientConfig, limits Config) (systems.Client, error) {
	err := checks.Client("reckon", &c)
	if err == nil {
		err = checks.InputDelay("reckon", &c)
	}
	if err == nil && c.Params != nil {
		err = limits.takeParams(c.Params)
	}
	if err == nil {
		limits, err = limits.withDefaults(c.World.Game())
	}
	if err != nil {
		return nil, err
	}
	game := c.World.Game()
	cl := &Client{config: c, limits: limits, game: game, world: c.World, history: rollback.NewSnapshots(historyKept), effects: rollback.NewEffects(historyKept)}
	if cl.seat, err = seats(game); err != nil {
		return nil, err
	}
	cl.steered = ecs.NewQuery1(ecs.Read(cl.seat))
	if cl.receiver, err = state.NewReceiver(c.World); err != nil {
		return nil, fmt.Errorf("reckon: %w", err)
	}
	cl.scratch.inputs = make([]ecs.InputBytes, game.MaxPlayers)
	cl.crowd.init(cl)
	cl.world.SetPredicted(&cl.own)
	return cl, nil
}

// World is the world the client simulates, in the state of Present.
func (c *Client) World() *ecs.World { return c.world }

// Load takes over the state that was loaded into World: it is the server's.
func (c *Client) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	if c.loaded {
		c.stats.Snaps++
	}
	f := c.world.Tick()
	c.renew()
	c.history.Clear()
	c.effects.Begin(f)
	c.crowd.forget()
	c.pilots = c.pilots[:0]
	c.own.Clear()
	c.present, c.confirmed = f, f
	c.events.Begin(f)
	c.loaded, c.heard, c.ready, c.locked, c.playing = true, false, false, false, false
	c.unsent, c.useless, c.lastSend, c.frame, c.rtt = true, 0, now, now, rtt
	c.stats.ServerTick = max(serverTick, f)
	c.sampled.Restart(f, c.world, c.config.Seat)
	c.labels.begin(now, int(c.stats.ServerTick)+c.leadTicks(), c.game.TickRate)
	c.save()
	c.world.Save(&c.previous)
}

// renew begins to receive states anew, and to ask for the server's clock: the server may be another process.
func (c *Client) renew() {
	c.receiver.Renew()
	c.receiver.Load()
	if c.near = 0; c.limits.Assumed == 0 {
		c.probe, _ = clock.NewProber(clock.Config{}) // a zero Config is valid
	}
}

// leadTicks is how far ahead of what is heard of the server inputs are given, as far as the round trip tells: an input
// sent now arrives half of it later and wants to be a tick early; the news of the server is half of it old, and its next
// tick is not here yet.
func (c *Client) leadTicks() int {
	return int(float64(c.rtt)*float64(c.game.TickRate)/float64(systems.Second)) + 2
}

// save keeps the present state, which the world is in.
func (c *Client) save() {
	c.history.Save(c.world)
	c.world.Save(&c.current)
}

// Forget drops what the server's states build on, all but the newest, as a client does that is short of memory: the server
// finds out and tells everything anew. It is for tests of that.
func (c *Client) Forget() { c.receiver.Forget() }

// SetInput is what the local player does from now on. A press is not lost if a frame samples no tick, and not doubled if
// a frame samples several: the ticks after the first get what anybody would predict from it.
func (c *Client) SetInput(in ecs.InputBytes) {
	c.sampled.Set(in, c.playing, c.game)
	c.game.CleanInput(&in)
	c.doing = in
}

// Order asks the server to carry out an order of the local player. What came of it is seen in the state.
func (c *Client) Order(target ecs.Entity, payload []byte, out systems.Outbox) error {
	if err := checks.Order("reckon", c.config.Seat, payload); err != nil {
		return err
	}
	c.scratch.message = appendRequest(c.scratch.message[:0], target, payload)
	out.Send(0, systems.Reliable, c.scratch.message)
	return nil
}

// Receive takes a message from the server.
func (c *Client) Receive(ch systems.Channel, message []byte, now systems.Time) error {
	if !c.loaded || len(message) == 0 {
		return ErrMessage
	}
	switch {
	case message[0] == kindNews: // on either channel
		return c.receiveNews(message, now)
	case message[0] == kindEvents && ch == systems.Reliable:
		return c.receiveEvents(message)
	case c.probe != nil && clock.Owns(message):
		return c.probe.Receive(message, now)
	}
	return ErrMessage
}

// receiveNews takes what the server tells. What it says of the state's ticks may be older than what was heard before;
// each part decides by itself whether it is of use.
func (c *Client) receiveNews(message []byte, now systems.Time) error {
	r, h := wire.NewReader(message), &c.scratch.head
	near, serverNow, known := c.near, systems.Time(0), false
	if c.probe != nil {
		if serverNow, known = c.probe.ToRemote(now); known {
			near = StampOf(serverNow)
		}
	}
	err := h.read(&r, c.stats.ServerTick, near)
	if err == nil {
		c.scratch.records, err = readRecords(c.scratch.records[:0], &r, near)
	}
	if err != nil || h.tick > c.stats.ServerTick+farAhead || !h.body && r.Len() > 0 {
		return ErrMessage
	}
	ecs.SectionReconcile.Enter(c.config.Observer)
	defer ecs.SectionReconcile.Leave(c.config.Observer)
	c.hear(h, now)
	if h.body {
		if err := c.receiveBody(r.Rest(), now); err != nil {
			return err
		}
	}
	if c.playing {
		for i := range h.snaps {
			c.obey(&h.snaps[i], now)
		}
	}
	for i := range c.scratch.records {
		c.counts.Records++
		r := &c.scratch.records[i]
		switch {
		case c.probe == nil:
			c.near = max(c.near, r.Stamp)
		case !known:
			continue // such a stamp cannot be told from one of 41 s before
		default:
			c.probe.Heard(r.Stamp.Time(), now)
		}
		c.crowd.receive(*r, c.limits.dating().Age(r.Stamp, serverNow), now)
	}
	return nil
}

// hear takes what the head of news says.
func (c *Client) hear(h *newsHead, now systems.Time) {
	if h.hasMargin {
		c.stats.Margin = float64(h.margin.Value) / inputs.MarginUnit
		c.labels.lead.Measured(uint64(h.margin.Tick), c.stats.Margin, now)
	}
	if h.tick < c.stats.ServerTick && c.heard {
		return
	}
	c.ready = c.ready || h.ready
	if c.heard && h.altered > c.altered {
		c.stats.Substituted += h.altered - c.altered
	}
	c.heard, c.altered = true, h.altered
	c.stats.ServerTick = max(c.stats.ServerTick, h.tick)
	c.unsent = c.unsent || c.config.Seat < 0
	c.events.Announced(h.tick, h.events, c.effects)
}

// receiveEvents takes what a tick emitted.
func (c *Client) receiveEvents(message []byte) error {
	if !c.events.Receive(message, kindEvents, c.game, c.stats.ServerTick+farAhead, c.effects) {
		return ErrMessage
	}
	return nil
}

// View returns the two last states and how far between them the display stands. A spectator's are those that the server
// told. Present shows more.
func (c *Client) View(now systems.Time) (previous, current, confirmed *ecs.Snapshot, alpha float64) {
	if !c.loaded {
		return &c.current, &c.current, &c.current, 0
	}
	confirmed = c.receiver.State()
	if !c.playing {
		return confirmed, confirmed, confirmed, 0
	}
	return &c.previous, &c.current, confirmed, c.labels.alpha(now)
}

// Live reports whether the client plays, or a spectator sees where everybody is.
func (c *Client) Live() bool {
	if c.config.Seat < 0 {
		return c.heard && c.clocked()
	}
	return c.playing
}

// clocked reports whether the server's clock is known as far as it has to be.
func (c *Client) clocked() bool { return c.probe == nil || c.probe.Known() }

// trip is the round trip, as the clocks know it: what inputs know includes the wait for news.
func (c *Client) trip() systems.Time {
	if c.probe != nil && c.probe.Known() {
		return c.probe.LastRTT()
	}
	return c.rtt
}

// Effects drains the news of events.
func (c *Client) Effects(f func(systems.Effect)) { c.effects.Drain(c.present, f) }

// Stats returns what the client counted. Corrections are bodies that differed from what was predicted, places aside.
func (c *Client) Stats() systems.ClientStats {
	s := c.stats
	s.Present, s.Confirmed, s.Corrections = c.present, c.confirmed, c.counts.Replays
	s.Snaps += c.counts.Snaps
	s.RTT, s.RingBytes, s.Dilation = c.trip(), c.world.PageBytes(), 1
	return s
}

// Counts returns what the client counted of records.
func (c *Client) Counts() ClientCounts { return c.counts }

// Clock returns what the client counted of the exchange of clocks since Load.
func (c *Client) Clock() (stats clock.Stats) {
	if c.probe != nil {
		stats = c.probe.Stats()
	}
	return stats
}
