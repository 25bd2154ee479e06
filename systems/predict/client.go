package predict

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/checks"
	"tendon/systems/predictor"
)

// Client is the strategy's half on a client.
//
// The world is in State(present) of this client: the rows of own are predicted from the local player's inputs. All other
// rows are as in the newest state received, that of tick replica.Tick. history holds the predicted states of the last
// ticks, received those of the server. pending holds the player's inputs of the ticks after replica.Tick; those up to
// present were simulated.
//
// The present follows the line as far as the prediction window allows. Beyond the window the prediction freezes.
type Client struct {
	predictor.Half[*Client]
	line     predictor.Line
	replica  predictor.Replica
	limits   Config
	own      image.RowSet // the predicted rows
	history  *rollback.Snapshots
	received *rollback.Snapshots
	pending  inputQueue
	show     presentation
	present  ecs.Tick
	lacked   ecs.Tick // oldest tick whose input the server lacked in the newest state, 0 for none
	suspect  bool     // an own input was substituted since a prediction was last compared
	counts   Counts

	scratch struct {
		view   image.ViewStamp  // of the frame
		inputs []ecs.InputBytes // zero but for the local player's
		window inputMessage
		head   snapshotHead
	}
}

// Counts are the counters of a client's mispredictions since it was made.
type Counts struct {
	Snapshots   uint64  // snapshots that were used
	Refused     uint64  // snapshots that could not be used
	Corrections uint64  // snapshots that differed from the prediction by more than the tolerance
	Substituted uint64  // corrections after the server lacked or altered an own input
	External    uint64  // corrections without: the server computed something that this client cannot know
	Snaps       uint64  // snapshots of a tick without a predicted state: all was taken over
	Overtaken   uint64  // snapshots newer than the present, without a predicted state either
	Deepest     int     // most ticks that one snapshot made resimulate
	Furthest    float64 // longest distance between a predicted position and the server's, in world units
	Refusals    uint64  // inputs that found the queue full
}

// receivedKept is the number of ticks of received states that are kept: more than playback is ever behind.
const receivedKept = 256

// effectsKept is the number of ticks whose predicted events wait for the server's. The reliable channel may delay these by
// seconds.
const effectsKept = 1024

// DefaultPrediction is the prediction window in ticks: half a second at 60 ticks per second.
const DefaultPrediction = 30

var (
	_ systems.Client     = (*Client)(nil)
	_ systems.Presenter  = (*Client)(nil)
	_ systems.Replicated = (*Client)(nil)
)

// clientSystems are the systems of the half.
var clientSystems = []systems.System[*Client]{
	{Name: "snapshots", Phase: systems.Receive, Kind: kindSnapshot, Accept: (*Client).receiveSnapshot}, // on either channel
	{Name: "events", Phase: systems.Receive, Kind: kindEvents, Reliable: true, Accept: (*Client).receiveEvents},
	{Name: "clock", Phase: systems.Reconcile, Run: (*Client).steer},
	{Name: "inputs", Phase: systems.Reconcile, Run: (*Client).sample},
	{Name: "ticks", Phase: systems.Reconcile, Run: (*Client).run},
	{Name: "window", Phase: systems.Send, Run: (*Client).sendWindow},
	{Name: "compose", Phase: systems.Present, Run: (*Client).compose},
	{Name: "interpolation", Phase: systems.Present, Run: (*Client).interpolate},
	{Name: "switched", Phase: systems.Present, Run: (*Client).presentSwitched},
	{Name: "error smoothing", Phase: systems.Present, Run: (*Client).fade},
}

