package matchtest

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/systems"
)

// Client is a client in a Harness. Core is nil until it has joined.
type Client struct {
	Core *client.Core
	Plan Plan

	// Checked counts the confirmed ticks whose state was compared with the server's, Mismatches those that differed.
	Checked, Mismatches uint64
	FirstMismatch       ecs.Tick
	// Rewritten counts the ticks that this process of the client had confirmed and that a restarted room made others.
	Rewritten int
	// FirstLive is when the client was first live, in true time; 0: not yet.
	FirstLive time.Duration

	harness    *Harness
	node       simnet.NodeID
	number     int
	identity   room.Identity
	connection int // counts the connections it made
	server     *serverLink
	next       ecs.Tick // the next confirmed tick to compare
	furthest   ecs.Tick // that this process has confirmed
	rand       *ecs.Rand
	left       bool
	frames     uint64
	changed    ecs.Changed // scratch
}

// Plan says how a client plays. Zero values stand for defaults where a field names one.
type Plan struct {
	// Profile is its network; the zero Profile is ideal.
	Profile simnet.Profile
	// Clock is how its clock differs from true time.
	Clock simnet.Clock
	// At is when it joins, in true time; a moment that has passed means now.
	At time.Duration
	// Stay is how long it plays before it leaves; 0: until the end.
	Stay time.Duration
	// Spectator makes it watch.
	Spectator bool
	// Hz is how many frames a second it draws; 0: one per tick.
	Hz int
	// Play chooses the input before each frame; nil: Game.Bot, or if the game has none, noise.
	Play func(c *Client, now systems.Time) ecs.InputBytes
	// Heard is told of the news of events that the client has for its owner; nil: nobody is.
	Heard func(systems.Effect)
	// Change changes the client's Config before it is made; nil: it stays as it is.
	Change func(*client.Config)
}

// Join adds a client that joins when its plan says.
func (h *Harness) Join(p Plan) *Client {
	c := &Client{Plan: p, harness: h, number: len(h.Clients), server: &serverLink{connection: 0}}
	h.Clients = append(h.Clients, c)
	c.identity = room.Identity{Seat: room.AnySeat, ClientID: uint64(c.number) + 1}
	if p.Spectator {
		c.identity.Role = systems.RoleSpectator
	}
	if c.Plan.Heard == nil {
		c.Plan.Heard = func(systems.Effect) {}
	}
	if c.Plan.Hz == 0 {
		c.Plan.Hz = h.game.TickRate
	}
	c.rand = ecs.NewRand(h.config.Seed ^ uint64(c.number+1)<<32)
	c.node = h.Net.AddNode(p.Clock)
	for len(h.byNode) <= int(c.node) {
		h.byNode = append(h.byNode, nil)
	}
	h.byNode[c.node] = c
	if err := h.Net.Connect(c.node, h.server, p.Profile); err != nil {
		panic(fmt.Sprintf("matchtest: Plan.Profile: %v", err))
	}
	h.Net.OnMessage(c.node, func(_ simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
		if c.Core != nil {
			c.Core.Receive(channelOf(ch), payload, systems.Time(now))
		}
	})
	if p.At <= h.Net.Now() {
		c.start()
	} else {
		h.Net.At(p.At, c.start)
	}
	return c
}

func (c *Client) start() {
	c.Restart()
	h := c.harness
	h.Net.Every(c.node, h.Net.LocalNow(c.node), c.Plan.Hz, c.frame)
	if c.Plan.Stay > 0 {
		h.Net.At(h.Net.Now()+c.Plan.Stay, c.Leave)
	}
}

