package matchsim

import (
	"cmp"
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/systems"
)

// Client is a client of a Match. Core is nil until the client has joined.
type Client struct {
	Core *client.Core
	Plan Plan
	Node simnet.NodeID // in Match.Net
	// Number is the client's index in Match.Clients.
	Number int
	// Left reports that the client's present process has called Leave.
	Left bool
	Checks
	// FirstLive is when the client was first live, in true time; 0: not yet.
	FirstLive time.Duration
	// Busy is the real time spent in Core.Frame and Core.Receive, by Config.Clock.
	Busy time.Duration

	match      *Match
	identity   room.Identity
	connection int  // number of the current connection, from 1
	server     *end // of the newest connection that has arrived
	own        *end // of the newest connection
	rand       *ecs.Rand
}

// Plan describes a client. Zero values stand for defaults where a field names one.
type Plan struct {
	// Profile is the client's link; the zero Profile is ideal.
	Profile simnet.Profile
	// Clock is how the client's clock differs from true time.
	Clock simnet.Clock
	// At is when the client joins, in true time; at once if that has passed.
	At time.Duration
	// Spectator makes the client a spectator.
	Spectator bool
	// Hz is the number of frames per second; 0: one per tick.
	Hz int
	// Phase delays the client's frames.
	Phase time.Duration
	// Play returns the input before each frame; nil: Game.Bot, or random inputs for a game without one.
	Play func(c *Client, now time.Duration) ecs.InputBytes
	// Effects receives the client's event news. Optional.
	Effects func(systems.Effect)
	// Frame replaces the whole frame: it sets the input and calls Client.Frame. Play and Effects are then unused, and
	// states are not compared. Optional.
	Frame func(c *Client, now time.Duration)
	// Traffic receives each message that is sent to the client (down) or by it. A message is valid during the call. Optional.
	Traffic func(down bool, ch systems.Channel, message []byte)
	// Change changes the client's Config before each of its processes starts. Optional.
	Change func(*client.Config)
}

// Join adds a client with a plan. It panics if Add fails.
func (m *Match) Join(p Plan) *Client {
	c, err := m.Add(p)
	if err != nil {
		panic(err)
	}
	return c
}

// Add adds a client with a plan. It fails if the profile or, for a client that joins at once, the
// changed Config is invalid.
func (m *Match) Add(p Plan) (*Client, error) {
	c := &Client{Plan: p, match: m, Number: len(m.Clients), Node: m.Net.AddNode(p.Clock), server: &end{}, own: &end{}}
	c.identity = room.Identity{Seat: room.AnySeat, ClientID: uint64(c.Number) + 1}
	if m.config.FixedSeats {
		c.identity.Seat = c.Number
	}
	if p.Spectator {
		c.identity.Role = systems.RoleSpectator
	}
	m.Clients = append(m.Clients, c)
	if p.Effects == nil {
		c.Plan.Effects = func(systems.Effect) {}
	}
	c.Plan.Hz = cmp.Or(p.Hz, m.Game.TickRate)
	c.rand = image.NewRand(m.config.Seed ^ uint64(c.Number+1)<<32)
	if err := m.Net.Connect(c.Node, m.Server, p.Profile); err != nil {
		return nil, fmt.Errorf("matchsim: Plan.Profile: %w", err)
	}
	m.Net.OnMessage(c.Node, c.receive)
	if p.At <= m.Net.Now() {
		return c, c.start()
	}
	m.Net.At(p.At, func() {
		if err := c.start(); err != nil {
			panic(err)
		}
	})
	return c, nil
}

func (c *Client) start() error {
	if err := c.Restart(); err != nil {
		return err
	}
	c.match.Net.Every(c.Node, c.Now()+c.Plan.Phase, c.Plan.Hz, c.frame)
	return nil
}

// Restart replaces the client's process: the new one has no state, and connects with the same ID in its next frame.
func (c *Client) Restart() error {
	m := c.match
	config := client.Config{Game: m.Game, Strategies: append([]systems.Strategy{m.config.Strategy}, m.config.Strategies...), Dial: c.dial,
		BotSeed: m.config.Seed ^ uint64(c.Number),
		Bot:     m.Game.Bot != nil && c.Plan.Play == nil && c.Plan.Frame == nil && !c.Plan.Spectator}
	if c.Plan.Change != nil {
		c.Plan.Change(&config)
	}
	core, err := client.NewCore(config)
	if err != nil {
		return err
	}
	if c.Core != nil && c.Core.World() != nil {
		delete(m.faults, c.Core.World())
	}
	c.Core, c.Left = core, false
	c.next, c.furthest = 0, 0
	return nil
}

