package relay

import (
	"fmt"
	"math"

	"tendon/ecs"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/clock"
	"tendon/systems/internal/checks"
	"tendon/systems/internal/inputs"
)

// Client is the relay's half on a client.
//
// The pacer's position is the tick whose input is sampled now: the present plus the input delay. The lead control
// moves it so that inputs arrive at the server just before they are used. The timeline follows it as far as the
// prediction window allows; where the window is too small for the connection, the input delay grows (see inputs.Delay).
//
// Until the lead has settled, the player's inputs are not sampled: what is sent is what the server would have
// assumed, so that a player who joins is not corrected for what he did before his clock was right.
type Client struct {
	config   systems.ClientConfig
	game     *ecs.Game
	timeline *rollback.Timeline
	effects  *rollback.Effects
	pacer    clock.Pacer
	lead     clock.Lead
	delay    inputs.Delay
	loaded   bool
	locked   bool     // the lead has settled since Load
	heard    bool     // a confirmation has come since Load
	live     bool     // it had caught up after the last frame
	server   ecs.Tick // newest server tick heard of
	hashed   ecs.Tick // last tick whose checksum was sent
	rtt      systems.Time
	reach    int  // where the pacer's tick stood in the last frame
	jumped   bool // the pacer was set since the last input was sampled
	unsent   bool
	lastSend systems.Time
	stats    systems.ClientStats
	own      inputs.Own
	held     heldOrders

	scratch struct {
		inputs  []ecs.InputBytes // of a tick in a confirmation
		fresh   []finalTick      // the ticks of a confirmation that are new; without their inputs
		rows    []ecs.InputBytes // theirs, one tick's behind the other's
		message []byte
		window  inputMessage
	}
}

// ringDepth is how many ticks a client keeps: twice what it may predict.
const ringDepth = 128

// DefaultPrediction is how many ticks a client predicts at most: half a second at 60 ticks per second.
const DefaultPrediction = 30

// followJump is how far a spectator's clock may be off before it is set, in ticks; below, its pace mends it.
const followJump = 10

// maxPrediction bounds ClientConfig.MaxPrediction.
const maxPrediction = ringDepth / 2

var _ systems.Client = (*Client)(nil)

// NewClient returns a client's half; it does nothing until Load.
func NewClient(c systems.ClientConfig) (systems.Client, error) {
	if c.MaxPrediction == 0 {
		c.MaxPrediction = DefaultPrediction
	}
	err := checks.Client("relay", &c)
	if err == nil {
		err = checks.Prediction("relay", &c, maxPrediction)
	}
	if err == nil {
		err = checkGame(c.World.Game())
	}
	if err != nil {
		return nil, err
	}
	cl := &Client{config: c, game: c.World.Game(), effects: rollback.NewEffects(ringDepth)}
	cl.scratch.inputs = make([]ecs.InputBytes, c.World.Game().MaxPlayers)
	cl.timeline, err = cl.newTimeline()
	return cl, err
}

func (c *Client) newTimeline() (*rollback.Timeline, error) {
	config := rollback.Config{World: c.config.World, MaxPrediction: c.config.MaxPrediction, Depth: ringDepth, History: backlog,
		CheckEvery: checkEvery, Local: c.config.Seat, Effects: c.effects, Observer: c.config.Observer}
	if taken := c.config.Taken; taken != nil {
		config.Confirmed = func(f ecs.Tick, inputs []ecs.InputBytes, late ecs.PlayerSet, orders []ecs.Order) {
			taken(systems.FinalTick{Tick: f, Inputs: inputs, Late: late, Orders: orders})
		}
	}
	return rollback.New(config)
}

// World is the world the client simulates, in the state of Present.
func (c *Client) World() *ecs.World { return c.config.World }

// Load takes over the state that was loaded into World.
func (c *Client) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	c.timeline.Reset()
	if c.loaded {
		c.renew()
	}
	c.loaded, c.locked, c.heard, c.live, c.rtt, c.unsent, c.lastSend = true, false, false, false, rtt, true, now
	c.server = max(serverTick, c.timeline.Present())
	c.hashed = c.timeline.Confirmed()
	c.lead.Forget()
	c.own.Restart(c.timeline.Present(), c.config.World, c.config.Seat)
	c.pacer = clock.NewPacer(now, float64(c.server)+c.leadTicks(), c.game.TickRate)
	c.reach, c.jumped = int(c.pacer.Position()), true
	c.delay = inputs.NewDelay(c.config.InputDelay, c.config.MaxPrediction, int(c.leadTicks())-1)
}