// Restart makes the client a new process: what it held is forgotten, and it connects again as the same client.
func (c *Client) Restart() {
	config := client.Config{Game: c.harness.game, Strategies: []systems.Strategy{c.harness.config.Strategy}, Dial: c.dial,
		Name: fmt.Sprintf("client %d", c.number), BotSeed: c.harness.config.Seed ^ uint64(c.number)}
	if c.Plan.Play == nil && !c.Plan.Spectator {
		config.Bot = c.harness.game.Bot != nil
	}
	if c.Plan.Change != nil {
		c.Plan.Change(&config)
	}
	core, err := client.NewCore(config)
	if err != nil {
		panic(err)
	}
	if c.Core != nil && c.Core.World() != nil {
		delete(c.harness.faults, c.Core.World())
	}
	c.Core, c.left, c.next, c.furthest = core, false, 0, 0
}

// Reconnect breaks the connection as the client sees it; it connects again at once and keeps what it holds.
func (c *Client) Reconnect() {
	c.Core.Lost(errClosed, systems.Time(c.harness.Net.LocalNow(c.node)))
}

// Leave says goodbye.
func (c *Client) Leave() {
	c.left = true
	c.Core.Leave()
}

// Fault plants a mistake in the client's copy of the match: whenever it simulates that tick, f changes its world after
// the systems. It is taken out by Mend, or by an image of a later tick.
func (c *Client) Fault(tick ecs.Tick, f func(*ecs.World)) {
	if c.Core.World() == nil {
		panic("matchtest: Fault before the client has a world: let it join first")
	}
	c.harness.faults[c.Core.World()] = fault{tick, f}
}

// Node returns the client's node, for making trouble: see simnet.Network.
func (c *Client) Node() simnet.NodeID { return c.node }

// Seat returns the client's seat, −1 for none.
func (c *Client) Seat() int { return c.Core.Seat() }

// Live reports whether the client is in the match.
func (c *Client) Live() bool { return c.Core != nil && c.Core.State() == client.Live }

// MostBytes returns the most bytes that the server's end of the present connection sent within one second.
func (c *Client) MostBytes() int { return c.server.most }

// dial makes a new connection.
func (c *Client) dial([]byte) (session.Transport, error) {
	c.connection++
	c.harness.Net.Reconnect(c.node, c.harness.server)
	return &clientLink{client: c, connection: c.connection}, nil
}

func (c *Client) frame(_ int64, local simnet.Time) {
	now := systems.Time(local)
	core := c.Core
	if c.frames++; !c.Plan.Spectator {
		switch {
		case c.Plan.Play != nil:
			core.SetInput(c.Plan.Play(c, now))
		case c.harness.game.Bot == nil && c.rand.Chance(1, 12):
			core.SetInput(c.noise())
		}
	}
	core.Frame(now)
	if core.State() == client.Live && c.FirstLive == 0 {
		c.FirstLive = c.harness.Net.Now()
	}
	core.Effects(c.Plan.Heard)
	if !c.harness.config.Unchecked {
		c.compare(now)
	}
}

// noise is any input that a program could have made.
func (c *Client) noise() (in ecs.InputBytes) {
	for i := range c.harness.game.InputSize() {
		in[i] = byte(c.rand.Uint64())
	}
	c.harness.game.CleanInput(&in)
	return in
}

// timelined is a half that keeps a state of every confirmed tick.
type timelined interface{ Timeline() *rollback.Timeline }

// compare holds the confirmed states that are new against the server's.
func (c *Client) compare(now systems.Time) {
	if half, ok := c.Core.Strategy().(systems.Replicated); ok {
		c.compareReplica(half)
		return
	}
	_, _, newest, _ := c.Core.Snapshots(now)
	if newest.Empty() {
		return
	}
	if half, ok := c.Core.Strategy().(timelined); ok {
		until := half.Timeline().Confirmed()
		c.furthest, c.next = max(c.furthest, until), min(c.next, until+1) // it may have been taken back
		for f := max(c.next, 1); f <= until; f++ {
			if s, ok := half.Timeline().Snapshot(f); ok {
				c.check(s)
			}
		}
		c.next = until + 1
		return
	}
	c.furthest, c.next = max(c.furthest, newest.Tick()), min(c.next, newest.Tick()+1)
	if newest.Tick() >= c.next {
		c.next = newest.Tick() + 1
		c.check(newest)
	}
}

