package reckon

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/clock"
	"tendon/systems/internal/inputs"
	"tendon/systems/motion"
	"tendon/systems/predictor"
)

// Client is the strategy's half on a client.
//
// The rows in Predicted, the player's avatars, are simulated from the player's inputs. The client is authoritative for the
// positions of its avatars: only a correction from the server moves them. Everything else of the avatars is corrected by the
// states received, and the ticks since are resimulated with the positions unchanged.
//
// Ticks follow the local clock, at its nominal pace: other clients extrapolate by the speed that they received. The number
// that a tick has on the server changes instead, so that inputs arrive in time: see numbering.
//
// A client that has settled is in phase CatchingUp until both sides have an estimate of the other clock. Then it plays.
type Client struct {
	predictor.Mirror[*Client]
	limits   Config
	steered  *ecs.Query1[ecs.Seat, ecs.Seat]
	clock    remoteClock
	ticks    numbering
	inputs   inputs.Own
	held     ecs.InputBytes // the player's input now
	avatars  []ownAvatar
	remotes  remotes
	previous image.Snapshot // the state before that of Tick, as it was computed
	ready    bool           // the server has an estimate of this client's clock

	scratch struct {
		move    moveMessage
		head    updateHead
		records []motion.Record
		state   image.Snapshot
		motions []ecs.Motion
		record  motion.Record
	}
}

// historyKept is the number of ticks of states that are kept: more than a playable round trip.
const historyKept = 256

var _ systems.Replicated = (*Client)(nil)

// clientSystems are the systems of the half.
var clientSystems = []systems.System[*Client]{
	{Name: "state and records", Phase: systems.Receive, Kind: kindUpdate, Accept: (*Client).receiveUpdate}, // on either channel
	{Name: "events", Phase: systems.Receive, Kind: kindEvents, Reliable: true, Accept: (*Client).ReceiveEvents},
	{Name: "clock answers", Phase: systems.Receive, Kind: clock.KindPong, Accept: (*Client).receiveClock},
	{Name: "clock restarts", Phase: systems.Receive, Kind: clock.KindRestart, Accept: (*Client).receiveClock},
	{Name: "ticks", Phase: systems.Reconcile, Run: (*Client).run},
	{Name: "compose", Phase: systems.Present, Run: (*Client).compose},
	{Name: "extrapolation", Phase: systems.Present, Run: (*Client).extrapolate},
	{Name: "clock", Phase: systems.Send, Run: (*Client).sendClock},
	{Name: "window", Phase: systems.Send, Run: (*Client).sendMove},
}

func newClient(c systems.ClientConfig, limits Config) (systems.Client, error) {
	core, err := predictor.NewCore("reckon", ErrMessage, c)
	if err == nil && c.Params != nil {
		err = limits.takeParams(c.Params)
	}
	if err == nil {
		limits, err = limits.withDefaults(c.World.Game())
	}
	if err != nil {
		return nil, err
	}
	seat, err := seats(core.Game)
	if err != nil {
		return nil, err
	}
	cl := &Client{limits: limits, steered: ecs.NewQuery1(ecs.Read(seat))}
	if err := cl.Init(cl, core, clientSystems, historyKept, historyKept); err != nil {
		return nil, err
	}
	cl.OrderKind = kindOrder
	cl.remotes.client = cl
	if cl.limits.Remotes.Rules.Parent == nil {
		cl.limits.Remotes.Rules.Parent = cl.remotes.parent
	}
	return cl, nil
}

// Load starts from the state that was loaded into World, which is the server's.
func (c *Client) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	c.Begin(now, serverTick, rtt)
	w := c.World()
	c.clock = remoteClock{}
	if c.limits.Assumed == 0 {
		c.clock.exchange = clock.NewProber()
	}
	c.remotes.clear()
	c.avatars = c.avatars[:0]
	c.Predicted.Clear()
	c.ready = false
	c.inputs.Restart(c.Tick, w, c.Config.Seat)
	c.ticks.begin(now, int(c.Counted.ServerTick)+int(c.Ahead()), c.Game.TickRate)
	c.History.Save(w)
	w.Image().Save(&c.previous)
}

// SetInput sets the local player's input from now on. A press is not lost if a frame samples no tick, and not doubled if a
// frame samples several: the ticks after the first get the predicted input.
func (c *Client) SetInput(in ecs.InputBytes) {
	c.inputs.Set(in, c.plays(), c.Game)
	c.held = c.Game.Input.Clean(in)
}

func (c *Client) plays() bool { return c.Live() && !c.Spectates() }

