package broadcast

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/rollback/record"
)

// The game of these tests: inputs, joins, random numbers, spawns and views all leave traces in the state.

type pad struct {
	DX   int8
	Fire bool `tendon:"press"`
}

type body struct{ X, VX int32 }

// sight is the place of the first player as another one saw it.
type sight struct{ X int32 }

var (
	pads    = ecs.NewInput[pad]()
	bodies  = ecs.NewComponent[body]("body")
	sights  = ecs.NewComponent[sight]("sight")
	seats   = ecs.NewComponent[ecs.Seat]("seat")
	steered = ecs.NewQuery2(ecs.Write(bodies), ecs.Read(seats))
	shots   = ecs.NewQuery1(ecs.Write(bodies), ecs.Without(seats))
	seeing  = ecs.NewQuery2(ecs.Read(sights), ecs.Read(seats))

	landed = ecs.NewEvent[body]("landed")
)

// steer moves the players by speed.
func steer(speed int32) func(w *ecs.World) {
	return func(w *ecs.World) {
		for e := range steered.All(w) {
			in := pads.Of(w, e.B.Player)
			if e.A.X += speed * int32(in.DX); in.Fire {
				bodies.Put(w, w.Spawn(ecs.OwnedBy(e.B.Player), bodies), body{X: e.A.X, VX: 3})
			}
		}
	}
}

func fly(w *ecs.World) {
	for e := range shots.All(w) {
		if e.A.X += e.A.VX; w.Rand().Chance(1, 20) {
			landed.Emit(w, e.Entity(), *e.A)
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

func gameOf(speed int32) *ecs.Game {
	return &ecs.Game{Name: "range", TickRate: 20, MaxPlayers: 3, Input: pads, Components: ecs.Components(bodies, seats, sights), Events: ecs.Events(landed),
		Systems: []ecs.System{{Name: "steer", Run: steer(speed)}, {Name: "fly", Run: fly}, {Name: "look", Run: look}},
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			seats.Put(w, w.Spawn(ecs.OwnedBy(p), bodies, seats, sights), ecs.Seat{Player: p})
		}}
}

func game() *ecs.Game { return gameOf(1) }

const fragmentTicks = FragmentSeconds * 20

// match is a match that is simulated and broadcast.
type match struct {
	t      testing.TB
	world  *ecs.World
	random *rand.Rand
	past   *rollback.Snapshots
	inputs []ecs.InputBytes
	hangs  bool // do not wait for the publisher
	back   int  // how far views look back at least, in ticks
	views  bool // player 2 sees the past in every tick
	writer *Writer
	config Config
	sums   map[ecs.Tick]image.Checksum
}

func newMatch(t testing.TB, seed uint64, to Store, delay ecs.Tick) *match {
	t.Helper()
	m := &match{t: t, random: rand.New(rand.NewPCG(seed, 3)), past: rollback.NewSnapshots(64), inputs: make([]ecs.InputBytes, 3), sums: map[ecs.Tick]image.Checksum{}}
	m.world = must(ecs.NewWorld(game(), seed))
	m.world.Image().SetPast(m.past.At)
	m.past.Save(m.world)
	h := record.HeaderOf(game(), seed, "a1b2c3")
	h.Room, h.Match = "den", 77
	m.config = Config{Game: game(), Header: h, Run: "run-1", Store: to, Delay: delay, Failed: func(err error) {
		if err != nil {
			t.Error(err)
		}
	}}
	m.start()
	return m
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// start starts a writer at the present tick.
func (m *match) start() {
	m.config.Header.Start = record.PositionOf(m.world, 0)
	var now image.Snapshot
	m.world.Image().Save(&now)
	m.writer = must(NewWriter(m.config, &now))
}

// step simulates a random tick.
func (m *match) step() rollback.FinalTick {
	f := m.world.Tick() + 1
	for p := range m.inputs {
		if m.random.IntN(5) == 0 {
			m.inputs[p] = pads.Pack(pad{DX: int8(m.random.IntN(3) - 1), Fire: m.random.IntN(3) == 0})
		}
	}
	t := rollback.FinalTick{Tick: f, Inputs: m.inputs}
	if f <= 3 {
		t.Orders = []image.Order{{Kind: image.OrderJoin, Player: ecs.Player(f - 1), Payload: image.AppendCard(nil, image.Card{Name: fmt.Sprint("player ", f)})}}
	}
	if back := ecs.Tick(m.random.IntN(9) + 2 + m.back); m.views && f > back {
		t.Orders = append(t.Orders, image.Order{Kind: image.OrderView, Player: 2, Payload: image.AppendViewStamp(nil, image.ViewStamp{Tick: f - back, Part: 128})})
	}
	m.world.Step(ecs.TickInputs{Players: t.Inputs, Orders: t.Orders})
	t.Checksum = m.past.Save(m.world).Checksum()
	m.sums[f] = t.Checksum
	return t
}

// play simulates and broadcasts ticks.
func (m *match) play(n int) {
	for range n {
		t := m.step()
		s, _ := m.past.At(t.Tick)
		m.writer.Tick(t, s, m.world)
		for !m.hangs && len(m.writer.jobs) > maxJobs/2 {
			runtime.Gosched() // a match in virtual time is faster than the publisher
		}
	}
}

// memory is a Store and a Source in memory.
type memory struct {
	mu      sync.Mutex
	changed sync.Cond
	files   map[string][]byte
	puts    []string
	put     func(name string) error // is called before a file is written. Optional
	asked   []string
}

func newMemory() *memory {
	m := &memory{files: map[string][]byte{}}
	m.changed.L = &m.mu
	return m
}

func (m *memory) Put(name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.put != nil {
		if err := m.put(name); err != nil {
			return err
		}
	}
	m.files[name], m.puts = slices.Clone(data), append(m.puts, name)
	m.changed.Broadcast()
	return nil
}

func (m *memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] == nil {
		return ErrNotFound
	}
	delete(m.files, name)
	return nil
}

func (m *memory) Get(_ context.Context, name string, max int) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, name)
	data, ok := m.files[name]
	if !ok {
		return nil, ErrNotFound
	}
	return slices.Clone(data), nil
}

// index returns the index.
func (m *memory) index() *Index {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read()
}

func (m *memory) read() *Index {
	if m.files[IndexName] == nil {
		return &Index{}
	}
	return must(ParseIndex(m.files[IndexName]))
}

// await waits until tick f is visible.
func (m *memory) await(f ecs.Tick) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.read().Last < f {
		m.changed.Wait()
	}
}

// names returns the files with a suffix, by name.
func (m *memory) names(suffix string) (list []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.files {
		if strings.HasSuffix(name, suffix) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}
