package relay

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/code"
	"tendon/systems/internal/inputs"
	"tendon/systems/predictor"
)

// Client is the relay's half on a client.
//
// The timeline follows the line as far as the prediction window allows. Until the lead has settled, the client sends
// the inputs that the server would assume.
type Client struct {
	predictor.Half[*Client]
	line      predictor.Line
	timeline  *rollback.Timeline
	effects   *rollback.Effects
	checksums predictor.Checksums
	ends      rollback.Ring[uint64] // where the code of a received tick ends, in bits, in the row of all codes that were read
	endsOwn   bool                  // those codes are without own inputs
	offsets   predictor.Offsets
	smooths   bool    // the game's entities can be shown at an offset
	shown     bool    // in a view since the last rewind
	joining   bool    // it was not live since the last Load
	depth     float64 // of the last rewind, in seconds

	scratch struct {
		before []code.Course    // by player, of the ticks before one in a confirmation
		fresh  []finalTick      // the new ticks of a confirmation, without their inputs
		rows   []ecs.InputBytes // the inputs of fresh, one tick's after the other's
		window inputMessage     // the message that is written
	}
}

const (
	ringDepth     = 128           // least ticks that a client keeps: twice what it may predict
	maxPrediction = ringDepth / 2 // of ClientConfig.MaxPrediction

	catchBudget = 8 * systems.Second / 1000 // for the new ticks of a frame, by a client that is far behind
	catchTicks  = 32                        // the same where time cannot be measured
)

var (
	_ systems.Keeper    = (*Client)(nil)
	_ ecs.Past          = (*Client)(nil)
	_ systems.Presenter = (*Client)(nil)
)

// NewClient returns a client's half; it does nothing until Load.
func NewClient(c systems.ClientConfig) (systems.Client, error) {
	core, err := predictor.NewCore("relay", ErrMessage, c)
	if err == nil {
		err = core.CheckPrediction(maxPrediction)
	}
	if err == nil {
		err = checkGame(c.World.Game())
	}
	if err != nil {
		return nil, err
	}
	depth := max(ringDepth, core.Game.Screen.History)
	cl := &Client{ends: rollback.NewRing[uint64](backlog), effects: rollback.NewEffects(core.Game.Schema(), depth, core.Config.Seat), checksums: predictor.Checksums{Kind: kindHash, Every: checkEvery}}
	cl.Core, cl.OrderKind = core, kindOrder
	cl.Start(cl, clientSystems)
	cl.scratch.before = make([]code.Course, core.Game.MaxPlayers)
	cl.offsets.OffsetConfig = predictor.OffsetConfig{Bounded: true, TopSpeed: core.Game.Physics.MoveLimit.Float()}
	motion, setMotion, _ := core.Game.Schema().HasRoles()
	cl.smooths = motion && setMotion
	config := rollback.Config{World: c.World, MaxPrediction: core.Config.MaxPrediction, Depth: depth, History: backlog,
		Local: c.Seat, Effects: cl.effects, Observer: c.Observer}
	if taken := c.Taken; taken != nil {
		config.Confirmed = func(t rollback.FinalTick) { taken(systems.FinalTick{FinalTick: t}) }
	}
	cl.timeline, err = rollback.New(config)
	return cl, err
}

// Load starts from the state that was loaded into World.
func (c *Client) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	c.timeline.Reset()
	c.offsets.Clear()
	c.ends.Clear()
	c.joining = true
	c.Begin(now, serverTick, rtt)
	c.checksums.Begin(c.timeline.Confirmed())
	c.line.Begin(&c.Core, now, 0)
}

// SetInput sets what the local player does from now on. A press is not lost if a frame samples no tick, and not doubled
// if a frame samples several: the ticks after the first get the predicted input.
func (c *Client) SetInput(in ecs.InputBytes) { c.line.SetInput(in) }

