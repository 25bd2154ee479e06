package state

import (
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
)

// rig is a server's world, and clients over links that lose, double and reorder.
type rig struct {
	t     testing.TB
	r     *rand.Rand
	scene *scene
	world *ecs.World
	observation
	clients []*client
	predict bool // clients play on in their worlds
	sparse  bool // Changes learns only of the entities that a client wants

	omits func(e ecs.Entity) bool // entities whose positions are omitted; may be nil
	last  map[uint32]known        // expected state of everything in the last tick, if positions are omitted
}

// client is one client and the server's sender for it.
type client struct {
	sender     *Sender
	receiver   *Receiver
	world      *ecs.World
	wants      func(e ecs.Entity) bool
	limit      int
	down, up   link
	expected   map[ecs.Tick]map[uint32]known // what a complete client holds
	complete   int                           // deltas that made the client complete
	completeAt ecs.Tick                      // of the last of them
	bytes      int
	refused    int // deltas
}

// known is the state of an entity on the server.
type known struct {
	entity ecs.Entity
	set    image.ComponentSet
	values []uint64
}

// link delays each message by base and up to jitter ticks.
type link struct {
	loss, doubled float64
	base, jitter  int
	queue         []parcel
}

type parcel struct {
	due  int
	data []byte
}

func (l *link) send(r *rand.Rand, now int, data []byte) {
	for range 2 {
		if r.Float64() >= l.loss {
			l.queue = append(l.queue, parcel{now + l.base + r.IntN(l.jitter+1), slices.Clone(data)})
		}
		if r.Float64() >= l.doubled {
			return
		}
	}
}

func (l *link) receive(now int) (list [][]byte) {
	l.queue = slices.DeleteFunc(l.queue, func(p parcel) bool {
		if p.due <= now {
			list = append(list, p.data)
		}
		return p.due <= now
	})
	return list
}

func newRig(t testing.TB, seed uint64, s *scene) *rig {
	g := &rig{t: t, r: rand.New(rand.NewPCG(seed, 7)), scene: s, world: newWorld(t, testGame(s))}
	var err error
	if g.changes, err = NewChanges(g.world.Game()); err != nil {
		t.Fatal(err)
	}
	g.record(g.world)
	return g
}

// join adds a client that has loaded the present state.
func (g *rig) join(seat, limit int, l link) *client {
	c := &client{sender: NewSender(g.changes), world: newWorld(g.t, g.world.Game()), limit: limit, down: l, up: l,
		wants: func(ecs.Entity) bool { return true }, expected: map[ecs.Tick]map[uint32]known{}}
	var err error
	if c.receiver, err = NewReceiver(c.world); err != nil {
		g.t.Fatal(err)
	}
	g.load(c, seat)
	g.clients = append(g.clients, c)
	return c
}

// load gives a client the present state as an image.
func (g *rig) load(c *client, seat int) {
	if err := c.world.Image().Load(g.state().AppendImage(nil)); err != nil {
		g.t.Fatal(err)
	}
	c.sender.Open(seat, g.state())
	c.receiver.Load()
}

// interest yields what a client wants.
func (g *rig) interest(c *client) iter.Seq2[ecs.Entity, float32] {
	return func(yield func(ecs.Entity, float32) bool) {
		if !g.sparse {
			g.changes.All(func(e ecs.Entity, p float32) bool { return !c.wants(e) || yield(e, p) })
			return
		}
		for e := range g.state().Entities {
			if c.wants(e) && !yield(e, g.changes.Priority(e)) {
				return
			}
		}
	}
}