// Reconnect breaks the connection on the client's side. The client connects again at once and keeps its state.
func (c *Client) Reconnect() { c.Core.Lost(errReplaced, c.Now()) }

// Leave ends the client's session and removes its player from the match.
func (c *Client) Leave() {
	c.Left = true
	c.Core.Leave()
}

// Fault makes the client compute one tick wrong: f changes its world after each simulation of that tick. The fault
// lasts until the next Fault or Restart. The client must have a world, so it must have joined.
func (c *Client) Fault(tick ecs.Tick, f func(*ecs.World)) {
	if c.Core.World() == nil {
		panic("matchsim: Fault before the client has a world: let it join first")
	}
	c.match.faults[c.Core.World()] = fault{tick, f}
}

// Now returns the time on the client's clock.
func (c *Client) Now() time.Duration { return c.match.Net.LocalNow(c.Node) }

// ID returns the ID under which the room knows the client.
func (c *Client) ID() uint64 { return c.identity.ClientID }

// Seat returns the client's seat, −1 for none.
func (c *Client) Seat() int { return c.Core.Seat() }

// Live reports whether the client is in the match.
func (c *Client) Live() bool { return c.Core != nil && c.Core.State() == client.Live }

// Connection returns the number of the connection that the room has last accepted or refused, and whether it accepted.
func (c *Client) Connection() (number int, accepted bool) {
	return c.server.connection, c.server.accepted
}

// Sent returns the sizes of the server's messages on the present connection, since ResetSent.
func (c *Client) Sent() Sent { return c.server.Sent }

// ResetSent restarts the counts of Sent.
func (c *Client) ResetSent() { c.server.Sent = Sent{} }

// dial opens a new connection.
func (c *Client) dial() (session.Transport, error) {
	c.connection++
	c.match.Net.Reconnect(c.Node, c.match.Server)
	c.own = c.newEnd(false)
	return c.own, nil
}

func (c *Client) receive(_ simnet.NodeID, ch systems.Channel, payload []byte, now time.Duration) {
	if c.Core == nil {
		return
	}
	if c.match.config.Links {
		c.own.unpack(payload, func(ch systems.Channel, message []byte) { c.deliver(ch, message, now) })
		return
	}
	c.deliver(ch, payload, now)
}

func (c *Client) deliver(ch systems.Channel, payload []byte, now time.Duration) {
	begin := c.match.clock()
	c.Core.Receive(ch, payload, now)
	c.Busy += c.match.clock() - begin
}

// Frame runs Core.Frame. The error, which Core.Err keeps, is reported by Match.Ended and Match.Err.
func (c *Client) Frame(now time.Duration) {
	begin := c.match.clock()
	_ = c.Core.Frame(now)
	c.Busy += c.match.clock() - begin
	if err := c.own.flush(); err != nil {
		c.Core.Lost(err, now)
	}
	if c.FirstLive == 0 && c.Live() {
		c.FirstLive = c.match.Net.Now()
	}
}

func (c *Client) frame(_ int64, now time.Duration) {
	game := c.match.Game
	if c.Plan.Frame != nil {
		c.Plan.Frame(c, now)
		return
	}
	switch {
	case c.Plan.Spectator:
	case c.Plan.Play != nil:
		c.Core.SetInput(c.Plan.Play(c, now))
	case game.Bot == nil && c.rand.Chance(1, 12):
		c.Core.SetInput(c.randomInput())
	}
	c.Frame(now)
	c.Core.Effects(c.Plan.Effects)
	if !c.match.config.Unchecked {
		c.compare(now)
	}
}

// randomInput returns any valid input.
func (c *Client) randomInput() (in ecs.InputBytes) {
	game := c.match.Game
	for i := range game.Input.Size() {
		in[i] = byte(c.rand.Uint64())
	}
	return game.Input.Clean(in)
}
