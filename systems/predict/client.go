package predict

import (
	"fmt"
	"math"

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
// World is in State(present) as this client has it: rows of own are predicted from the local player's inputs, all others
// are as in the newest state that the server told, that of tick confirmed. history holds the predicted states of the
// last ticks, replicas those that were told. pending holds the inputs of ticks (confirmed, confirmed + …] that the player
// gave; those up to present were simulated.
//
// The pacer's position is the tick whose input is sampled now: the present plus the input delay. The lead control moves
// it so that inputs arrive at the server just before they are used. Where the prediction window is too small for the
// connection the input delay grows (see inputs.Delay); beyond that the prediction freezes.
//
// Until the lead has settled, the player's inputs are not sampled: what is sent is what the server would have assumed,
// so that a player who joins is not corrected for what he did before his clock was right.
type Client struct {
	config    systems.ClientConfig
	limits    Config
	game      *ecs.Game
	world     *ecs.World
	own       ecs.RowSet // the rows that are predicted
	history   *rollback.Snapshots
	replicas  *rollback.Snapshots
	receiver  *state.Receiver
	effects   *rollback.Effects
	pacer     clock.Pacer
	lead      clock.Lead
	delay     inputs.Delay
	sampled   inputs.Own
	pending   pending
	picture   picture
	present   ecs.Tick
	confirmed ecs.Tick
	loaded    bool
	locked    bool // the lead has settled since Load
	heard     bool // a snapshot has come since Load
	live      bool // it had caught up after the last frame
	useless   int  // snapshots in a row that could not be used
	events    events.Receiver
	altered   uint64   // what the last snapshot said
	lacked    ecs.Tick // the oldest tick whose input the server lacked in the newest state, 0 for none
	suspect   bool     // … and it was more than before, since a prediction was last compared
	reach     int      // where the pacer's tick stood in the last frame
	jumped    bool     // the pacer was set since the last input was sampled
	unsent    bool
	lastSend  systems.Time
	rtt       systems.Time
	stats     systems.ClientStats
	counts    Counts

	scratch struct {
		inputs  []ecs.InputBytes // zero but for the local player's
		message []byte
		window  inputMessage
		head    snapshotHead
	}
}

// Counts is what a client counted of its mispredictions since it was made.
type Counts struct {
	Snapshots   uint64  // that were taken over
	Refused     uint64  // snapshots that could not be used
	Corrections uint64  // snapshots that differed from what was predicted by more than is tolerated
	Substituted uint64  // … of them, with an own input that the server had not or had altered since the one before
	Others      uint64  // … of them, without: something of the server's that this client cannot know
	Snaps       uint64  // snapshots of ticks that there was nothing to compare with: all was taken over
	Overtaken   uint64  // snapshots that were newer than the present, so that there was nothing to compare either
	Deepest     int     // most ticks that one snapshot made computed again
	Furthest    float64 // longest way between a predicted position and the server's, in world units
	Refusals    uint64  // inputs that found no room
}

// replicasKept is how many ticks of told states are kept: more than playback is ever behind.
const replicasKept = 256

// effectsKept is for how many ticks what was predicted waits for the server's word, which may be held up for seconds on the
// reliable channel.
const effectsKept = 1024

// DefaultPrediction is how many ticks a client predicts at most: half a second at 60 ticks per second.
const DefaultPrediction = 30

// followJump is how far a spectator's clock may be off before it is set, in ticks; below, its pace mends it.
const followJump = 10

// patience is for how many snapshots in a row that cannot be used a client waits for one that can.
const patience = 40

var (
	_ systems.Client     = (*Client)(nil)
	_ systems.Presenter  = (*Client)(nil)
	_ systems.Replicated = (*Client)(nil)
)

func newClient(c systems.ClientConfig, limits Config) (systems.Client, error) {
	limits, err := limits.withDefaults()
	if err == nil && c.Params != nil {
		err = limits.takeParams(c.Params)
	}
	if c.MaxPrediction == 0 {
		c.MaxPrediction = DefaultPrediction
	}
	if err == nil {
		err = checks.Client("predict", &c)
	}
	if err == nil {
		err = checks.Prediction("predict", &c, maxPending)
	}
	if err != nil {
		return nil, err
	}
	game := c.World.Game()
	cl := &Client{config: c, limits: limits, game: game, world: c.World, history: rollback.NewSnapshots(max(128, 2*c.MaxPrediction)),
		replicas: rollback.NewSnapshots(replicasKept), effects: rollback.NewEffects(effectsKept)}
	cl.scratch.inputs = make([]ecs.InputBytes, game.MaxPlayers)
	if c.Seat >= 0 {
		cl.own.AddOwner(ecs.OwnedBy(ecs.Player(c.Seat)))
	}
	cl.world.SetPredicted(&cl.own)
	if cl.receiver, err = state.NewReceiver(c.World); err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	return cl, cl.picture.init(cl)
}

// World is the world the client simulates, in the state of Present.
func (c *Client) World() *ecs.World { return c.world }

// Load takes over the state that was loaded into World: it is the server's.
func (c *Client) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	if c.loaded {
		c.stats.Snaps++
	}
	f := c.world.Tick()
	c.history.Clear()
	c.replicas.Clear()
	c.replicas.Save(c.world)
	c.receiver.Renew()
	c.receiver.Load()
	c.history.Save(c.world)
	c.effects.Begin(f)
	c.picture.forget()
	c.present, c.confirmed, c.useless, c.lacked = f, f, 0, 0
	c.events.Begin(f)
	c.loaded, c.locked, c.heard, c.live, c.rtt, c.unsent, c.lastSend = true, false, false, false, rtt, true, now
	c.pending = pending{base: f}
	c.sampled.Restart(f, c.world, c.config.Seat)
	c.lead.Forget()
	c.stats.ServerTick = max(serverTick, f)
	c.pacer = clock.NewPacer(now, float64(c.stats.ServerTick)+c.leadTicks(), c.game.TickRate)
	c.reach, c.jumped = int(c.pacer.Position()), true
	c.delay = inputs.NewDelay(c.config.InputDelay, c.config.MaxPrediction, int(c.leadTicks()+c.interval())-1)
}

