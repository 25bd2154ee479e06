package lockstep

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/clock"
	"tendon/systems/internal/inputs"
	"tendon/systems/predictor"
	"tendon/systems/vote"
)

// Client is lockstep's half on a client. It holds the frames (log.first − 1, log.last] whole, and has executed those
// ≤ executed.at, whose state the world is in. announced is the last frame that the server has announced as complete, so
// executed.at ≤ log.last ≤ announced.
//
// In phase CatchingUp it executes the frames that it holds as fast as it may. In phase Live a frame is due every tick, and
// a frame that is due and not held is a stall.
type Client struct {
	predictor.Half[*Client]
	limits    Config
	log       *log
	executed  cursor
	followed  cursor // the last frame that Follow read
	incoming  incoming
	announced ecs.Tick // the newest S
	interval  int
	grid      clock.Pacer  // its position is the number of frames that are due and the part of the next that has passed
	anchor    systems.Time // when the last new frames came
	margin    margin
	input     inputs.Changes
	own       operationQueue
	ring      *rollback.Snapshots
	effects   rollback.Effects // every event is final when it is received
	checksums predictor.Checksums
	claims    []resultMessage // that were not sent yet
	given     []op            // orders of the local player that were not executed, the oldest first

	valid []ecs.InputBytes // scratch: inputs of the frame that is executed
	code  []byte           // scratch: of the frame that is gathered
	ops   opsMessage       // scratch: the message that is written
}

const (
	ringDepth   = 128                       // least ticks of states and frames that a client keeps
	maxSteps    = 4                         // frames executed in one Frame to reduce the margin (Fiedler, "Deterministic Lockstep")
	mostExcess  = 5                         // frames beyond wanted that the pace reduces: those of a small margin
	catchBudget = 8 * systems.Second / 1000 // for the frames that are executed in one Frame to catch up
	catchFrames = 64                        // the same where time cannot be measured
	almost      = 1e-6                      // tolerance for times rounded to nanoseconds, in ticks
)

var (
	_ systems.Keeper = (*Client)(nil)
	_ ecs.Past       = (*Client)(nil)
)

var clientSystems = []systems.System[*Client]{
	// On either channel: where datagrams are blocked, everything comes on the reliable one.
	{Name: "syncs", Phase: systems.Receive, Kind: kindSync, Accept: (*Client).receiveSync},
	{Name: "stamped operations", Phase: systems.Receive, Kind: kindStamped, Reliable: true, Accept: (*Client).receiveStamped},
	{Name: "margin", Phase: systems.Reconcile, Run: func(c *Client) { c.margin.choose(c.Now) }},
	{Name: "frames", Phase: systems.Reconcile, Run: (*Client).run},
	{Name: "operations", Phase: systems.Send, Run: (*Client).sendOps},
	{Name: "checksums", Phase: systems.Send, Run: (*Client).sendChecksums},
	{Name: "results", Phase: systems.Send, Run: (*Client).sendResults},
}

func newClient(limits Config, c systems.ClientConfig) (systems.Client, error) {
	limits, err := limits.withDefaults()
	if err != nil {
		return nil, err
	}
	core, err := predictor.NewCore("lockstep", ErrMessage, c)
	if err == nil {
		err = checkGame(core.Game)
	}
	if err == nil && c.Params != nil {
		err = limits.readParams(c.Params)
	}
	if err != nil {
		return nil, err
	}
	cl := &Client{limits: limits, log: newLog(0, core.Game), executed: cursor{frame: newFrame(core.Game)},
		followed: cursor{frame: newFrame(core.Game)}, ring: rollback.NewSnapshots(max(ringDepth, core.Game.Screen.History)),
		interval: limits.Interval, checksums: predictor.Checksums{Kind: kindHash, Every: vote.Every}}
	cl.Core = core
	cl.Timer.Least = cl.Timer.Tick() * 4 / 5
	cl.Start(cl, clientSystems)
	cl.incoming.init(core.Game)
	cl.valid = make([]ecs.InputBytes, core.Game.MaxPlayers)
	return cl, nil
}

