package relay

import (
	"fmt"
	"math"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/clock"
)

// Client is the relay's half on a client.
//
// The pacer's position is the tick whose input is sampled now: the present plus the input delay. The lead control
// moves it so that inputs arrive at the server just before they are used. The timeline follows it as far as the
// prediction window allows; where the window is too small for the connection, the input delay grows.
type Client struct {
	config   systems.ClientConfig
	game     *ecs.Game
	timeline *rollback.Timeline
	effects  *rollback.Effects
	pacer    clock.Pacer
	lead     clock.Lead
	delay    delay
	loaded   bool
	input    ecs.InputBytes
	sampled  ecs.Tick // last tick that has an own input
	server   ecs.Tick // newest server tick heard of
	hashed   ecs.Tick // last tick whose checksum was sent
	rtt      systems.Time
	stalled  bool
	stats    systems.ClientStats
	behind   bool // a confirmation waits for orders
	rewound  bool // Rewind ran since the last new tick

	scratch struct {
		inputs  []ecs.InputBytes
		message []byte
		other   *ecs.World // for comparing with a server's image
	}
	own ownInputs
}

// ownInputs keeps the local inputs that the server may still need, by tick & mask.
type ownInputs [2 * inputWindow]ecs.InputBytes

// ringDepth is how many ticks a client keeps: more than it may predict, with the input delay.
const ringDepth = 128

// DefaultPrediction is how many ticks a client predicts at most: half a second at 60 ticks per second.
const DefaultPrediction = 30

// maxDebt bounds how far the present may lag behind the pacer after a stall, in ticks, before the pacer gives way.
const maxDebt = 120

var _ systems.Client = (*Client)(nil)

// NewClient returns a client's half; it does nothing until Load.
func NewClient(c systems.ClientConfig) (systems.Client, error) {
	if c.MaxPrediction == 0 {
		c.MaxPrediction = DefaultPrediction
	}
	if c.World == nil || c.InputDelay < 0 || c.InputDelay > maxDelay || c.MaxPrediction > ringDepth/2 {
		return nil, fmt.Errorf("relay: NewClient wants a World, InputDelay in [0, %d] and MaxPrediction in [1, %d]; has %d and %d", maxDelay, ringDepth/2, c.InputDelay, c.MaxPrediction)
	}
	effects := rollback.NewEffects(ringDepth)
	t, err := rollback.New(rollback.Config{World: c.World, MaxPrediction: c.MaxPrediction, Depth: ringDepth, History: backlog,
		CheckEvery: checkEvery, Local: c.Seat, Effects: effects, Observer: c.Observer})
	if err != nil {
		return nil, err
	}
	cl := &Client{config: c, game: c.World.Game(), timeline: t, effects: effects}
	cl.scratch.inputs = make([]ecs.InputBytes, c.World.Game().MaxPlayers)
	return cl, nil
}

// World is the world the client simulates, in the state of Present.
func (c *Client) World() *ecs.World { return c.config.World }

// Load takes over the state that was loaded into World.
func (c *Client) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	if c.loaded {
		c.stats.Snaps++
	}
	c.timeline.Reset()
	c.loaded, c.rtt = true, rtt
	c.server = max(serverTick, c.timeline.Present())
	c.hashed = c.timeline.Confirmed()
	c.lead.Forget()
	c.delay = newDelay(c.config.InputDelay, c.config.MaxPrediction)
	// An input sent now arrives half a round trip later and wants to be a tick early; the server's tick is half a
	// round trip old.
	ahead := float64(rtt)*float64(c.game.TickRate)/float64(systems.Second) + 2
	c.pacer = clock.NewPacer(now, float64(c.server)+ahead, c.game.TickRate)
	c.sampled = c.timeline.Present()
}

// Receive takes a message from the server.
func (c *Client) Receive(ch systems.Channel, message []byte, now systems.Time) error {
	if !c.loaded || len(message) == 0 {
		return ErrMessage
	}
	switch message[0] {
	case kindConfirm:
		return c.receiveConfirm(message)
	case kindStamped:
		return c.receiveStamped(message)
	}
	return ErrMessage
}

func (c *Client) receiveStamped(message []byte) error {
	r := wire.NewReader(message)
	r.U8()
	f := ecs.Tick(r.Uvarint())
	o := readOrder(&r)
	if err := r.Close(); err != nil {
		return err
	}
	if f > c.server+ecs.Tick(c.game.TickRate)+backlog {
		return ErrMessage
	}
	return c.timeline.AddOrder(f, o)
}