// renew begins a new timeline after a resync. The old one may hold orders that the server sends again, and may have
// dropped others of ticks that will be computed again.
func (c *Client) renew() {
	t, err := c.newTimeline()
	if err != nil {
		panic(fmt.Sprintf("relay: the world that was loaded is not the one that NewClient was given: %v", err))
	}
	if s, ok := c.timeline.Snapshot(c.timeline.Present()); ok {
		s.Release()
	}
	old := c.timeline.Stats()
	c.stats.Rollbacks += old.Rewinds
	c.stats.Resimulated += old.Resimulated
	c.stats.Deepest = max(c.stats.Deepest, old.DeepestTick)
	c.stats.Corrections += old.WrongInputs
	c.stats.Snaps++
	c.timeline, c.held = t, c.held[:0]
}

// leadTicks is how far ahead of what is heard of the server a client stands, as far as the round trip tells: an input
// sent now arrives half of it later and wants to be a tick early; the news of the server is half of it old, and its
// next tick is not here yet.
func (c *Client) leadTicks() float64 {
	return float64(c.rtt)*float64(c.game.TickRate)/float64(systems.Second) + 2
}

// SetInput is what the local player does from now on. A press is not lost if a frame samples no tick, and not doubled
// if a frame samples several: the ticks after the first get what anybody would predict from it.
func (c *Client) SetInput(in ecs.InputBytes) { c.own.Set(in, c.locked, c.game) }

// Order asks the server to stamp an order of the local player.
func (c *Client) Order(target ecs.Entity, payload []byte, out systems.Outbox) error {
	if err := checks.Order("relay", c.config.Seat, payload); err != nil {
		return err
	}
	c.scratch.message = appendRequest(c.scratch.message[:0], target, payload)
	out.Send(0, systems.Reliable, c.scratch.message)
	return nil
}

// Frame computes the ticks that are due: first it goes back to before the first mistake, then it computes again what
// was computed and on to where the pacer stands.
func (c *Client) Frame(now systems.Time) {
	if !c.loaded {
		return
	}
	c.pacer.Advance(now)
	if c.config.Seat < 0 {
		c.follow()
	} else {
		c.steer()
		c.sample(now)
	}
	ecs.SectionReconcile.Enter(c.config.Observer)
	c.timeline.Rewind()
	ecs.SectionReconcile.Leave(c.config.Observer)
	c.run()
	c.live = c.Live()
}

// steer lets the lead control move the pacer, and the delay follow.
func (c *Client) steer() {
	received := c.timeline.Received()
	if frame := c.pacer.Regular(); float64(received)+frame > c.pacer.Position() {
		// The server is ahead of the oldest tick that such a frame brings: this client was suspended, or draws slowly and
		// has not made up for it yet. What it measured before tells nothing of now.
		c.pacer.Shift(float64(received) + c.leadTicks() + frame - 1 - c.pacer.Position())
		c.lead.Forget()
		c.jumped = true
	}
	pace, jump := c.lead.Control(c.pacer.Gained())
	c.pacer.Shift(jump)
	c.pacer.Dilate(pace)
	c.jumped = c.jumped || jump > 0
	if c.lead.Settled() {
		c.locked, c.rtt = true, c.lead.RTT()
	}
	until := int(c.pacer.Position())
	if !c.live {
		return // how far a client is behind while it catches up says nothing of the connection
	}
	for range min(until-c.reach, c.pacer.Most()) {
		c.delay.Observe(until-int(received), c.game.TickRate)
	}
}

// follow paces a spectator, who sends no inputs to measure: he stands where what he heard of ends.
func (c *Client) follow() {
	wrong := float64(c.timeline.Received()) - c.pacer.Position()
	if math.Abs(wrong) > followJump {
		c.pacer.Shift(wrong)
		wrong = 0
	}
	c.pacer.Dilate(min(max(1+0.1*wrong, 0.9), 1.1))
}

