package lockstep

import (
	"bytes"
	"fmt"
	"math"

	"tendon/ecs"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/checks"
)

// Client is lockstep's half on a client. It holds the frames (log.first − 1, log.last] whole, and has executed those
// ≤ executed.at, whose state the world is in. announced is as far as the server's promises go, so
// executed.at ≤ log.last ≤ announced.
//
// While it is catching it computes what is there as fast as it may. Then it plays: a frame is due every tick, and one
// that is due and not there is a stall.
type Client struct {
	config    Config
	host      systems.ClientConfig
	game      *ecs.Game
	world     *ecs.World
	log       *log
	executed  cursor
	recent    recent           // inputs of the last frames that are complete
	tail      frame            // the frame that is being completed
	before    []ecs.InputBytes // of the frame before it
	held      []stamped        // operations of frames that are not complete
	key       []ecs.InputBytes // the inputs that a sync brought itself
	again     []byte
	blocked   []byte   // the last sync of which operations were missing; empty: none was
	announced ecs.Tick // the newest S
	interval  int
	grid      grid
	margin    margin
	own       own
	ring      *rollback.Snapshots
	news      rollback.News // every event is final when it is heard of
	loaded    bool
	catching  bool
	rtt       systems.Time
	hashed    ecs.Tick        // last frame whose checksum was sent
	claims    []resultMessage // that were not sent yet
	unsent    bool
	lastSend  systems.Time
	stats     systems.ClientStats

	scratch struct {
		valid   []ecs.InputBytes
		code    []byte
		message []byte
		ops     opsMessage
	}
}

// ringDepth is how many ticks of states a client keeps, to compare one with an image of the server's.
const ringDepth = 128

// maxSteps is the most frames that are computed in one Frame to get rid of what is too much in hand (Glenn Fiedler,
// "Deterministic Lockstep", 2014).
const maxSteps = 4

// What one Frame computes while catching up: as much as fits its budget, or a fixed number where time cannot be told.
const (
	catchBudget = 8 * systems.Second / 1000
	catchFrames = 64
)

var _ systems.Client = (*Client)(nil)

func newClient(c Config, host systems.ClientConfig) (*Client, error) {
	if err := checks.Client("lockstep", &host); err != nil {
		return nil, err
	}
	game := host.World.Game()
	if err := checkGame(game); err != nil {
		return nil, err
	}
	if host.Params != nil {
		if err := c.readParams(host.Params); err != nil {
			return nil, err
		}
	}
	cl := &Client{config: c, host: host, game: game, world: host.World, log: newLog(0, game), executed: cursor{frame: newFrame(game)},
		tail: newFrame(game), before: make([]ecs.InputBytes, game.MaxPlayers), ring: rollback.NewSnapshots(ringDepth), interval: c.Interval}
	cl.recent.init(game)
	cl.scratch.valid = make([]ecs.InputBytes, game.MaxPlayers)
	return cl, nil
}

// World is the world the client computes, in the state of Present.
func (c *Client) World() *ecs.World { return c.world }

// Load takes over the state that was loaded into World.
func (c *Client) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	f := c.world.Tick()
	if c.loaded {
		c.stats.Snaps++
	}
	c.log.reset(f)
	c.executed.at = f
	for p := range c.executed.inputs {
		c.executed.inputs[p] = c.world.InputOf(ecs.Player(p))
	}
	c.recent.reset()
	c.recent.put(f, c.executed.inputs)
	c.held, c.blocked = c.held[:0], c.blocked[:0]
	c.announced, c.interval, c.rtt = f, c.config.Interval, rtt
	c.grid = newGrid(now, c.game.TickRate)
	c.margin.begin(&c.config, c.game.TickRate)
	c.own.restart()
	c.ring.Clear()
	c.ring.Save(c.world)
	c.loaded, c.catching, c.hashed, c.unsent, c.lastSend = true, true, f, true, now
	c.stats.ServerTick, c.stats.Stalled = max(serverTick, f), systems.NotStalled
}

// SetInput is what the local player does from now on. A press is not lost if no frame is due meanwhile.
func (c *Client) SetInput(in ecs.InputBytes) { c.own.set(in, c.Live(), c.game) }

// Order asks the server to stamp an order of the local player.
func (c *Client) Order(target ecs.Entity, payload []byte, _ systems.Outbox) error {
	err := checks.Order("lockstep", c.host.Seat, payload)
	switch {
	case err != nil:
		return err
	case !c.Live():
		return fmt.Errorf("lockstep: orders are given once the match is caught up with")
	case c.own.full():
		return fmt.Errorf("lockstep: the server has not answered %d operations: try again later", maxQueue)
	}
	c.own.add(op{isOrder: true, target: target, payload: append([]byte(nil), payload...)})
	c.unsent = true
	return nil
}

// Frame computes the frames that are due.
func (c *Client) Frame(now systems.Time) {
	if !c.loaded {
		return
	}
	c.margin.choose(now)
	if c.announced > c.at()+redundant {
		c.catching, c.stats.Stalled = true, systems.NotStalled
	}
	if c.catching {
		c.catchUp(now)
	}
	if c.catching {
		c.grid.idle(now)
		return
	}
	c.grid.advance(now, c.pace(max(c.hand()-c.grid.pending(now), 0)))
	steps := 0
	for ; c.grid.take(steps); steps++ {
		c.due()
	}
	if steps > 0 {
		if c.host.Seat >= 0 {
			c.own.sample(steps, c.game)
		}
		c.unsent = true
	}
	for ; !c.config.NoCatchUp && steps < maxSteps && c.hand() > 2*c.wanted(); steps++ {
		c.execute()
	}
}