// receiveConfirm makes final what follows the last final tick. A confirmation that starts later left a gap and waits
// for the next, which starts where this peer's acknowledgement ends.
func (c *Client) receiveConfirm(message []byte) error {
	var head confirmHead
	r := wire.NewReader(message)
	head.read(&r, c.timeline.Received())
	if r.Err() != nil || head.count == 0 || head.server > c.server+backlog {
		return ErrMessage
	}
	c.server = max(c.server, head.server)
	if head.hasMargin {
		margin := float64(head.margin) / marginUnit
		c.lead.Measured(uint64(head.marginTick), margin)
		c.stats.Margin = margin
	}
	if head.first > c.timeline.Received()+1 {
		return nil
	}
	bits := wire.NewBitReader(r.Rest())
	t := finalTick{inputs: c.scratch.inputs}
	for p := range t.inputs {
		in, known := c.timeline.InputAt(head.first-1, ecs.Player(p))
		if !known.Final() {
			return nil // coded against a tick that is no longer kept: a later confirmation starts later
		}
		t.inputs[p] = in
	}
	for i := range head.count {
		t.read(&bits, c.game)
		if bits.Err() != nil {
			return ErrMessage
		}
		f := head.first + ecs.Tick(i)
		if f <= c.timeline.Received() {
			continue
		}
		if c.config.Seat >= 0 && t.late.Has(ecs.Player(c.config.Seat)) {
			c.stats.Substituted++
		}
		switch err := c.timeline.Confirm(f, t.inputs, t.late, t.orders); err {
		case nil:
		case rollback.ErrOrdersMissing, rollback.ErrTooFar:
			return nil // the orders are on their way, or the states up to here must be computed first
		default:
			return err
		}
	}
	return nil
}

// SetInput is what the local player does from now on.
func (c *Client) SetInput(in ecs.InputBytes) { c.input = in }

// Order asks the server to stamp an order of the local player.
func (c *Client) Order(target ecs.Entity, payload []byte, out systems.Outbox) error {
	if len(payload) > ecs.MaxOrderBytes {
		return fmt.Errorf("relay: an order of %d bytes: at most %d", len(payload), ecs.MaxOrderBytes)
	}
	w := wire.NewWriter(c.scratch.message[:0], systems.MaxReliable)
	w.U8(kindOrder)
	appendOrder(&w, ecs.Order{Kind: ecs.OrderGame, Player: ecs.Player(max(c.config.Seat, 0)), Entity: target, Payload: payload})
	c.scratch.message = w.Bytes()
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
	c.steer()
	c.enter(ecs.SectionReconcile)
	c.timeline.Rewind()
	c.leave(ecs.SectionReconcile)
	c.sample()
	c.run()
}

// steer lets the lead control move the pacer.
func (c *Client) steer() {
	if behind := float64(c.timeline.Received()) + 1 - c.pacer.Position(); behind > 0 {
		c.pacer.Shift(math.Ceil(behind) + 1) // the server is ahead of us: an input sampled now is too late already
		c.lead.Forget()
	}
	if c.config.Seat < 0 {
		c.follow()
		return
	}
	pace, jump := c.lead.Control(c.pacer.Gained())
	if jump != 0 {
		c.pacer.Shift(jump)
	}
	c.pacer.Dilate(pace)
	c.stats.Dilation = pace
	c.delay.observe(c.ahead(), c.game.TickRate)
}

// follow paces a spectator, who sends no inputs to measure: he stands a tick behind what he heard of.
func (c *Client) follow() {
	wrong := float64(c.timeline.Received()) - c.pacer.Position()
	if math.Abs(wrong) > maxDebt {
		c.pacer.Shift(wrong)
		wrong = 0
	}
	c.pacer.Dilate(min(max(1+0.1*wrong, 0.9), 1.1))
}

// ahead returns how many ticks lie between the tick whose input is sampled and the last final one.
func (c *Client) ahead() int {
	return int(c.pacer.Position()) - int(c.timeline.Received())
}

// sample gives every tick up to the pacer's its input.
func (c *Client) sample() {
	if c.config.Seat < 0 {
		return
	}
	until := ecs.Tick(max(c.pacer.Position(), 0))
	if until > c.timeline.Received()+maxInputs {
		until = c.timeline.Received() + maxInputs
	}
	c.sampled = max(c.sampled, c.timeline.Furthest(), c.timeline.Received())
	for c.sampled < until {
		c.sampled++
		if c.timeline.SetLocal(c.sampled, c.input) != nil {
			c.sampled--
			return
		}
		c.own[c.sampled%ecs.Tick(len(c.own))] = c.input
		c.lead.Sent(uint64(c.sampled), c.pacer.Gained())
	}
}