// sample gives every tick up to the pacer's its input. Ticks that a jump passed over, or that a frame is too late for,
// are missed: they get what anybody would predict, and tell nothing of how inputs arrive.
func (c *Client) sample(now systems.Time) {
	until := min(ecs.Tick(c.pacer.Position()), c.timeline.Received()+inputs.MaxWindow)
	c.own.SkipTo(max(c.timeline.Furthest(), c.timeline.Received()), c.game)
	sampled := ecs.Tick(c.pacer.Most())
	if c.jumped {
		sampled = 1
	}
	for f := c.own.Sampled() + 1; f <= until; f++ {
		missed := f+sampled <= until
		in := c.own.Next(missed || !c.locked, c.game)
		if c.timeline.SetLocal(f, in) != nil {
			return
		}
		c.own.Put(f, in, missed || !c.locked)
		if !missed {
			c.lead.Sent(uint64(f), c.pacer.Gained(), now)
		}
		c.unsent, c.jumped = true, false
	}
}

// run steps to the tick that is due. New ticks per frame are capped, and so is the work as a whole; what is left goes
// on in the next frame.
func (c *Client) run() {
	want := c.want()
	due := max(0, int(c.pacer.Position())-c.reach)
	c.reach = int(c.pacer.Position())
	if !c.heard {
		return // who just joined waits for the first news instead of guessing
	}
	fresh, work := 0, 0
	for int(c.timeline.Present()) < want && fresh < c.pacer.Most() && work < ringDepth {
		if c.timeline.Present() >= c.timeline.Furthest() {
			fresh++
		}
		work++
		if c.timeline.Step() != nil {
			c.stats.Stalls += uint64(min(due, want-int(c.timeline.Present())))
			return
		}
	}
}

// want is the tick that is due.
func (c *Client) want() int {
	if c.config.Seat < 0 {
		return int(c.pacer.Position())
	}
	return int(c.pacer.Position()) - c.delay.Ticks()
}

// View returns the two last states and how far between them the display stands.
func (c *Client) View(now systems.Time) (previous, current, confirmed *ecs.Snapshot, alpha float64) {
	f := c.timeline.Present()
	current, ok := c.timeline.Snapshot(f)
	if !ok {
		current, _ = c.timeline.Floor(f)
	}
	if previous, ok = c.timeline.Floor(max(f, 1) - 1); !ok {
		previous = current
	}
	if confirmed, ok = c.timeline.Floor(c.timeline.Confirmed()); !ok {
		confirmed = current
	}
	at := c.pacer.At(now) - float64(f)
	if c.config.Seat >= 0 {
		at -= float64(c.delay.Ticks())
	}
	return previous, current, confirmed, min(max(at, 0), math.Nextafter(1, 0))
}

// Live reports whether the client has caught up with the server, as far as it has heard: what it has confirmed trails
// the server, or what the input delay lets it show, by two ticks at most, and its clock is right.
func (c *Client) Live() bool {
	return c.heard && (c.locked || c.config.Seat < 0) && int(c.timeline.Confirmed())+2 >= min(int(c.server), c.want())
}

// Effects drains the news of events.
func (c *Client) Effects(f func(systems.Effect)) { c.effects.Drain(c.timeline.Present(), f) }

// Stats returns what the client counted. Corrections are inputs of any player that were confirmed otherwise than they
// had been predicted; the local player's are among them only where the server altered them.
func (c *Client) Stats() systems.ClientStats {
	s, t := c.stats, c.timeline.Stats()
	s.Present, s.Confirmed, s.ServerTick = c.timeline.Present(), c.timeline.Confirmed(), c.server
	s.Rollbacks += t.Rewinds
	s.Resimulated += t.Resimulated
	s.Deepest = max(s.Deepest, t.DeepestTick)
	s.Corrections += t.WrongInputs
	s.InputDelay, s.RTT, s.RingBytes = c.delay.Ticks(), c.rtt, c.config.World.PageBytes()
	s.Dilation = c.pacer.Dilation()
	return s
}

// Timeline returns the client's timeline, for tests and tools.
func (c *Client) Timeline() *rollback.Timeline { return c.timeline }

// Kept returns the own state of a tick that is final here, as far as the client keeps them.
func (c *Client) Kept(f ecs.Tick) (*ecs.Snapshot, bool) {
	mine, held := c.timeline.Snapshot(f)
	return mine, held && f <= c.timeline.Confirmed()
}