func newClient(c systems.ClientConfig, limits Config) (systems.Client, error) {
	limits, err := limits.withDefaults()
	if err == nil && c.Params != nil {
		err = limits.takeParams(c.Params)
	}
	if err != nil {
		return nil, err
	}
	if c.MaxPrediction == 0 {
		c.MaxPrediction = DefaultPrediction
	}
	core, err := predictor.NewCore("predict", ErrMessage, c)
	if err == nil {
		err = checks.Prediction("predict", &c, maxPending)
	}
	if err != nil {
		return nil, err
	}
	cl := &Client{limits: limits, history: rollback.NewSnapshots(max(128, 2*c.MaxPrediction)), received: rollback.NewSnapshots(receivedKept)}
	cl.Core = core
	cl.Start(cl, clientSystems)
	cl.scratch.inputs = make([]ecs.InputBytes, core.Game.MaxPlayers)
	if player, ok := core.Player(); ok {
		cl.own.AddOwner(ecs.OwnedBy(player))
	}
	c.World.Image().SetPredicted(&cl.own)
	if cl.replica, err = predictor.NewReplica(c.World, effectsKept); err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	return cl, cl.show.init(cl)
}

// Load starts from the state that was loaded into World, which is the server's.
func (c *Client) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	c.Begin(now, serverTick, rtt)
	w := c.World()
	f := w.Tick()
	c.history.Clear()
	c.received.Clear()
	c.received.Save(w)
	c.replica.Begin(f)
	c.history.Save(w)
	c.show.reset()
	c.present, c.lacked = f, 0
	c.pending = inputQueue{base: f}
	c.line.Begin(&c.Core, now, c.interval())
}

// interval returns the time between two snapshots, in ticks.
func (c *Client) interval() float64 {
	return max(1, float64(c.Game.TickRate)/float64(c.limits.SnapshotRate))
}

// SetInput sets what the local player does from now on. A press is not lost if a frame samples no tick, and not doubled
// if a frame samples several: the ticks after the first get the predicted input.
func (c *Client) SetInput(in ecs.InputBytes) { c.line.SetInput(in) }

// Order asks the server to execute an order of the local player. Its result appears in the state.
func (c *Client) Order(target ecs.Entity, payload []byte, out systems.Outbox) error {
	return c.SendOrder(kindOrder, target, payload, out)
}

// steer moves the line and the playback to the time of the frame.
func (c *Client) steer() {
	c.scratch.view = c.show.seen() // the moment at which the player saw the remote entities while giving this input
	c.line.Pacer.Advance(c.Now)
	c.show.playback.Advance(c.Now)
	if c.Spectates() {
		c.line.Follow(c.replica.Tick)
		return
	}
	c.line.Steer(c.replica.Tick, c.Settled())
}

// sample gives every tick up to the line's its input, and the moment that the player saw. Where the queue is full, the
// input waits. A client that waits for the first snapshot samples nothing.
//
// While the clock settles, every snapshot may set the line ahead. The server measures the oldest input of a frame, so all
// inputs of such a frame are measured.
func (c *Client) sample() {
	if c.Spectates() || c.Phase == predictor.Waiting {
		return
	}
	recent := c.line.Pacer.Most()
	if c.line.HasJumped() && (c.Settled() || c.counts.Snaps == 0) {
		recent = 1
	}
	c.line.Sample(ecs.Tick(c.line.Pacer.Position()), recent, c.Now, func(_ ecs.Tick, in ecs.InputBytes) bool {
		ok := c.pending.push(entry{in, c.scratch.view})
		if !ok {
			c.counts.Refusals++
		}
		return ok
	})
}

// run steps to the tick that is due. The new ticks of a frame are bounded; the rest is left to the next frame.
func (c *Client) run() {
	if c.Phase == predictor.Waiting {
		return
	}
	if c.Spectates() {
		c.CaughtUp(true)
		return
	}
	c.Counted.Stalled = c.advance(c.line.Want(), c.line.Due())
	c.CaughtUp(int(c.present)+2 >= c.line.Want() || c.frozen())
}