// at is the last frame that was executed.
func (c *Client) at() ecs.Tick { return c.executed.at }

// hand is how many frames could be executed.
func (c *Client) hand() int { return int(c.log.last - c.at()) }

// wanted is how many frames should be in hand when a sync has come.
func (c *Client) wanted() int { return c.margin.frames + c.interval }

// pace chooses how fast to run with so many frames in hand beyond those that are due.
func (c *Client) pace(hand int) float64 {
	switch {
	case c.config.NoCatchUp:
		return 1
	case hand > c.wanted():
		return 1.1
	case 2*hand < c.margin.frames:
		return 0.95
	}
	return 1
}

// due executes the frame that is due, or stalls.
func (c *Client) due() {
	stalled := c.hand() == 0
	c.margin.due(stalled, c.game.TickRate)
	if !stalled {
		c.stats.Stalled = systems.NotStalled
		c.execute()
		return
	}
	if c.stats.Stalled == systems.NotStalled {
		c.stats.Episodes++
	}
	c.stats.Stalls++
	c.stats.Stalled = systems.StallSync
	if c.announced > c.log.last {
		c.stats.Stalled = systems.StallMissing
	}
}

// catchUp computes what is there, until no more than is wanted in hand is left. Then the grid begins: where the frame
// was due, when the last sync came, that leaves what is wanted in hand.
func (c *Client) catchUp(now systems.Time) {
	for n := 0; c.hand() > c.wanted(); n++ {
		if elapsed := c.host.Elapsed; n >= catchFrames && elapsed == nil || elapsed != nil && n%4 == 3 && elapsed() >= catchBudget {
			return
		}
		c.execute()
	}
	if c.hand() == c.wanted() && c.announced == c.log.last {
		c.catching = false
		c.grid.begin(now)
		c.own.start()
	}
}

// execute computes the next frame, which is in hand.
func (c *Client) execute() {
	e := &c.executed
	e.next(c.log)
	e.validate(c.world, c.scratch.valid)
	c.world.Step(ecs.TickInputs{Players: c.scratch.valid, Orders: e.orders})
	if !c.catching || e.at+ecs.Tick(c.game.TickRate) >= c.announced {
		c.hear()
	}
	if c.host.Taken != nil {
		c.host.Taken(systems.FinalTick{Tick: e.at, Inputs: c.scratch.valid, Orders: e.orders})
	}
	if !c.catching || e.at%checkEvery == 0 || e.at+2 >= c.log.last-min(c.log.last, ecs.Tick(c.wanted())) {
		c.ring.Save(c.world)
	}
	if c.game.Result != nil && c.host.Seat >= 0 {
		if result := c.game.Result(c.world); result != nil {
			c.claims = append(c.claims, resultMessage{e.at, c.ring.Save(c.world).Checksum(), bytes.Clone(result)})
		}
	}
	c.log.dropThrough(e.at)
}

// hear takes the events of the world's last tick; while the client catches up, only the irreversible ones matter.
func (c *Client) hear() {
	for _, e := range c.world.Events() {
		if !c.catching || e.Irreversible {
			c.news.Add(e, ecs.EffectConfirmed, true)
		}
	}
}

// View returns the two last states and how far between them the display stands. It stands still, just before the end,
// while the client waits.
func (c *Client) View(now systems.Time) (previous, current, confirmed *ecs.Snapshot, alpha float64) {
	f := c.at()
	current, ok := c.ring.Floor(f)
	if !ok {
		current = &ecs.Snapshot{}
	}
	if previous, ok = c.ring.Floor(max(f, 1) - 1); !ok {
		previous = current
	}
	alpha = c.grid.alpha(now)
	if c.catching || c.stats.Stalled != systems.NotStalled {
		alpha = 1
	}
	return previous, current, current, min(max(alpha, 0), math.Nextafter(1, 0))
}

// Live reports whether the client has caught up with the server and gives inputs.
func (c *Client) Live() bool { return c.loaded && !c.catching }

// Effects drains the news of events. All are confirmed. Of the ticks that were computed to catch up, only irreversible
// events are told, and of those only the last second's.
func (c *Client) Effects(f func(systems.Effect)) { c.news.Drain(c.at(), f) }

// Stats returns what the client counted.
func (c *Client) Stats() systems.ClientStats {
	s := c.stats
	s.Present, s.Confirmed = c.at(), c.at()
	s.ServerTick = max(s.ServerTick, c.announced)
	if c.catching {
		s.Behind = max(c.announced, c.log.last) - c.at()
	}
	s.Margin, s.Dilation, s.RTT = float64(c.margin.frames), c.grid.pace, c.rtt
	s.RingBytes = c.world.PageBytes()
	return s
}

// Kept returns the own state of a tick that is final here, as far as the client keeps them.
func (c *Client) Kept(f ecs.Tick) (*ecs.Snapshot, bool) {
	mine, held := c.ring.At(f)
	return mine, held && f <= c.at()
}