// leadTicks is how far ahead of what is heard of the server a client stands, as far as the round trip tells: an input
// sent now arrives half of it later and wants to be a tick early; the news of the server is half of it old, and its next
// tick is not here yet.
func (c *Client) leadTicks() float64 {
	return float64(c.rtt)*float64(c.game.TickRate)/float64(systems.Second) + 2
}

// interval is the time between two snapshots, in ticks.
func (c *Client) interval() float64 {
	return max(1, float64(c.game.TickRate)/float64(c.limits.SnapshotRate))
}

// Forget drops what the server's states build on, all but the newest, as a client does that is short of memory: the server
// finds out and tells everything anew. It is for tests of that.
func (c *Client) Forget() { c.receiver.Forget() }

// SetInput is what the local player does from now on. A press is not lost if a frame samples no tick, and not doubled if
// a frame samples several: the ticks after the first get what anybody would predict from it.
func (c *Client) SetInput(in ecs.InputBytes) { c.sampled.Set(in, c.locked, c.game) }

// Order asks the server to carry out an order of the local player. What came of it is seen in the state.
func (c *Client) Order(target ecs.Entity, payload []byte, out systems.Outbox) error {
	if err := checks.Order("predict", c.config.Seat, payload); err != nil {
		return err
	}
	c.scratch.message = appendRequest(c.scratch.message[:0], target, payload)
	out.Send(0, systems.Reliable, c.scratch.message)
	return nil
}

// Receive takes a message from the server. A snapshot is reconciled with at once.
func (c *Client) Receive(ch systems.Channel, message []byte, now systems.Time) error {
	if !c.loaded || len(message) == 0 {
		return ErrMessage
	}
	switch {
	case message[0] == kindSnapshot: // on either channel
		return c.receiveSnapshot(message, now)
	case message[0] == kindEvents && ch == systems.Reliable:
		return c.receiveEvents(message)
	}
	return ErrMessage
}