func (c *Client) run() {
	due := c.ticks.advance(c.Now)
	if c.Spectates() {
		for range due {
			c.ticks.next(c.Now, c.Game.TickRate)
		}
		c.CaughtUp(c.clock.known())
		return
	}
	if c.ticks.lead.Settled() {
		c.Reach(predictor.CatchingUp)
		c.RTT = c.ticks.lead.RTT()
	}
	if c.ticks.upcoming() <= int(c.Received) {
		// The server is ahead: the client was suspended. Measures of before are outdated.
		c.ticks.jump(c.Counted.ServerTick + ecs.Tick(c.Ahead()))
	}
	if c.Phase == predictor.CatchingUp && c.ready && c.clock.known() {
		c.play()
	}
	for range due {
		number, at := c.ticks.next(c.Now, c.Game.TickRate)
		c.tick(ecs.Tick(max(number, 1)), at)
	}
}

// play starts to use the player's inputs. The avatars follow when the server has sent their positions.
func (c *Client) play() {
	c.Reach(predictor.Live)
	c.Tick = max(c.Tick, c.inputs.Sampled())
	if c.World().Image().PutTick(c.Tick, c.World().Players()) == nil {
		c.History.Save(c.World())
		c.World().Image().Save(&c.previous)
	}
}

// tick gives the tick of a number its input, and computes it if the player plays.
//
// A number that was given before is computed again from the present state, and a new press waits for the next tick. The
// same holds for a number farther ahead than a message can carry: its input would never be sent, and so never measured.
func (c *Client) tick(number ecs.Tick, at systems.Time) {
	number = min(number, c.Counted.ServerTick+inputs.MaxWindow)
	fresh := number > c.inputs.Sampled()
	for f := c.inputs.Sampled() + 1; f <= number; f++ {
		missed := f < number // the number was skipped: the input is unknown
		c.inputs.Put(f, c.inputs.Next(missed || !c.plays(), c.Game), missed || !c.plays())
		if !missed {
			c.ticks.lead.Sent(f, float64(int(f)-int(c.ticks.done)), c.Now)
		}
	}
	c.Timer.Pending = true
	if !c.plays() {
		return
	}
	in := c.inputs.Last()
	if !fresh {
		number, in = c.Tick, c.Game.Input.Predict(c.held)
	}
	c.World().Image().Save(&c.previous)
	c.scratch.motions = c.motions(c.scratch.motions[:0])
	c.step(number, in, at)
	if fresh {
		c.PredictEvents()
	}
	c.hold(c.scratch.motions)
	c.History.Save(c.World())
	for i := range c.avatars {
		c.claim(&c.avatars[i], at)
	}
}

// step computes the tick of a number, due at a time, from the state that the world is in.
func (c *Client) step(number ecs.Tick, in ecs.InputBytes, at systems.Time) {
	w := c.World()
	if w.Tick() != number-1 && w.Image().PutTick(number-1, w.Players()) != nil {
		panic("reckon: a world refuses its own players: report this")
	}
	c.remotes.place(at)
	c.Simulate(in)
}

func (c *Client) sendClock() { c.clock.send(&c.Buffer, 0, c.Now, c.Out) }

// sendMove sends the inputs that the server has not consumed, and the records that are due: after each tick, or for a
// spectator after each message received.
func (c *Client) sendMove() {
	if !c.Sends() {
		return
	}
	m := &c.scratch.move
	m.received, m.ack, m.helpless = c.Counted.ServerTick, c.Receiver.Ack(), c.NeedsImage()
	if c.Phase == predictor.Waiting {
		m.received = c.Received
	}
	m.anchors = c.remotes.appendAcks(m.anchors[:0])
	m.done = m.done[:0]
	if !c.Spectates() && c.inputs.Sampled() < m.received+2*inputs.Window {
		m.done = c.inputs.AppendFrom(m.done, m.received+1, ecs.InputBytes{}, c.Game)
	}
	m.claims = m.claims[:0]
	for i := range c.avatars {
		if p := &c.avatars[i]; p.unacked > 0 {
			m.claims = append(m.claims, p.last)
		}
	}
	c.Buffer = m.append(c.Buffer[:0], c.Game)
	c.Out.Send(0, systems.Datagram, c.Buffer)
}

// View returns the two last states and how far between them the display stands. A spectator's are the state received.
// Present shows more.
func (c *Client) View(now systems.Time) (previous, current, confirmed *image.Snapshot, alpha float64) {
	confirmed = c.Receiver.State()
	if !c.plays() {
		return confirmed, confirmed, confirmed, 0
	}
	return &c.previous, c.Current(), confirmed, c.ticks.pacer.Alpha(c.ticks.done, now)
}

// Stats returns the counters. Corrections are bodies that differed from the prediction in more than positions. Snaps include
// the server's corrections of an avatar's position.
func (c *Client) Stats() systems.ClientStats {
	s := c.CommonStats()
	s.Present, s.Confirmed, s.Corrections = c.Tick, c.Received, s.Rollbacks
	s.RTT = c.rtt()
	return s
}

// rtt returns the round trip by the clock exchange, or by the lead control.
func (c *Client) rtt() systems.Time {
	if e := c.clock.exchange; e != nil && e.Known() {
		return e.LastRTT()
	}
	return c.RTT
}

// Places reports that a replica may have old positions of entities that move: records carry these.
func (c *Client) Places() bool { return false }