// run steps to the tick that is due. New ticks per frame are capped, and so is the work as a whole; what is left goes
// on in the next frame.
func (c *Client) run() {
	want := int(c.pacer.Position()) - c.delay.ticks
	if debt := want - int(c.timeline.Furthest()); debt > maxDebt {
		c.pacer.Shift(float64(maxDebt - debt))
		want -= debt - maxDebt
	}
	fresh, work := 0, 0
	c.stalled = false
	for int(c.timeline.Present()) < want && fresh < clock.MaxSteps && work < ringDepth {
		if c.timeline.Present() >= c.timeline.Furthest() && c.timeline.Furthest() >= c.timeline.Received() {
			fresh++
		}
		work++
		if c.timeline.Step() != nil {
			c.stalled = true
			c.stats.Stalls++
			return
		}
	}
}

// Send sends the inputs the server has not used yet and how far this peer has confirmed, and the checksums due.
func (c *Client) Send(now systems.Time, out systems.Outbox) {
	if !c.loaded {
		return
	}
	m := inputMessage{received: c.timeline.Received(), first: c.timeline.Received() + 1, inputs: c.scratch.inputs[:0]}
	if c.config.Seat >= 0 {
		for f := m.first; f <= c.sampled && len(m.inputs) < maxInputs; f++ {
			m.inputs = append(m.inputs, c.own[f%ecs.Tick(len(c.own))])
		}
	}
	c.scratch.message = m.append(c.scratch.message[:0], c.game)
	out.Send(0, systems.Datagram, c.scratch.message)
	c.scratch.inputs = m.inputs[:cap(m.inputs)][:max(len(c.scratch.inputs), c.game.MaxPlayers)]
	c.sendHashes(out)
}

// sendHashes sends the checksum of every tick that is checked and has become confirmed.
func (c *Client) sendHashes(out systems.Outbox) {
	for next := (c.hashed/checkEvery + 1) * checkEvery; next <= c.timeline.Confirmed(); next += checkEvery {
		c.hashed = next
		s, ok := c.timeline.Snapshot(next)
		if !ok {
			continue
		}
		m := hashMessage{next, s.Checksum()}
		c.scratch.message = m.append(c.scratch.message[:0])
		out.Send(0, systems.Reliable, c.scratch.message)
		c.stats.Hashes++
	}
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
	if !c.stalled {
		alpha = c.pacer.Position() - math.Floor(c.pacer.Position())
	}
	return previous, current, confirmed, alpha
}

// Live reports whether the client has caught up with the server.
func (c *Client) Live() bool { return c.loaded && c.timeline.Received()+2+c.lagTicks() >= c.server }

// lagTicks is by how many ticks what this peer has confirmed must trail the newest tick it heard of: none but what
// is lost on the way.
func (c *Client) lagTicks() ecs.Tick { return 2 }

// Effects drains the news of events.
func (c *Client) Effects(f func(systems.Effect)) { c.effects.Drain(c.timeline.Present(), f) }

// Stats returns what the client counted.
func (c *Client) Stats() systems.ClientStats {
	s, t := c.stats, c.timeline.Stats()
	s.Present, s.Confirmed, s.ServerTick = c.timeline.Present(), c.timeline.Confirmed(), c.server
	s.Rollbacks, s.Resimulated, s.Deepest, s.Corrections = t.Rewinds, t.Resimulated, t.DeepestTick, t.WrongInputs
	s.InputDelay, s.RTT, s.RingBytes = c.delay.ticks, c.rtt, c.config.World.PageBytes()
	return s
}

// Timeline returns the client's timeline, for tests and tools.
func (c *Client) Timeline() *rollback.Timeline { return c.timeline }

// CompareWith reports how the own state of an image's tick differs from the image.
func (c *Client) CompareWith(image []byte) (d ecs.Difference, ok bool) {
	if c.scratch.other == nil {
		other, err := ecs.NewWorld(c.game, 0)
		if err != nil {
			return d, false
		}
		c.scratch.other = other
	}
	other := c.scratch.other
	if other.LoadImage(image) != nil {
		return d, false
	}
	mine, held := c.timeline.Snapshot(other.Tick())
	if !held || other.Tick() > c.timeline.Confirmed() {
		return d, false
	}
	var theirs ecs.Snapshot
	other.Save(&theirs)
	defer theirs.Release()
	return ecs.FirstDifference(mine, &theirs)
}

func (c *Client) enter(s ecs.Section) {
	if c.config.Observer != nil {
		c.config.Observer.Enter(s)
	}
}

func (c *Client) leave(s ecs.Section) {
	if c.config.Observer != nil {
		c.config.Observer.Leave(s)
	}
}
