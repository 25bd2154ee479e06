package reckon

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/clock"
	"tendon/systems/internal/checks"
	"tendon/systems/internal/inputs"
	"tendon/systems/motion"
	"tendon/systems/predictor"
)

// Client is the strategy's half on a client.
//
// The world is in State(present) of this client. The rows of own, the player's avatars, are simulated from the player's
// inputs. All other rows are as in the newest state received, that of tick replica.Tick. The client is authoritative for
// the positions of its avatars: only a correction from the server moves them. Everything else of the avatars is
// corrected by the states received, and the ticks since are resimulated with the positions unchanged.
//
// Ticks follow the local clock, at its nominal pace: other clients extrapolate by the speed that they received. The number
// that a tick has on the server changes instead, so that inputs arrive in time: see numbering.
//
// A client that has settled is in phase CatchingUp until both sides know the clocks. Then it plays.
type Client struct {
	predictor.Half[*Client]
	replica predictor.Replica
	limits  Config
	steered *ecs.Query1[ecs.Seat, ecs.Seat]
	own     image.RowSet
	history *rollback.Snapshots // states of ticks ≤ present
	clock   serverClock
	ticks   numbering
	inputs  inputs.Own
	held    ecs.InputBytes // the player's input now
	avatars []ownAvatar
	remotes remotes

	previous, current image.Snapshot // the last two computed states

	present ecs.Tick
	ready   bool // the server knows this client's clock
	counts  ClientCounts

	scratch struct {
		view    *ecs.View
		inputs  []ecs.InputBytes // zero but for the local player's
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

// farAhead is the most ticks that a message may be ahead of all before. A server sends nothing beyond.
const farAhead = 1 << 14

var (
	_ systems.Client     = (*Client)(nil)
	_ systems.Presenter  = (*Client)(nil)
	_ systems.Replicated = (*Client)(nil)
)

// clientSystems are the systems of the half.
var clientSystems = []systems.System[*Client]{
	{Name: "state and records", Phase: systems.Receive, Kind: kindUpdate, Accept: (*Client).receiveUpdate}, // on either channel
	{Name: "events", Phase: systems.Receive, Kind: kindEvents, Reliable: true, Accept: (*Client).receiveEvents},
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
	seat, err := seats(core.Game)
	if err != nil {
		return nil, err
	}
	cl := &Client{limits: limits, history: rollback.NewSnapshots(historyKept), steered: ecs.NewQuery1(ecs.Read(seat))}
	cl.Core = core
	cl.Start(cl, clientSystems)
	if cl.replica, err = predictor.NewReplica(c.World, historyKept); err != nil {
		return nil, fmt.Errorf("reckon: %w", err)
	}
	cl.scratch.inputs = make([]ecs.InputBytes, core.Game.MaxPlayers)
	cl.remotes.init(cl)
	c.World.Image().SetPredicted(&cl.own)
	return cl, nil
}

// Load starts from the state that was loaded into World, which is the server's.
func (c *Client) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	c.Begin(now, serverTick, rtt)
	w := c.World()
	f := w.Tick()
	c.replica.Begin(f)
	c.clock.begin(c.limits.Assumed != 0)
	c.history.Clear()
	c.remotes.clear()
	c.avatars = c.avatars[:0]
	c.own.Clear()
	c.present, c.ready = f, false
	c.inputs.Restart(f, w, c.Config.Seat)
	c.ticks.begin(now, int(c.Counted.ServerTick)+c.leadTicks(), c.Game.TickRate)
	c.save()
	w.Image().Save(&c.previous)
}

// leadTicks returns how far ahead of the newest server tick received the inputs are given, in ticks, by the round trip.
// An input sent now arrives half of it later and should be a tick early. The newest message is half of it old, and the
// server's next tick has not come yet.
func (c *Client) leadTicks() int {
	return int(float64(c.RTT)*float64(c.Game.TickRate)/float64(systems.Second)) + 2
}

// save keeps the present state, which the world is in.
func (c *Client) save() {
	c.history.Save(c.World())
	c.World().Image().Save(&c.current)
}

// SetInput sets what the local player does from now on. A press is not lost if a frame samples no tick, and not doubled
// if a frame samples several: the ticks after the first get the predicted input.
func (c *Client) SetInput(in ecs.InputBytes) {
	c.inputs.Set(in, c.plays(), c.Game)
	in = c.Game.Input.Clean(in)
	c.held = in
}

// plays reports whether the player's inputs are used.
func (c *Client) plays() bool { return c.Live() && !c.Spectates() }

// Order asks the server to execute an order of the local player. Its result appears in the state.
func (c *Client) Order(target ecs.Entity, payload []byte, out systems.Outbox) error {
	return c.SendOrder(kindOrder, target, payload, out)
}

// run computes the ticks that are due.
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
	if c.ticks.upcoming() <= int(c.replica.Tick) {
		// The server is ahead: the client was suspended. Measures of before are outdated.
		c.ticks.jump(c.Counted.ServerTick + ecs.Tick(c.leadTicks()))
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
	c.present = max(c.present, c.inputs.Sampled())
	if c.World().Image().PutTick(c.present, c.World().Players()) == nil {
		c.save()
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
		number, in = c.present, c.Game.Input.Predict(c.held)
	}
	c.scratch.motions = c.motions(c.scratch.motions[:0])
	c.step(number, in, at)
	if fresh {
		c.replica.Effects.Predicted(number, c.World().Events())
	}
	c.hold(c.scratch.motions)
	c.previous, c.current = c.current, c.previous
	c.save()
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
	c.scratch.inputs[c.Config.Seat] = in
	w.Step(ecs.TickInputs{Players: c.scratch.inputs})
	c.present = number
}

// sendClock sends the messages of the clock exchange that are due.
func (c *Client) sendClock() { c.clock.send(&c.Buffer, c.Now, c.Out) }

// sendMove sends the inputs that the server has not consumed, and the records that are due: after each tick, or for a
// spectator after each message received.
func (c *Client) sendMove() {
	if !c.Timer.Due(c.Now) {
		return
	}
	m := &c.scratch.move
	m.received, m.ack, m.helpless = c.Counted.ServerTick, c.replica.Receiver.Ack(), c.replica.NeedsImage()
	if c.Phase == predictor.Waiting {
		m.received = c.replica.Tick
	}
	m.anchors = c.remotes.appendAcks(m.anchors[:0])
	m.done = m.done[:0]
	if !c.Spectates() && c.inputs.Sampled() < m.received+2*inputs.Window {
		m.done = c.inputs.AppendFrom(m.done, m.received+1)
	}
	c.Buffer = m.append(c.Buffer[:0], c.Game)
	m.claims = m.claims[:0]
	c.Out.Send(0, systems.Datagram, c.Buffer)
}

// View returns the two last states and how far between them the display stands. A spectator's are the state received.
// Present shows more.
func (c *Client) View(now systems.Time) (previous, current, confirmed *image.Snapshot, alpha float64) {
	if c.Phase == predictor.Idle {
		return &c.current, &c.current, &c.current, 0
	}
	confirmed = c.replica.Receiver.State()
	if !c.plays() {
		return confirmed, confirmed, confirmed, 0
	}
	return &c.previous, &c.current, confirmed, c.ticks.alpha(now)
}

// Effects drains the effects of events.
func (c *Client) Effects(f func(systems.Effect)) { c.replica.Effects.Drain(c.present, f) }

// Stats returns the counters. Corrections are bodies that differed from the prediction in more than positions.
func (c *Client) Stats() systems.ClientStats {
	s := c.CommonStats()
	s.Present, s.Confirmed, s.Corrections = c.present, c.replica.Tick, c.counts.Replays
	s.Snaps += c.counts.Snaps
	s.RTT = c.clock.rtt(c.RTT)
	return s
}

// Counts returns the counters of records and bodies.
func (c *Client) Counts() ClientCounts { return c.counts }

// Clock returns the counters of the clock exchange since Load.
func (c *Client) Clock() clock.Stats { return c.clock.stats() }

// Replica returns the newest state received, nil before Load. Entities that no body updated since are in there as they
// were. complete reports that there are none: the state is all that this client is to receive.
func (c *Client) Replica() (s *image.Snapshot, complete bool) {
	if c.Phase == predictor.Idle {
		return nil, false
	}
	return c.replica.Receiver.State(), c.replica.Complete()
}

// Places reports that a replica may have old positions of entities that move: records carry these.
func (c *Client) Places() bool { return false }

// LastUpdate returns the last tick that updated an entity, 0 for none.
func (c *Client) LastUpdate(e ecs.Entity) ecs.Tick { return c.replica.Receiver.LastUpdate(e) }

// Forget drops the baselines of the server's deltas, all but the newest, as a client under memory pressure does. The
// server notices and sends everything anew. It is for tests.
func (c *Client) Forget() { c.replica.Receiver.Forget() }