// tick plays a tick: the world moves on, every client is sent a delta, and what is due arrives.
func (g *rig) tick() {
	g.world.Step(ecs.TickInputs{})
	g.observe()
	now := int(g.world.Tick())
	for _, c := range g.clients {
		c.expected[g.world.Tick()] = g.expect(c)
		delete(c.expected, g.world.Tick()-200)
		if len(g.clients) > 1 {
			c.sender.Align(uint64(now))
		}
		delta := c.sender.Append(nil, c.limit, g.interest(c))
		if len(delta) > c.limit {
			g.t.Fatalf("a delta of %d bytes, %d are allowed", len(delta), c.limit)
		}
		c.bytes += len(delta)
		c.down.send(g.r, now, delta)
		if g.predict { // which a receiver undoes
			c.world.Step(ecs.TickInputs{})
		}
		for _, delta := range c.down.receive(now) {
			before := c.receiver.Tick()
			if err := c.receiver.Receive(delta); err == ErrBaseline {
				c.refused++
			} else if err != nil {
				g.t.Fatalf("tick %d: %v", now, err)
			}
			if f := c.receiver.Tick(); c.receiver.Complete() && f > before {
				g.compare(c, f)
				c.complete++
				c.completeAt = f
			}
		}
		w := wire.NewWriter(nil, 16)
		c.receiver.Ack().Append(&w)
		c.up.send(g.r, now, w.Bytes())
		for _, message := range c.up.receive(now) {
			r := wire.NewReader(message)
			a := ReadAck(&r)
			if err := c.sender.Acked(a); err != nil || r.Close() != nil {
				g.t.Fatalf("tick %d: %+v: %v, %v", now, a, err, r.Close())
			}
		}
	}
}

// expect returns what a client is to know of the present state.
func (g *rig) expect(c *client) map[uint32]known {
	all := map[uint32]known{}
	for e := range g.state().Entities {
		if c.wants(e) {
			e, set, values := g.state().AppendScalars(nil, e.Row)
			if g.omits != nil {
				values = g.last[e.Row].values
			}
			all[e.Row] = known{e, set, values}
		}
	}
	return all
}

// observe lets the changes look at the world, and leaves out places: the first four scalars of everything.
func (g *rig) observe() {
	g.record(g.world)
	if g.omits == nil {
		return
	}
	now := map[uint32]known{}
	for e := range g.state().Entities {
		e, set, values := g.state().AppendScalars(nil, e.Row)
		if was, ok := g.last[e.Row]; ok && was.entity == e && was.set == set && g.omits(e) {
			copy(values[:4], was.values)
		}
		now[e.Row] = known{e, set, values}
	}
	g.last = now
}

// compare fails unless the newest replica is what the client is to know of the state of tick f.
func (g *rig) compare(c *client, f ecs.Tick) {
	g.t.Helper()
	s, want := c.receiver.State(), c.expected[f]
	if s.Tick() != f {
		g.t.Fatalf("the replica is of tick %d, not %d", s.Tick(), f)
	}
	n := 0
	for e := range s.Entities {
		n++
		_, set, values := s.AppendScalars(nil, e.Row)
		if x, ok := want[e.Row]; !ok || x.entity != e || x.set != set || !slices.Equal(x.values, values) {
			g.t.Fatalf("tick %d: entity %v is %x %v here and %+v there (there: %v)", f, e, set, values, x, ok)
		}
	}
	if n != len(want) {
		g.t.Fatalf("tick %d: %d entities here and %d there", f, n, len(want))
	}
}

// settle lets the world stand still until everything has arrived, and compares.
func (g *rig) settle(ticks int) {
	g.t.Helper()
	g.scene.busy, g.scene.move = false, false
	for range ticks {
		g.tick()
	}
	for i, c := range g.clients {
		if f := c.completeAt; f == 0 || f+200 < g.world.Tick() {
			g.t.Fatalf("client %d is complete in tick %d, the server is in tick %d; %+v, %d refused", i, f, g.world.Tick(), c.sender.Stats(), c.refused)
		}
		c.expected[c.receiver.Tick()] = g.expect(c)
		g.compare(c, c.receiver.Tick())
		here, there := c.receiver.State(), g.state()
		for k := range g.world.Game().Resources {
			if !slices.Equal(here.AppendResource(nil, k), there.AppendResource(nil, k)) {
				g.t.Fatalf("client %d: resource %d differs", i, k)
			}
		}
		if here.Players() != there.Players() {
			g.t.Fatalf("client %d: players differ", i)
		}
	}
}

// observation passes the states of a world to its changes, as a server does.
type observation struct {
	changes *Changes
	states  [2]image.Snapshot
	turn    int
	changed image.Changed
}

// state returns the last observed state.
func (o *observation) state() *image.Snapshot { return &o.states[o.turn] }

func (o *observation) record(w *ecs.World) {
	base := &o.states[o.turn]
	if !o.changes.observed {
		base.Release()
		o.changed = image.Changed{}
	}
	o.turn ^= 1
	w.Image().Save(&o.states[o.turn])
	o.changed.Find(base, &o.states[o.turn])
	o.changes.Observe(&o.states[o.turn], &o.changed)
}