// receiveSnapshot takes over a state that is newer than all before. What was overtaken is passed over. One that builds on
// what is not held is not used; the acknowledgement says so, and it comes whole.
func (c *Client) receiveSnapshot(message []byte, now systems.Time) error {
	r, h := wire.NewReader(message), &c.scratch.head
	if err := h.read(&r, c.confirmed); err != nil {
		return err
	}
	ecs.SectionReconcile.Enter(c.config.Observer)
	defer ecs.SectionReconcile.Leave(c.config.Observer)
	err := c.receiver.Receive(r.Rest())
	f := c.receiver.Tick()
	switch {
	case err == state.ErrBody:
		return ErrMessage
	case err != nil:
		c.stand()
		c.counts.Refused++
		c.useless++
		c.unsent = true
		return nil
	case f == c.confirmed:
		return nil
	}
	c.replicas.Save(c.world)
	c.useless, c.unsent = 0, c.unsent || c.config.Seat < 0
	c.counts.Snapshots++
	c.stats.ServerTick = max(c.stats.ServerTick, f)
	if h.hasMargin {
		c.stats.Margin = float64(h.margin.Value) / inputs.MarginUnit
		c.lead.Measured(uint64(h.margin.Tick), c.stats.Margin, now)
	}
	fresh := h.altered - c.altered
	if c.altered = h.altered; !c.heard || h.altered < fresh {
		fresh = 0
	}
	c.stats.Substituted += fresh
	c.suspect = c.suspect || fresh > 0
	if c.lacked = 0; h.lacks > 0 && h.lacks <= uint64(f) {
		c.lacked = f + 1 - ecs.Tick(h.lacks)
	}
	c.picture.arrived(f, now)
	c.reconcile(f, now)
	c.events.Announced(f, h.events, c.effects)
	return nil
}

// stand brings the world back into the state of the present.
func (c *Client) stand() {
	if s, ok := c.history.At(c.present); ok {
		c.world.Restore(s)
	}
}

// receiveEvents takes what a tick emitted.
func (c *Client) receiveEvents(message []byte) error {
	if !c.events.Receive(message, kindEvents, c.game, c.stats.ServerTick+replicasKept*16, c.effects) {
		return ErrMessage
	}
	return nil
}

// View returns the two last states and how far between them the display stands. A spectator's are those that the server
// told. Present shows more.
func (c *Client) View(now systems.Time) (previous, current, confirmed *ecs.Snapshot, alpha float64) {
	confirmed, _ = c.replicas.At(c.confirmed)
	if current, _ = c.history.At(c.present); current.Empty() || c.config.Seat < 0 {
		return confirmed, confirmed, confirmed, 0
	}
	previous, ok := c.history.At(max(c.present, 1) - 1)
	if !ok {
		previous = current
	}
	at := c.pacer.At(now) - float64(c.present) - float64(c.delay.Ticks())
	return previous, current, confirmed, min(max(at, 0), math.Nextafter(1, 0))
}

// Live reports whether the client has caught up with the server, as far as it has heard, and its clock is right.
func (c *Client) Live() bool {
	if c.config.Seat < 0 {
		return c.heard
	}
	return c.heard && c.locked && (int(c.present)+2 >= c.want() || c.frozen())
}

// Effects drains the news of events.
func (c *Client) Effects(f func(systems.Effect)) { c.effects.Drain(c.present, f) }

// Stats returns what the client counted. Corrections are snapshots that differed from what was predicted.
func (c *Client) Stats() systems.ClientStats {
	s := c.stats
	s.Present, s.Confirmed, s.Corrections = c.present, c.confirmed, c.counts.Corrections
	s.Deepest = uint64(c.counts.Deepest)
	s.Snaps += c.counts.Snaps
	s.InputDelay, s.RTT, s.RingBytes, s.Dilation = c.delay.Ticks(), c.rtt, c.world.PageBytes(), c.pacer.Dilation()
	return s
}

// Counts returns what the client counted of its mispredictions.
func (c *Client) Counts() Counts { return c.counts }

// Replica returns the newest state that the server told: see systems.Replicated.
func (c *Client) Replica() (s *ecs.Snapshot, whole bool) {
	s, ok := c.replicas.At(c.confirmed)
	if !ok {
		return nil, false
	}
	f, ok := c.receiver.Complete()
	return s, ok && f == c.confirmed && c.limits.Interest == 0
}

// Places says that a replica has the places of things.
func (c *Client) Places() bool { return true }

// Told returns the last tick that brought an entity anew, 0 for none.
func (c *Client) Told(e ecs.Entity) ecs.Tick { return c.receiver.Told(e) }
