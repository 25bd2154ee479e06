package record

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// The game of these tests: inputs, orders, joins, random numbers, spawns and views all leave traces in the state.

type pad struct {
	DX   int8
	_    uint8
	Aim  uint16
	Fire bool `tendon:"press"`
}

type body struct{ X, VX int32 }

// sight is the place of the first player as another one saw it.
type sight struct{ X int32 }

type score struct{ Shots, Gifts uint32 }

var (
	pads    = ecs.NewInput[pad]()
	bodies  = ecs.NewComponent[body]("body")
	sights  = ecs.NewComponent[sight]("sight")
	seats   = ecs.NewComponent[ecs.Seat]("seat")
	scores  = ecs.NewResource[score]("score")
	steered = ecs.NewQuery2(ecs.Write(bodies), ecs.Read(seats))
	shots   = ecs.NewQuery1(ecs.Write(bodies), ecs.Without(seats))
	seeing  = ecs.NewQuery2(ecs.Read(sights), ecs.Read(seats))
)

func steer(w *ecs.World) {
	for e := range steered.All(w) {
		in := pads.Of(w, e.B.Player)
		e.A.X += int32(in.DX)
		if in.Fire && !pads.Last(w, e.B.Player).Fire {
			shot := w.Spawn(ecs.OwnedBy(e.B.Player), bodies)
			bodies.Put(w, shot, body{X: e.A.X, VX: int32(in.Aim % 9)})
			scores.Write(w).Shots++
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

// look stores where each player saw the first one.
func look(w *ecs.World) {
	first := ecs.Entity{}
	for e := range seeing.All(w) {
		if first.IsZero() {
			first = e.Entity()
		}
		if seen, ok := bodies.Seen(w, e.B.Player, first); ok {
			sights.Put(w, e.Entity(), sight{X: seen.X})
		}
	}
}

func game() *ecs.Game {
	return &ecs.Game{Name: "range", TickRate: 20, MaxPlayers: 3, Input: pads,
		Components: ecs.Components(bodies, seats, sights), Resources: ecs.Resources(scores), Systems: ecs.Systems(steer, fly, look),
		Setup: func(w *ecs.World) { scores.Write(w).Gifts = uint32(w.Rand().IntN(1000)) },
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			seats.Put(w, w.Spawn(ecs.OwnedBy(p), bodies, seats, sights), ecs.Seat{Player: p})
		},
		Orders: ecs.Orders(gift.Do(give))}
}

var gift = ecs.NewOrder[[50]byte]("gift")

func give(w *ecs.World, p ecs.Player, _ ecs.Entity, sent [50]byte) {
	scores.Write(w).Gifts += (uint32(sent[0]) + 1) << p
}

const build = "a1b2c3"

// match is a match that is simulated straight through, with everything that a record of it must contain.
type match struct {
	t      testing.TB
	seed   uint64
	world  *ecs.World
	random *rand.Rand
	saved  image.Snapshot
	past   *rollback.Snapshots
	// view gives player 2 a view in some ticks. Optional.
	view func(f ecs.Tick) (image.ViewStamp, bool)
	// change is applied to the world before each tick. Optional.
	change func(w *ecs.World)
	// stored is the number of states that are stored before each image.
	stored ecs.Tick

	ticks  []Tick // index = tick; index 0 has the checksum of the first state only
	places []Position
}

func newMatch(t testing.TB, seed uint64) *match {
	t.Helper()
	m := &match{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 3)), past: rollback.NewSnapshots(64)}
	var err error
	if m.world, err = ecs.NewWorld(game(), seed); err != nil {
		t.Fatal(err)
	}
	m.world.Image().SetPast(m.past.At)
	m.store(Tick{}, Position{Inputs: make([]ecs.InputBytes, 3)})
	return m
}

func (m *match) store(tick Tick, at Position) {
	m.world.Image().Save(&m.saved)
	m.past.Save(m.world)
	tick.Checksum = m.saved.Checksum()
	m.ticks, m.places = append(m.ticks, tick), append(m.places, at)
}

// step simulates a random tick and returns it. The chain is computed with a codec of its own.
func (m *match) step() Tick {
	before := m.places[len(m.places)-1]
	f := m.world.Tick() + 1
	tick := Tick{Tick: f, Inputs: slices.Clone(before.Inputs)}
	for p := range tick.Inputs {
		if m.random.IntN(5) == 0 {
			tick.Inputs[p] = pads.Pack(pad{DX: int8(m.random.IntN(3) - 1), Aim: uint16(m.random.Uint32()), Fire: m.random.IntN(3) == 0})
		}
	}
	if f <= 3 {
		tick.Orders = append(tick.Orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(f - 1)})
	}
	if m.random.IntN(30) == 0 {
		payload := append(make([]byte, 1+m.random.IntN(49), 51), byte(f|1)) // of gift
		tick.Late = image.PlayerSet(m.random.IntN(8))
		tick.Orders = append(tick.Orders, image.Order{Player: 2, Entity: ecs.Entity{Row: 1 << 20, Born: f - 1}, Payload: payload})
	}
	if m.view != nil {
		if v, ok := m.view(f); ok {
			tick.Orders = append(tick.Orders, image.Order{Kind: image.OrderView, Player: 2, Payload: image.AppendViewStamp(nil, v)})
		}
	}
	if m.change != nil {
		m.change(m.world)
	}
	m.world.Step(ecs.TickInputs{Players: tick.Inputs, Orders: tick.Orders})
	code := NewCodec(m.world.Game()).AppendTick(nil, before.Inputs, &tick)
	m.store(tick, Position{Tick: f, Chain: before.Chain.Next(code), Inputs: tick.Inputs})
	return m.ticks[f]
}