// advance steps to a tick, and returns why it could not. due is the number of ticks that became due in this frame.
func (c *Client) advance(want, due int) systems.StallReason {
	for fresh := 0; int(c.present) < want && fresh < c.line.Pacer.Most(); fresh++ {
		e, ok := c.pending.at(c.present + 1)
		if !ok || c.frozen() {
			c.Stall(systems.StallWindow, min(due, want-int(c.present)))
			return systems.StallWindow
		}
		c.step(e.in)
	}
	return systems.NotStalled
}

// frozen reports whether the prediction window is full.
func (c *Client) frozen() bool {
	return c.present-c.replica.Tick >= ecs.Tick(c.Config.MaxPrediction)
}

// sendWindow sends the inputs that the server has not consumed, and which state is held. It does so after each frame that
// sampled an input, or for a spectator after each snapshot.
func (c *Client) sendWindow() {
	if !c.Timer.Due(c.Now) {
		return
	}
	m := &c.scratch.window
	m.received, m.ack, m.helpless, m.delay, m.done = c.replica.Tick, c.replica.Receiver.Ack(), c.replica.NeedsImage(), c.show.delay(), m.done[:0]
	m.waits = !c.Spectates() && !c.Settled()
	first := c.oldestWanted()
	m.back = uint8(c.replica.Tick + 1 - first)
	for f := first; f <= c.pending.last() && len(m.done) < maxInputs; f++ {
		e, _ := c.pending.given(f)
		m.done = append(m.done, e)
	}
	c.Buffer = m.append(c.Buffer[:0], c.Game)
	c.Out.Send(0, systems.Datagram, c.Buffer)
}

// oldestWanted returns the tick of the oldest input to send. That is the tick after the newest state, or an earlier one
// that the server lacks and the player has given.
func (c *Client) oldestWanted() ecs.Tick {
	if c.lacked > 0 {
		for f := c.lacked; f <= c.replica.Tick; f++ {
			if _, ok := c.pending.given(f); ok {
				return f
			}
		}
	}
	return c.replica.Tick + 1
}

// View returns the two last predicted states and how far between them the display stands. A spectator's are the states
// received. Present shows more.
func (c *Client) View(now systems.Time) (previous, current, confirmed *image.Snapshot, alpha float64) {
	confirmed, _ = c.received.At(c.replica.Tick)
	if current, _ = c.history.At(c.present); current.Empty() || c.Spectates() {
		return confirmed, confirmed, confirmed, 0
	}
	previous, ok := c.history.At(max(c.present, 1) - 1)
	if !ok {
		previous = current
	}
	return previous, current, confirmed, c.line.Alpha(c.present, now)
}

// Effects drains the effects of events.
func (c *Client) Effects(f func(systems.Effect)) { c.replica.Effects.Drain(c.present, f) }

// Stats returns the counters. Corrections are snapshots that differed from the prediction.
func (c *Client) Stats() systems.ClientStats {
	s := c.CommonStats()
	s.Present, s.Confirmed, s.Corrections = c.present, c.replica.Tick, c.counts.Corrections
	s.Deepest = uint64(c.counts.Deepest)
	s.Snaps += c.counts.Snaps
	c.line.AddStats(&s)
	return s
}

// Counts returns the counters of mispredictions.
func (c *Client) Counts() Counts { return c.counts }

// Replica returns the newest state received: see systems.Replicated.
func (c *Client) Replica() (s *image.Snapshot, whole bool) {
	s, ok := c.received.At(c.replica.Tick)
	if !ok {
		return nil, false
	}
	return s, c.replica.Complete() && c.limits.Interest == 0
}

// Places reports that a replica has the places of entities.
func (c *Client) Places() bool { return true }

// LastUpdate returns the last tick that updated an entity, 0 for none.
func (c *Client) LastUpdate(e ecs.Entity) ecs.Tick { return c.replica.Receiver.LastUpdate(e) }

// Forget drops the baselines of the server's deltas, all but the newest, as a client under memory pressure does. The
// server notices and sends everything anew. It is for tests.
func (c *Client) Forget() { c.replica.Receiver.Forget() }
