package predict

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/inputs"
	"tendon/systems/predictor"
)

// Client is the strategy's half on a client.
//
// The rows in Predicted are predicted from the local player's inputs. The inputs of the ticks after Received are pending; those
// up to Tick were simulated. Tick follows the line as far as the prediction window allows. Beyond, the prediction freezes.
type Client struct {
	predictor.Mirror[*Client]
	line    predictor.Line
	limits  Config
	states  *rollback.Snapshots // states of the server
	show    presentation
	lacked  ecs.Tick // oldest tick whose input the server lacked in the newest state, 0 for none
	suspect bool     // an own input was substituted since a prediction was last compared
	counts  counts

	scratch struct {
		window inputMessage
		head   snapshotHead
	}
}

// counts are the counters of a client's mispredictions since it was made.
type counts struct {
	Corrections uint64  // snapshots that differed from the prediction by more than the tolerance
	Substituted uint64  // … after the server lacked or altered an own input; the others were external
	Snaps       uint64  // snapshots of a tick without a predicted state: all was taken over
	Overtaken   uint64  // snapshots newer than Tick, without a predicted state either
	Furthest    float64 // longest distance between a predicted position and the server's, in world units
	Refusals    uint64  // inputs that found the queue full
}

// receivedKept is the number of ticks of received states that are kept: more than playback is ever behind.
const receivedKept = 256

// maxPending is the most inputs that wait to be consumed: 17 s at 60 ticks per second ("Online Multiplayer Game
// Programming", 2007).
const maxPending = 1024

// effectsKept is the number of ticks whose predicted events wait for the server's. The reliable channel may delay these by
// seconds.
const effectsKept = 1024

var _ systems.Replicated = (*Client)(nil)

// clientSystems are the systems of the half.
var clientSystems = []systems.System[*Client]{
	{Name: "snapshots", Phase: systems.Receive, Kind: kindSnapshot, Accept: (*Client).receiveSnapshot}, // on either channel
	{Name: "events", Phase: systems.Receive, Kind: kindEvents, Reliable: true, Accept: (*Client).ReceiveEvents},
	{Name: "clock", Phase: systems.Reconcile, Run: (*Client).steer},
	{Name: "inputs", Phase: systems.Reconcile, Run: (*Client).sample},
	{Name: "ticks", Phase: systems.Reconcile, Run: (*Client).run},
	{Name: "window", Phase: systems.Send, Run: (*Client).sendWindow},
	{Name: "compose", Phase: systems.Present, Run: (*Client).compose},
	{Name: "interpolation", Phase: systems.Present, Run: (*Client).interpolate},
	{Name: "switched", Phase: systems.Present, Run: (*Client).presentSwitched},
	{Name: "error smoothing", Phase: systems.Present, Run: func(c *Client) { c.show.offsets.Show(c.Showing.View, c.Showing.Since) }},
}

func newClient(c systems.ClientConfig, limits Config) (systems.Client, error) {
	core, err := predictor.NewCore("predict", ErrMessage, c)
	if err == nil {
		err = core.CheckPrediction(maxPending)
	}
	if err == nil && c.Params != nil {
		err = limits.takeParams(c.Params)
	}
	if err != nil {
		return nil, err
	}
	cl := &Client{limits: limits, states: rollback.NewSnapshots(receivedKept)}
	if err := cl.Init(cl, core, clientSystems, max(128, 2*core.Config.MaxPrediction), effectsKept); err != nil {
		return nil, err
	}
	cl.OrderKind = kindOrder
	if player, ok := core.Player(); ok {
		cl.Predicted.AddOwner(ecs.OwnedBy(player))
	}
	cl.line.Inputs.Kept = maxPending
	cl.show.init(cl)
	return cl, nil
}

// Load starts from the state that was loaded into World, which is the server's.
func (c *Client) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	c.Begin(now, serverTick, rtt)
	c.states.Clear()
	c.states.Save(c.World())
	c.History.Save(c.World())
	c.show.reset()
	c.lacked = 0
	c.line.Inputs.Forget()
	c.line.Begin(&c.Core, now, c.interval())
}

func (c *Client) interval() float64 {
	return max(1, float64(c.Game.TickRate)/float64(c.limits.SnapshotRate))
}

// SetInput sets the local player's input from now on: see predictor.Line.
func (c *Client) SetInput(in ecs.InputBytes) { c.line.SetInput(in) }

