package main

import (
	"fmt"

	"tendon/bench/internal/crowd"
	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/relay"
)

// sessionRows measure what a rollback session costs around a game that does nothing, against the least loop that rolls
// back.
func sessionRows() []measure.Row {
	const reference = "a bare loop over an array ring of states and inputs"
	return []measure.Row{
		{Name: "session-timeline", What: "timeline with a game that does nothing, 7 ticks rolled back each tick: confirm, rewind, 8 steps, 8 saves",
			Reference: reference, Reach: 20, Run: sessionTimeline},
		{Name: "session-relay", What: "the same with the relay client around it: clock, messages in and out, checksums, effects",
			Reference: reference, Reach: 20, Missed: "a third of it is messages: every unacknowledged tick is repeated in each datagram and checked bit by bit", Run: sessionRelay},
	}
}

// idle is the game that does nothing.
func idle() *ecs.Game {
	return &ecs.Game{Name: "idle", TickRate: 60, MaxPlayers: 2, Input: crowd.Input, Systems: ecs.Systems(func(*ecs.World) {})}
}

// joins are the orders by which both players enter.
var joins = []ecs.Order{{Kind: ecs.OrderJoin, Player: 0}, {Kind: ecs.OrderJoin, Player: 1}}

const (
	rolledBack  = 7  // ticks, each tick
	sessionRuns = 32 // ticks in one timed run
)

// minimal is the least loop that rolls back: no interfaces, no checks, nothing grows.
type minimal struct {
	ring      [16]minimalState
	inputs    [16][2]ecs.InputBytes
	state     minimalState
	present   uint64
	confirmed uint64
}

type minimalState struct {
	tick   uint64
	inputs [2]ecs.InputBytes
}

//go:noinline
func (s *minimalState) step(in *[2]ecs.InputBytes) {
	s.tick++
	s.inputs = *in
}

func (m *minimal) tick(right *[2]ecs.InputBytes) {
	m.confirmed++
	if f := m.confirmed; m.inputs[f&15] != *right {
		m.inputs[f&15] = *right
		m.state = m.ring[(f-1)&15]
		for k := f; k <= m.present; k++ {
			if k > f {
				m.inputs[k&15] = m.inputs[(k-1)&15]
			}
			m.state.step(&m.inputs[k&15])
			m.ring[k&15] = m.state
		}
	}
	m.present++
	m.inputs[m.present&15] = m.inputs[(m.present-1)&15]
	m.state.step(&m.inputs[m.present&15])
	m.ring[m.present&15] = m.state
}

func minimalLoop() measure.Op {
	m := minimal{present: rolledBack}
	var right [2]ecs.InputBytes
	return measure.Op{Units: sessionRuns, Run: func() {
		for range sessionRuns {
			right[1][0]++
			m.tick(&right)
		}
	}}
}

func sessionTimeline() measure.Result {
	t := newTimeline(crowd.New(idle()))
	for _, o := range joins {
		if err := t.AddOrder(1, o); err != nil {
			panic(err)
		}
	}
	inputs, f, digest := make([]ecs.InputBytes, 2), ecs.Tick(0), rollback.DigestOrders(joins)
	tick := func() {
		f++
		inputs[1][0]++
		if err := t.Confirm(f, inputs, 0, digest); err != nil {
			panic(err)
		}
		t.Rewind()
		forward(t, int(f+rolledBack-t.Present()))
	}
	tick()
	digest = 0
	r := measure.Compare(minimalLoop(), measure.Op{Units: sessionRuns, Run: func() {
		for range sessionRuns {
			tick()
		}
	}})
	return measure.Result{Unit: "tick", Ratio: r, Note: resimulated(t.Stats().Resimulated, uint64(f))}
}

func resimulated(again, ticks uint64) string {
	return fmt.Sprintf("%.2f ticks resimulated per tick", float64(again)/float64(ticks))
}

// courier carries one peer's messages after a delay.
type courier struct {
	delay systems.Time
	now   systems.Time
	queue []parcel
	free  []parcel
}

type parcel struct {
	due  systems.Time
	ch   systems.Channel
	text []byte
}

// Send implements systems.Outbox for a peer that talks to the server.
func (c *courier) Send(_ systems.Peer, ch systems.Channel, message []byte) {
	var p parcel
	if n := len(c.free); n > 0 {
		p, c.free = c.free[n-1], c.free[:n-1]
	}
	c.queue = append(c.queue, parcel{c.now + c.delay, ch, append(p.text[:0], message...)})
}

// deliver hands over what is due.
func (c *courier) deliver(now systems.Time, to func(ch systems.Channel, message []byte, now systems.Time) error) {
	c.now = now
	n := 0
	for ; n < len(c.queue) && c.queue[n].due <= now; n++ {
		if err := to(c.queue[n].ch, c.queue[n].text, now); err != nil {
			panic(err)
		}
		c.free = append(c.free, c.queue[n])
	}
	c.queue = append(c.queue[:0], c.queue[n:]...)
}

// duel is a relay match of two players in virtual time, with constant delays.
type duel struct {
	server   systems.Server
	clients  [2]systems.Client
	up, down [2]courier
	f        int64
}

// Send implements systems.Outbox for the server.
func (d *duel) Send(to systems.Peer, ch systems.Channel, message []byte) {
	d.down[to].Send(to, ch, message)
}

func newDuel(delay systems.Time) *duel {
	d := &duel{}
	world := crowd.New(idle())
	var err error
	if d.server, err = relay.NewServer(systems.ServerConfig{World: world, Peers: 2}); err != nil {
		panic(err)
	}
	for i := range d.clients {
		d.up[i].delay, d.down[i].delay = delay, delay
		if d.clients[i], err = relay.NewClient(systems.ClientConfig{World: crowd.New(idle()), Seat: i}); err != nil {
			panic(err)
		}
		d.clients[i].Load(0, 0, 2*delay)
		d.server.Open(systems.Peer(i), i, 0, 0, d)
		d.server.Stamp(joins[i], d)
	}
	return d
}

// others plays everything of a tick but the client that is measured.
func (d *duel) others() {
	d.f++
	now := systems.TickTime(0, ecs.Tick(d.f), 60)
	for i := range d.up {
		d.up[i].deliver(now, func(ch systems.Channel, message []byte, now systems.Time) error {
			return d.server.Receive(systems.Peer(i), ch, message, now, d)
		})
		d.down[i].now = now
	}
	d.server.Tick(now)
	d.server.Send(now, d)
	d.play(1)
}

// play is a tick of one client.
func (d *duel) play(i int) {
	c, now := d.clients[i], systems.TickTime(0, ecs.Tick(d.f), 60)
	d.down[i].deliver(now, c.Receive)
	c.SetInput(crowd.Input.Pack(crowd.Pad{DX: int8(d.f) * int8(i)})) // player 1 is never predicted right
	c.Frame(now)
	d.up[i].now = now
	c.Send(now, &d.up[i])
	c.Effects(func(systems.Effect) {})
}

func sessionRelay() measure.Result {
	d := newDuel(5 * systems.Second / 60 / 2)
	for range 600 {
		d.others()
		d.play(0)
	}
	before, f := d.clients[0].Stats(), d.f
	r := measure.Compare(minimalLoop(), measure.Op{Prepare: d.others, Run: func() { d.play(0) }})
	after := d.clients[0].Stats()
	return measure.Result{Unit: "tick", Ratio: r, Note: resimulated(after.Resimulated-before.Resimulated, uint64(d.f-f))}
}
