package journal

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

// The game of these tests: inputs, orders, joins, random draws and spawns all leave traces in the state.

type pad struct {
	DX   int8
	_    uint8
	Aim  uint16
	Fire bool `tendon:"press"`
}

type body struct{ X, VX int32 }

type tally struct{ Shots, Gifts uint32 }

var (
	pads    = ecs.NewInput[pad]()
	bodies  = ecs.NewComponent[body]("body")
	seats   = ecs.NewComponent[ecs.Seat]("seat")
	tallies = ecs.NewResource[tally]("tally")
	steered = ecs.NewQuery2(ecs.Write(bodies), ecs.Read(seats))
	shots   = ecs.NewQuery1(ecs.Write(bodies), ecs.Without(seats))
)

func steer(w *ecs.World) {
	for e := range steered.All(w) {
		in := pads.Of(w, e.B.Player)
		e.A.X += int32(in.DX)
		if in.Fire && !pads.Last(w, e.B.Player).Fire {
			shot := w.Spawn(ecs.OwnedBy(e.B.Player), bodies)
			bodies.Put(w, shot, body{X: e.A.X, VX: int32(in.Aim % 9)})
			tallies.Write(w).Shots++
		}
	}
}

func fly(w *ecs.World) {
	for e := range shots.All(w) {
		if e.A.X += e.A.VX; w.Rand().Chance(1, 20) {
			w.Despawn(e.Entity())
		}
	}
}

func game() *ecs.Game {
	return &ecs.Game{Name: "range", TickRate: 20, MaxPlayers: 3, Input: pads,
		Components: ecs.Components(bodies, seats), Resources: ecs.Resources(tallies), Systems: ecs.Systems(steer, fly),
		Setup: func(w *ecs.World) { tallies.Write(w).Gifts = uint32(w.Rand().IntN(1000)) },
		Join: func(w *ecs.World, p ecs.Player) {
			seats.Put(w, w.Spawn(ecs.OwnedBy(p), bodies, seats), ecs.Seat{Player: p})
		},
		Order: func(w *ecs.World, p ecs.Player, _ ecs.Entity, order []byte) {
			tallies.Write(w).Gifts += uint32(len(order)) << p
		}}
}

const build = "a1b2c3"

// match is a match that runs straight through, and what there is to know of it.
type match struct {
	t     testing.TB
	world *ecs.World
	dice  *rand.Rand
	saved image.Snapshot

	ticks  []Tick // tick f in place f; place 0 is empty
	sums   []image.Checksum
	places []Position
}

func newMatch(t testing.TB, seed uint64) *match {
	t.Helper()
	m := &match{t: t, dice: rand.New(rand.NewPCG(seed, 3))}
	var err error
	if m.world, err = ecs.NewWorld(game(), seed); err != nil {
		t.Fatal(err)
	}
	m.keep(Tick{}, Position{Inputs: make([]ecs.InputBytes, 3)})
	return m
}

func (m *match) keep(tick Tick, at Position) {
	m.world.Image().Save(&m.saved)
	m.ticks, m.sums, m.places = append(m.ticks, tick), append(m.sums, m.saved.Checksum()), append(m.places, at)
}

// step plays a random tick and returns it. The chain is computed with a codec of its own.
func (m *match) step() Tick {
	before := m.places[len(m.places)-1]
	f := m.world.Tick() + 1
	tick := Tick{Tick: f, Inputs: slices.Clone(before.Inputs)}
	for p := range tick.Inputs {
		if m.dice.IntN(5) == 0 {
			tick.Inputs[p] = pads.Pack(pad{DX: int8(m.dice.IntN(3) - 1), Aim: uint16(m.dice.Uint32()), Fire: m.dice.IntN(3) == 0})
		}
	}
	if f <= 3 {
		tick.Orders = append(tick.Orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(f - 1)})
	}
	if m.dice.IntN(30) == 0 {
		payload := make([]byte, 1+m.dice.IntN(50))
		payload[0] = byte(f)
		tick.Orders = append(tick.Orders, image.Order{Player: 2, Entity: ecs.Entity{Row: 1 << 20, Born: f - 1}, Payload: payload})
	}
	m.world.Step(ecs.TickInputs{Players: tick.Inputs, Orders: tick.Orders})
	code := NewCodec(m.world.Game()).AppendTick(nil, before.Inputs, &tick)
	m.keep(tick, Position{Tick: f, Chain: before.Chain.Next(code), Inputs: tick.Inputs})
	return tick
}