// steer moves the line and the playback to the time of the frame.
func (c *Client) steer() {
	c.line.Inputs.Seen = c.show.seen() // the moment of the remote entities that the player saw while giving this input
	c.line.Pacer.Advance(c.Now)
	c.show.playback.Advance(c.Now)
	if c.Spectates() {
		c.line.Follow(c.Received)
		return
	}
	c.line.Steer(c.Received, c.Settled())
}

// sample gives every tick up to the line's its input, and the moment that the player saw. While maxPending inputs are pending,
// the input waits: the server may still request all that are kept. A client that waits for the first snapshot samples nothing.
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
	c.line.Sample(min(ecs.Tick(c.line.Pacer.Position()), c.line.Furthest(c.Received)), recent, c.Now, func(f ecs.Tick, _ ecs.InputBytes) bool {
		full := f > c.Received+maxPending
		if full {
			c.counts.Refusals++
		}
		return !full
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
	c.CaughtUp(int(c.Tick)+2 >= c.line.Want() || c.frozen())
}

// advance steps to a tick, and returns why it could not. due is the number of ticks that became due in this frame.
func (c *Client) advance(want, due int) systems.StallReason {
	for fresh := 0; int(c.Tick) < want && fresh < c.line.Pacer.Most(); fresh++ {
		e, ok := c.line.Inputs.Given(c.Tick + 1)
		if !ok || c.frozen() {
			c.Stall(systems.StallWindow, min(due, want-int(c.Tick)))
			return systems.StallWindow
		}
		c.step(e.In)
	}
	return systems.NotStalled
}

func (c *Client) frozen() bool {
	return c.Tick-c.Received >= ecs.Tick(c.Config.MaxPrediction)
}

// sendWindow sends the inputs that the server has not consumed, and which state is held. It does so after each frame that
// sampled an input, or for a spectator after each snapshot.
func (c *Client) sendWindow() {
	if !c.Sends() {
		return
	}
	m := &c.scratch.window
	m.received, m.ack, m.need, m.delay, m.done = c.Received, c.Receiver.Ack(), needsNothing, c.show.delay(), m.done[:0]
	switch {
	case c.NeedsImage():
		m.need = needsImage
	case !c.Spectates() && !c.Settled():
		m.need = needsMeasures
	}
	first := c.oldestWanted()
	m.back = uint8(c.Received + 1 - first)
	for f := first; f <= c.line.Inputs.Sampled() && len(m.done) < inputs.MaxWindow; f++ {
		e, ok := c.line.Inputs.Given(f)
		if !ok { // it was skipped, and the ring has an input of long ago in its place
			e = &inputs.Entry{}
			if n := len(m.done); n > 0 {
				e.In = c.Game.Input.Predict(m.done[n-1].In)
			}
		}
		m.done = append(m.done, *e)
	}
	c.Buffer = m.append(c.Buffer[:0], c.Game)
	c.Out.Send(0, systems.Datagram, c.Buffer)
}

// oldestWanted returns the tick of the oldest input to send. That is the tick after the newest state, or an earlier one
// that the server lacks and the player has given.
func (c *Client) oldestWanted() ecs.Tick {
	if c.lacked > 0 {
		for f := c.lacked; f <= c.Received; f++ {
			if _, ok := c.line.Inputs.Given(f); ok {
				return f
			}
		}
	}
	return c.Received + 1
}

// View returns the two last predicted states and how far between them the display stands. A spectator's are the states
// received. Present shows more.
func (c *Client) View(now systems.Time) (previous, current, confirmed *image.Snapshot, alpha float64) {
	confirmed = c.Receiver.State()
	if current, _ = c.History.At(c.Tick); current.Empty() || c.Spectates() {
		return confirmed, confirmed, confirmed, 0
	}
	previous, ok := c.History.At(max(c.Tick, 1) - 1)
	if !ok {
		previous = current
	}
	return previous, current, confirmed, c.line.Alpha(c.Tick, now)
}

// Stats returns the counters. Corrections are snapshots that differed from the prediction.
func (c *Client) Stats() systems.ClientStats {
	s := c.CommonStats()
	s.Present, s.Confirmed, s.Corrections = c.Tick, c.Received, c.counts.Corrections
	s.Snaps += c.counts.Snaps
	if !c.limits.NoPlayback {
		s.Playout = systems.Time(c.show.playback.Delay() * float64(c.Timer.Tick()))
	}
	c.line.AddStats(&s)
	return s
}

// Replica returns the newest state received: see systems.Replicated.
func (c *Client) Replica() (s *image.Snapshot, whole bool) {
	s, whole = c.Mirror.Replica()
	return s, whole && c.limits.Interest == 0
}

// Places reports that a replica has the places of entities.
func (c *Client) Places() bool { return true }