// Load starts from the state in World.
func (c *Client) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	c.Begin(now, serverTick, rtt)
	c.Reach(predictor.CatchingUp)
	f := c.World().Tick()
	c.log.reset(f)
	c.executed.at, c.followed.at = f, 0
	for p := range c.executed.inputs {
		c.executed.inputs[p] = c.World().Image().Input(ecs.Player(p))
	}
	c.incoming.reset(f, c.executed.inputs)
	c.announced, c.interval = f, c.limits.Interval
	c.anchor, c.grid = now, clock.NewPacer(now, 0, c.Game.TickRate)
	c.margin = newMargin(&c.limits, c.Game.TickRate)
	c.own.restart()
	c.ring.Clear()
	c.ring.Save(c.World())
	c.checksums.Begin(f)
}

// SetInput sets the local player's input from now on. A press is not lost if no frame is due meanwhile.
func (c *Client) SetInput(in ecs.InputBytes) { c.input.Set(in, c.Live(), c.Game) }

// Order requests the server to stamp an order of the local player.
func (c *Client) Order(number uint64, target ecs.Entity, payload []byte, _ systems.Outbox) error {
	err := c.CheckOrder(payload)
	switch {
	case err != nil:
		return err
	case !c.Live():
		return fmt.Errorf("lockstep: an order while the client catches up: try again when it is live")
	case len(c.own.list) >= maxQueue:
		return fmt.Errorf("lockstep: the server has not answered %d operations: try again later", maxQueue)
	}
	o := op{isOrder: true, number: number, target: target, payload: bytes.Clone(payload)}
	c.own.list = append(c.own.list, o)
	if len(c.given) == maxQueue {
		c.given = slices.Delete(c.given, 0, 1)
	}
	c.given = append(c.given, o)
	c.Timer.Pending = true
	return nil
}

func (c *Client) run() {
	if c.announced > c.at()+redundant {
		c.Phase, c.Counted.Stalled = predictor.CatchingUp, systems.NotStalled
	}
	if !c.Live() {
		c.catchUp()
	}
	if !c.Live() {
		c.grid = clock.NewPacer(c.Now, 0, c.Game.TickRate)
		return
	}
	c.grid.Dilate(c.pace(max(c.hand()-int(c.grid.At(c.Now)+almost), 0)))
	c.grid.Advance(c.Now)
	steps := 0
	for ; c.grid.Position()+almost >= 1; steps++ {
		if steps == c.grid.Most() {
			c.grid.Shift(-math.Floor(c.grid.Position()))
			break
		}
		c.grid.Shift(-1)
		c.due()
	}
	if steps > 0 {
		c.sample(steps)
		c.Timer.Pending = true
	}
	for ; !c.limits.NoCatchUp && steps < maxSteps && c.hand() > c.wanted()+min(c.wanted(), mostExcess); steps++ {
		c.execute()
	}
}

// sample makes an operation of the player's input if it is another than the server predicts. ticks have passed since the
// last call.
func (c *Client) sample(ticks int) {
	c.input.Pass(ticks, c.Game)
	if c.Spectates() || len(c.own.list) >= maxQueue {
		return
	}
	if in, changed := c.input.Sample(); changed {
		c.own.list = append(c.own.list, op{in: in})
	}
}

// at returns the last executed frame.
func (c *Client) at() ecs.Tick { return c.executed.at }

// hand returns the number of frames that are held and not executed.
func (c *Client) hand() int { return int(c.log.last - c.at()) }

// wanted returns the number of frames that should be buffered when a sync has come.
func (c *Client) wanted() int { return c.margin.frames + c.interval }

// pace returns how fast to run with a number of frames buffered beyond those that are due.
func (c *Client) pace(hand int) float64 {
	switch {
	case c.limits.NoCatchUp:
		return 1
	case hand > c.wanted():
		return 1.1
	case 2*hand < c.margin.frames:
		return 0.95
	}
	return 1
}

func (c *Client) due() {
	stalled := c.hand() == 0
	c.margin.due(stalled, c.Game.TickRate)
	if !stalled {
		c.Counted.Stalled = systems.NotStalled
		c.execute()
		return
	}
	why := systems.StallSync
	if c.announced > c.log.last {
		why = systems.StallMissing
	}
	c.Stall(why, 1)
}

// catchUp executes buffered frames until no more than wanted are left. Then the client is live. The grid begins so that
// the wanted number of frames was buffered when the last sync came.
func (c *Client) catchUp() {
	for n := 0; c.hand() > c.wanted(); n++ {
		if elapsed := c.Config.Elapsed; n >= catchFrames && elapsed == nil || elapsed != nil && n%4 == 3 && elapsed() >= catchBudget {
			return
		}
		c.execute()
	}
	if c.hand() == c.wanted() && c.announced == c.log.last {
		c.Phase = predictor.Live
		first := clock.NewPacer(c.anchor, 1, c.Game.TickRate) // one frame is due at the anchor
		c.grid = clock.NewPacer(c.Now, first.At(c.Now), c.Game.TickRate)
		c.input.Repeat()
	}
}