// drive plays n ticks into w, flushing after every tick or two, with a checksum a second, a seat now and then and
// images when they are due or at the ticks that are named.
func (m *match) drive(w *Writer, n int, images ...ecs.Tick) {
	m.t.Helper()
	for range n {
		tick := m.step()
		m.must(w.Tick(tick))
		if tick.Tick%20 == 0 {
			m.must(w.Check(tick.Tick, m.sums[tick.Tick]))
		}
		if tick.Tick%33 == 0 {
			m.must(w.Seat(Seat{Player: ecs.Player(tick.Tick / 33 % 3), Client: uint64(tick.Tick), Name: "who", Held: tick.Tick%2 == 0}))
		}
		if w.ImageDue() || slices.Contains(images, tick.Tick) {
			m.must(w.Image(&m.saved))
		}
		if m.dice.IntN(3) > 0 {
			m.must(w.Flush())
		}
	}
	m.must(w.Flush())
}

func (m *match) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// file counts the writes into it.
type file struct {
	bytes.Buffer
	ends []int
}

func (f *file) Write(b []byte) (int, error) {
	n, err := f.Buffer.Write(b)
	f.ends = append(f.ends, f.Len())
	return n, err
}

// write plays a match of n ticks into a file.
func write(t testing.TB, seed uint64, n int, images ...ecs.Tick) (*match, *file) {
	t.Helper()
	m, to := newMatch(t, seed), &file{}
	h := HeaderOf(game(), seed, build)
	h.Strategy, h.Room, h.Match, h.Params = "relay", "den", 77, []byte{1, 2, 3}
	w, err := NewWriter(to, game(), h)
	m.must(err)
	m.drive(w, n, images...)
	return m, to
}

// blocks returns where the blocks of a file begin, and its end.
func blocks(t testing.TB, data []byte) (list []int) {
	t.Helper()
	for at := openingBytes; at < len(data); {
		_, next, f := nextBlock(data, at)
		if f != faultNone {
			t.Fatal(at, f)
		}
		list = append(list, at)
		at = next
	}
	return append(list, len(data))
}

func open(t testing.TB, data []byte) *Journal {
	t.Helper()
	j, err := Open(data, game(), build)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// samePosition compares positions whose inputs are complete.
func samePosition(a, b Position) bool {
	return a.Tick == b.Tick && a.Chain == b.Chain && slices.Equal(a.Inputs, b.Inputs)
}

// sameTick compares ticks; an empty list of orders and none are the same.
func sameTick(a, b *Tick) bool {
	same := a.Tick == b.Tick && slices.Equal(a.Inputs, b.Inputs) && len(a.Orders) == len(b.Orders)
	for i := 0; same && i < len(a.Orders); i++ {
		x, y := a.Orders[i], b.Orders[i]
		same = x.Kind == y.Kind && x.Player == y.Player && x.Entity == y.Entity && bytes.Equal(x.Payload, y.Payload)
	}
	return same
}

// holds checks that a journal is the match's up to tick f, in every respect.
func (m *match) holds(j *Journal, f ecs.Tick) {
	m.t.Helper()
	if at := j.Last(); !samePosition(at, m.places[f]) {
		m.t.Fatalf("ends at %+v, want %+v", at, m.places[f])
	}
	next := j.Start() + 1
	for tick := range j.Ticks(0) {
		if tick.Tick != next || !sameTick(tick, &m.ticks[tick.Tick]) {
			m.t.Fatalf("%+v, want %+v", tick, m.ticks[next])
		}
		next++
	}
	if next != f+1 {
		m.t.Fatalf("ticks to %d, want %d", next-1, f)
	}
	m.revives(j, f)
}

// revives checks that the world of a journal is the match's after tick f.
func (m *match) revives(j *Journal, f ecs.Tick) {
	m.t.Helper()
	w, err := j.World()
	m.must(err)
	var s image.Snapshot
	if w.Image().Save(&s); w.Tick() != f || s.Checksum() != m.sums[f] {
		m.t.Fatalf("tick %d with %x, want %d with %x", w.Tick(), s.Checksum(), f, m.sums[f])
	}
}