var clientSystems = []systems.System[*Client]{
	// On either channel: where datagrams are blocked, everything comes on the reliable one.
	{Name: "confirmations", Phase: systems.Receive, Kind: kindConfirm, Accept: (*Client).receiveConfirm},
	{Name: "stamped orders", Phase: systems.Receive, Kind: kindStamped, Accept: (*Client).receiveStamped},
	{Name: "clock", Phase: systems.Reconcile, Run: (*Client).steer},
	{Name: "inputs", Phase: systems.Reconcile, Run: (*Client).sample},
	{Name: "rewind", Phase: systems.Reconcile, Run: (*Client).rewind},
	{Name: "ticks", Phase: systems.Reconcile, Run: (*Client).run},
	{Name: "window", Phase: systems.Send, Run: (*Client).sendWindow},
	{Name: "checksums", Phase: systems.Send, Run: func(c *Client) {
		c.checksums.Send(&c.Core, c.timeline.Confirmed(), 0, c.timeline.Snapshot)
	}},
	{Name: "compose", Phase: systems.Present, Run: (*Client).compose},
	{Name: "error smoothing", Phase: systems.Present, Run: func(c *Client) { c.offsets.Show(c.Showing.View, c.Showing.Since) }},
}

// steer moves the line to the time of the frame.
func (c *Client) steer() {
	c.line.Pacer.Advance(c.Now)
	if c.Spectates() {
		c.line.Follow(c.timeline.Received())
	} else {
		c.line.Steer(c.timeline.Received(), true)
	}
}

// sample gives every tick up to the line's its input.
func (c *Client) sample() {
	if c.Spectates() {
		return
	}
	until := min(ecs.Tick(c.line.Pacer.Position()), c.timeline.Received()+inputs.MaxWindow)
	c.line.Inputs.SkipTo(max(c.timeline.Furthest(), c.timeline.Received()), c.Game)
	recent := c.line.Pacer.Most()
	if c.line.HasJumped() {
		recent = 1
	}
	c.line.Sample(until, recent, c.Now, c.timeline.SetLocal)
}

// rewind goes back to the tick before the first misprediction. It begins error smoothing if a view was shown since the last
// rewind.
func (c *Client) rewind() {
	if c.smooths && c.shown && c.timeline.Mispredicted() {
		previous, current, _, _ := c.View(c.Now)
		c.offsets.Before(previous, current)
		c.shown = false
	}
	if depth := c.timeline.Rewind(c.timeline.Present()); depth > 0 {
		c.depth = float64(depth) / float64(c.Game.TickRate)
	}
}

// run resimulates, and steps to the tick that is due. A client that waits for the first confirmation computes nothing.
func (c *Client) run() {
	want, due := c.line.Want(), c.line.Due()
	if c.Phase > predictor.Waiting {
		c.Counted.Stalled = c.step(want, due)
	}
	c.CaughtUp(int(c.timeline.Confirmed())+2 >= min(int(c.Counted.ServerTick), want))
	c.joining = c.joining && !c.Live()
}

// mayStep reports whether a frame that has computed a number of new ticks (fresh) may compute one more. most is the usual limit. A
// client that has loaded a state and is far behind computes more, as long as the frame leaves time to draw.
func (c *Client) mayStep(fresh, most int) bool {
	if fresh < most {
		return true
	}
	if !c.joining || c.timeline.Present()+ringDepth > c.timeline.Received() {
		return false
	}
	if elapsed := c.Config.Elapsed; elapsed != nil {
		return elapsed() < catchBudget
	}
	return fresh < catchTicks
}

// step steps to a tick, and returns why it could not. due is the number of ticks that became due in this frame. The new
// ticks of a frame are bounded, and so is the work as a whole; the rest is left to the next frame. A resimulation continues to
// the tick that was shown before it.
func (c *Client) step(want, due int) systems.StallReason {
	fresh, most, work := 0, c.line.Pacer.Most(), 0
	if c.offsets.Pending() {
		want = max(want, int(c.offsets.Tick()))
	}
	for int(c.timeline.Present()) < want && c.mayStep(fresh, most) && work < ringDepth {
		if c.timeline.Present() >= c.timeline.Furthest() {
			fresh++
		}
		work++
		if !c.timeline.Step() {
			c.Stall(systems.StallWindow, min(due, want-int(c.timeline.Present())))
			return systems.StallWindow
		}
		if c.offsets.Pending() && c.timeline.Present() == c.offsets.Tick() {
			previous, current, _, alpha := c.View(c.Now)
			c.offsets.After(previous, current, alpha, c.depth)
		}
	}
	return systems.NotStalled
}