// execute executes the next frame, which is buffered.
func (c *Client) execute() {
	e := &c.executed
	c.step(e, c.World())
	recent := e.at+ecs.Tick(c.Game.TickRate) >= c.announced
	c.reportRefusals(e.orders)
	for _, event := range c.World().Events() {
		if c.Live() || recent && event.Irreversible {
			c.effects.Confirm(event)
		}
	}
	if c.Config.Taken != nil {
		c.Config.Taken(systems.FinalTick{FinalTick: rollback.FinalTick{Tick: e.at, Inputs: c.valid, Orders: e.orders}})
	}
	if c.Live() || e.at%vote.Every == 0 || e.at+2 >= c.log.last-min(c.log.last, ecs.Tick(c.wanted())) {
		c.ring.Save(c.World())
	}
	if c.Game.Result != nil && !c.Spectates() {
		if result := c.Game.Result(c.World()); result != nil {
			c.claims = append(c.claims, resultMessage{e.at, c.ring.Save(c.World()).Checksum(), bytes.Clone(result)})
		}
	}
	c.log.dropThrough(e.at - min(e.at, ecs.Tick(c.ring.Depth())))
}

// reportRefusals reports the orders of the local player that were refused in the frame that was executed. Stamped orders have no
// number. A player's orders are executed in the order in which they were given, so each is the first in given with its data.
func (c *Client) reportRefusals(orders []image.Order) {
	if len(c.given) == 0 {
		return
	}
	refusals := c.World().Refusals()
	for i := range orders {
		o, reason := &orders[i], ""
		if len(refusals) > 0 && refusals[0].Order == i {
			reason, refusals = refusals[0].Reason, refusals[1:]
		}
		if o.Kind != image.OrderGame || int(o.Player) != c.Config.Seat {
			continue
		}
		at := slices.IndexFunc(c.given, func(g op) bool { return g.target == o.Entity && bytes.Equal(g.payload, o.Payload) })
		if at < 0 {
			continue
		}
		number := c.given[at].number
		c.given = slices.Delete(c.given, 0, at+1)
		if reason != "" && c.Config.Refused != nil {
			c.Config.Refused(systems.Refusal{Player: o.Player, Number: number, Type: int(o.Payload[0]), Reason: reason})
		}
	}
}

// step executes the frame after a cursor's in a world.
func (c *Client) step(at *cursor, w *ecs.World) {
	at.next(c.log)
	at.validate(w, c.valid)
	w.Step(ecs.TickInputs{Players: c.valid, Orders: at.orders})
}

// View returns the two last states and how far between them the display stands. It stands still, just before the end,
// while the client waits.
func (c *Client) View(now systems.Time) (previous, current, confirmed *image.Snapshot, alpha float64) {
	f := c.at()
	current, ok := c.ring.Floor(f)
	if !ok {
		current = &image.Snapshot{}
	}
	if previous, ok = c.ring.Floor(max(f, 1) - 1); !ok {
		previous = current
	}
	if !c.Live() || c.Counted.Stalled != systems.NotStalled {
		return previous, current, current, math.Nextafter(1, 0)
	}
	return previous, current, current, c.grid.Alpha(0, now)
}

// Effects drains the effects of events. All are confirmed. Of the ticks that were executed to catch up, it has only
// the irreversible events of the last second.
func (c *Client) Effects(f func(systems.Effect)) { c.effects.Drain(c.at(), f) }

// Stats returns the counters.
func (c *Client) Stats() systems.ClientStats {
	s := c.CommonStats()
	s.Present, s.Confirmed = c.at(), c.at()
	s.ServerTick = max(s.ServerTick, c.announced)
	if c.Phase == predictor.CatchingUp {
		s.Behind = max(c.announced, c.log.last) - c.at()
	}
	s.Margin, s.Dilation = float64(c.margin.frames), c.grid.Dilation()
	return s
}

// Kept returns the own state of an executed frame; ok is false where it is not kept.
func (c *Client) Kept(f ecs.Tick) (*image.Snapshot, bool) {
	mine, held := c.ring.At(f)
	return mine, held && f <= c.at()
}