func (c *Client) check(s *ecs.Snapshot) {
	if want, ok := c.harness.Checksum(s.Tick()); ok {
		c.note(s.Tick(), s.Checksum() == want)
	}
}

func (c *Client) note(f ecs.Tick, same bool) {
	c.Checked++
	if !same {
		if c.Mismatches == 0 {
			c.FirstMismatch = f
		}
		c.Mismatches++
	}
}

// compareReplica holds the newest state that a client was told against the server's of that tick: all of it, or where
// the client does not know all, what came with it.
func (c *Client) compareReplica(half systems.Replicated) {
	s, whole := half.Replica()
	if s.Empty() || s.Tick() < c.next {
		return
	}
	f := s.Tick()
	c.furthest, c.next = max(c.furthest, f), f+1
	want, ok := c.harness.states.At(f)
	if !ok {
		return
	}
	if whole {
		c.note(f, sameGame(c.harness.game, half, s, want) && (half.Places() || c.displaced(s, want)))
		return
	}
	same := true
	for e := range s.Entities {
		if half.Told(e) == f {
			same = same && (sameEntity(s, want, e) || !half.Places() && sameBesidePlaces(c.harness.game, s, want, e))
		}
	}
	c.note(f, same)
}

// displaced reports whether all that differs in two states is where things are that have not rested.
func (c *Client) displaced(a, b *ecs.Snapshot) bool {
	c.changed.Find(b, a)
	for row := range c.changed.Rows {
		if e := a.EntityAt(row); !sameBesidePlaces(c.harness.game, a, b, e) || c.harness.rested(e, b.Tick()) {
			return false
		}
	}
	return true
}

// sameGame reports whether two states hold the same but for what a replica is not told: inputs and random source, and
// components that say where things are, if it has no places.
func sameGame(g *ecs.Game, half systems.Replicated, a, b *ecs.Snapshot) bool {
	x, y := a.ComponentChecksums(nil), b.ComponentChecksums(nil)
	for i, untold := range systems.Untold(nil, g, half) {
		if untold {
			x[i] = y[i]
		}
	}
	return a.Players() == b.Players() && slices.Equal(x, y)
}

// sameEntity reports whether two states have the same of an entity.
func sameEntity(a, b *ecs.Snapshot, e ecs.Entity) bool {
	here, set, values := a.AppendScalars(nil, e.Row)
	there, set2, values2 := b.AppendScalars(nil, e.Row)
	return here == there && set == set2 && slices.Equal(values, values2)
}

// sameBesidePlaces reports whether two states have the same of an entity, which may be in two places.
func sameBesidePlaces(g *ecs.Game, a, b *ecs.Snapshot, e ecs.Entity) bool {
	here, set, values := a.AppendScalars(nil, e.Row)
	there, set2, values2 := b.AppendScalars(nil, e.Row)
	if here != there || set != set2 {
		return false
	}
	from := 0
	for ; set != 0; set &= set - 1 {
		for _, s := range g.ComponentScalars(bits.TrailingZeros64(uint64(set))) {
			if !s.Place && values[from] != values2[from] {
				return false
			}
			from++
		}
	}
	return true
}

// rested reports whether an entity was in the same place for so long, up to a tick of the server's, that every replica
// has it there.
func (h *Harness) rested(e ecs.Entity, f ecs.Tick) bool {
	is, ok := ecs.Motion{}, false
	if s, held := h.states.At(f); held {
		is, ok = s.Motion(e)
	}
	for k := range ecs.Tick(systems.RestTime*systems.Time(h.game.TickRate)/systems.Second) + 1 {
		s, held := h.states.At(f - k)
		if !ok || !held || is.Vel != (fixed.Vec3{}) {
			return false
		}
		var was ecs.Motion
		if was, ok = s.Motion(e); was != is {
			return false
		}
	}
	return ok
}