// sendWindow sends the inputs after the last tick whose input set is final here, and that tick as an acknowledgement. It
// sends after each frame that sampled an input, and for a spectator after each confirmation.
func (c *Client) sendWindow() {
	if !c.Sends() {
		return
	}
	m := &c.scratch.window
	m.received, m.inputs = c.timeline.Received(), m.inputs[:0]
	var before code.Course
	if !c.Spectates() {
		before, _ = c.course(m.received, ecs.Player(c.Config.Seat))
		m.inputs = c.line.Inputs.AppendFrom(m.inputs, m.received+1, before.Last, c.Game)
	}
	c.Buffer = m.append(c.Buffer[:0], before, c.Game)
	c.Out.Send(0, systems.Datagram, c.Buffer)
}

// course returns a player's final inputs of tick f and of the tick before; ok is false if they are not kept.
func (c *Client) course(f ecs.Tick, p ecs.Player) (course code.Course, ok bool) {
	if course.Last, ok = c.timeline.InputAt(f, p); ok && f > 0 {
		course.Before, ok = c.timeline.InputAt(f-1, p)
	}
	return course, ok
}

// View returns the two last states and how far between them the display stands.
func (c *Client) View(now systems.Time) (previous, current, confirmed *image.Snapshot, alpha float64) {
	f := c.timeline.Present()
	current, _ = c.timeline.Floor(f)
	var ok bool
	if previous, ok = c.timeline.Floor(max(f, 1) - 1); !ok {
		previous = current
	}
	if confirmed, ok = c.timeline.Floor(c.timeline.Confirmed()); !ok {
		confirmed = current
	}
	return previous, current, confirmed, c.line.Alpha(f, now)
}

// Present brings the view up to date with now: see systems.Presenter.
func (c *Client) Present(v *ecs.View, now systems.Time) {
	c.Show(v, now)
	c.shown = true
}

// compose shows the two last states.
func (c *Client) compose() {
	previous, current, confirmed, alpha := c.View(c.Showing.Now)
	c.Showing.View.Compose(image.Shown{Prev: previous, Cur: current, Confirmed: confirmed, Own: image.EveryRow()}, alpha)
}

// Effects drains the effects of events.
func (c *Client) Effects(f func(systems.Effect)) { c.effects.Drain(c.timeline.Present(), f) }

// Stats returns the counters. Corrections are inputs of any player that were mispredicted. The local player's are
// among them only where the server altered them.
func (c *Client) Stats() systems.ClientStats {
	s := c.CommonStats()
	s.Present, s.Confirmed = c.timeline.Present(), c.timeline.Confirmed()
	t := &c.timeline.Stats
	s.Rollbacks, s.Resimulated, s.Deepest, s.Corrections = t.Rewinds, t.Resimulated, t.DeepestTick, t.WrongInputs
	s.EventsPredicted, s.EventsCancelled = c.effects.Counts()
	c.line.AddStats(&s)
	return s
}

// Kept returns the own state of a confirmed tick; ok is false where it is not kept.
func (c *Client) Kept(f ecs.Tick) (*image.Snapshot, bool) {
	mine, held := c.timeline.Snapshot(f)
	return mine, held && f <= c.timeline.Confirmed()
}

// Fork returns a second world in the confirmed state of tick f; ok is false if it is not kept.
func (c *Client) Fork(f ecs.Tick) (w *ecs.World, ok bool) { return c.timeline.Fork(f) }

// Follow computes the next tick of a forked world as it was confirmed; ok is false if it is not kept or not known yet.
func (c *Client) Follow(w *ecs.World) (ok bool) { return c.timeline.Follow(w) }