// image writes the present state, with states before it.
func (m *match) image(w *Writer) error {
	return w.Image(&m.saved, m.before(m.stored)...)
}

// before returns the states of the last n ticks before the present one, ascending.
func (m *match) before(n ecs.Tick) (past []*image.Snapshot) {
	for f := m.world.Tick() - min(n, m.world.Tick()); f < m.world.Tick(); f++ {
		s, ok := m.past.At(f)
		if !ok {
			m.t.Fatalf("the match does not have the state of tick %d", f)
		}
		past = append(past, s)
	}
	return past
}

// asJournal makes of a tick what a journal has: no late players, and a checksum once a second.
func asJournal(t Tick) Tick {
	if t.Late = 0; t.Tick%20 != 0 {
		t.Checksum = 0
	}
	return t
}

// drive simulates n ticks into a journal and flushes it after every tick or two. It adds a seat every 33 ticks, and images
// when they are due or at the named ticks.
func (m *match) drive(w *Writer, n int, images ...ecs.Tick) {
	m.t.Helper()
	for range n {
		tick := m.step()
		m.must(w.Tick(asJournal(tick)))
		if tick.Tick%33 == 0 {
			m.must(w.Seat(Seat{Player: ecs.Player(tick.Tick / 33 % 3), Client: uint64(tick.Tick), Name: "ann", Held: tick.Tick%2 == 0}))
		}
		if w.ImageDue(JournalImages) || slices.Contains(images, tick.Tick) {
			m.must(m.image(w))
		}
		if m.random.IntN(3) > 0 {
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

func header(seed uint64) Header {
	h := HeaderOf(game(), seed, build)
	h.Strategy, h.Flags, h.Room, h.Match, h.Params = "relay", "--sync relay", "den", 77, []byte{1, 2, 3}
	return h
}

// journal returns a match of n ticks and its journal.
func journal(t testing.TB, seed uint64, n int, images ...ecs.Tick) (*match, *file) {
	t.Helper()
	m, to := newMatch(t, seed), &file{}
	w, err := NewWriter(to, game(), header(seed))
	m.must(err)
	m.drive(w, n, images...)
	return m, to
}

// recording records n ticks of a match from its present tick on, a block a second, and ends the recording.
func (m *match) recording(n int) *file {
	m.t.Helper()
	to, h := &file{}, header(m.seed)
	h.Start = m.places[len(m.places)-1]
	w, err := NewWriter(to, game(), h)
	m.must(err)
	for range n {
		if w.ImageDue(RecordingImages) {
			m.must(m.image(w))
		}
		tick := m.step()
		m.must(w.Tick(tick))
		if tick.Tick%20 == 0 {
			m.must(w.Flush())
		}
	}
	m.must(w.End())
	return to
}

// blocks returns the offsets of a file's blocks, and its end.
func blocks(t testing.TB, data []byte) (list []int) {
	t.Helper()
	for at := openingBytes; at < len(data); {
		_, next, f := nextBlock(data, at)
		if f != "" {
			t.Fatal(at, f)
		}
		list = append(list, at)
		at = next
	}
	return append(list, len(data))
}

func open(t testing.TB, data []byte) *Record {
	t.Helper()
	r, err := Open(data, game())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// samePosition compares positions whose inputs are complete.
func samePosition(a, b Position) bool {
	return a.Tick == b.Tick && a.Chain == b.Chain && slices.Equal(a.Inputs, b.Inputs)
}

// sameTick compares ticks. An empty list of orders equals none.
func sameTick(a, b *Tick) bool {
	return a.Tick == b.Tick && a.Late == b.Late && a.Checksum == b.Checksum && slices.Equal(a.Inputs, b.Inputs) &&
		slices.EqualFunc(a.Orders, b.Orders, func(x, y image.Order) bool {
			return x.Kind == y.Kind && x.Player == y.Player && x.Entity == y.Entity && bytes.Equal(x.Payload, y.Payload)
		})
}

// has checks that a journal is the match's up to tick f, in every respect.
func (m *match) has(r *Record, f ecs.Tick) {
	m.t.Helper()
	if at := r.Last(); !samePosition(at, m.places[f]) {
		m.t.Fatalf("ends at %+v, want %+v", at, m.places[f])
	}
	next := r.Start() + 1
	for tick := range r.Ticks(0, maxTick) {
		if want := asJournal(m.ticks[next]); !sameTick(tick, &want) {
			m.t.Fatalf("%+v, want %+v", tick, want)
		}
		next++
	}
	if next != f+1 {
		m.t.Fatalf("ticks to %d, want %d", next-1, f)
	}
	m.leads(r, f)
}

// leads checks that a record leads to the match's state after tick f.
func (m *match) leads(r *Record, f ecs.Tick) {
	m.t.Helper()
	w, err := r.WorldAt(f)
	m.must(err)
	var s image.Snapshot
	if w.Image().Save(&s); w.Tick() != f || s.Checksum() != m.ticks[f].Checksum {
		m.t.Fatalf("tick %d with %x, want %d with %x", w.Tick(), s.Checksum(), f, m.ticks[f].Checksum)
	}
}
