package travel_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/rollback/recording"
	"tendon/rollback/travel"
)

// The game of these tests: players walk and shoot, shots fly and die, and a shot asks where the shooter saw its target.

type pad struct {
	DX   int8
	Fire bool `tendon:"press"`
}

type body struct {
	X    fixed.Num
	VX   int32
	Left int32
}

type tally struct{ Shots, Hits uint64 }

type shot struct{ From fixed.Num }

var (
	pads    = ecs.NewInput[pad]()
	bodies  = ecs.NewComponent[body]("body", ecs.Roles[body]{Lerp: func(a, b body, t float64) body { return b }})
	seats   = ecs.NewComponent[ecs.Seat]("seat")
	tallies = ecs.NewResource[tally]("tally")
	fired   = ecs.NewEvent[shot]("fired")
	steered = ecs.NewQuery2(ecs.Write(bodies), ecs.Read(seats))
	shots   = ecs.NewQuery1(ecs.Write(bodies), ecs.Without(seats))
)

func steer(w *ecs.World) {
	for e := range steered.All(w) {
		in := pads.Of(w, e.B.Player)
		e.A.X += fixed.FromInt(int(in.DX)) / 4
		if !in.Fire {
			continue
		}
		s := w.Spawn(ecs.OwnedBy(e.B.Player), bodies)
		bodies.Put(w, s, body{X: e.A.X, VX: 1 + int32(w.Rand().IntN(3)), Left: 5 + int32(w.Rand().IntN(30))})
		fired.Emit(w, s, shot{e.A.X})
		tallies.Write(w).Shots++
		for other := range steered.All(w) {
			if other.B.Player == e.B.Player {
				continue
			}
			if seen, ok := bodies.Seen(w, e.B.Player, other.Entity()); ok && seen.X.Floor()%fixed.FromInt(2) == 0 {
				tallies.Write(w).Hits += uint64(seen.X.Floor() >> 32 & 0xff)
			}
		}
	}
}

func fly(w *ecs.World) {
	for e := range shots.All(w) {
		e.A.X += fixed.FromInt(int(e.A.VX))
		if e.A.Left--; e.A.Left <= 0 {
			w.Despawn(e.Entity())
		}
	}
}

const rate = 20

var walk = &ecs.Game{Name: "walk", TickRate: rate, MaxPlayers: 3, Input: pads, Events: ecs.Events(fired),
	Components: ecs.Components(bodies, seats), Resources: ecs.Resources(tallies), Systems: ecs.Systems(steer, fly),
	Join: func(w *ecs.World, p ecs.Player) {
		seats.Put(w, w.Spawn(ecs.OwnedBy(p), bodies, seats), ecs.Seat{Player: p})
	}}

// match is a match as it was played, with the state of every tick.
type match struct {
	file   []byte
	states []*image.Snapshot // index = tick
	events []int             // index = tick
}

// played says how a match is recorded.
type played struct {
	ticks  ecs.Tick
	seed   uint64
	views  ecs.Tick // how far back views look; 0: there are none
	every  ecs.Tick // an image; 0: none
	start  ecs.Tick // where the recording begins
	change func(w *ecs.World)
}

func (p played) play(t testing.TB) match {
	t.Helper()
	r := rand.New(rand.NewPCG(p.seed, 1))
	w, err := ecs.NewWorld(walk, p.seed)
	if err != nil {
		t.Fatal(err)
	}
	past := rollback.NewSnapshots(64)
	w.Image().SetPast(past.At)
	past.Save(w)
	header := recording.HeaderOf(walk, p.seed, "test")
	header.Start = p.start
	var m match
	var file bytes.Buffer
	writer, err := recording.NewWriter(&file, header)
	if err != nil {
		t.Fatal(err)
	}
	keep := func() {
		s := new(image.Snapshot)
		w.Image().Save(s)
		m.states, m.events = append(m.states, s), append(m.events, len(w.Events()))
		if f := w.Tick(); f == p.start && f > 0 || f > p.start && p.every > 0 && f%p.every == 0 {
			if err := writer.Image(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	keep()
	inputs := make([]ecs.InputBytes, 3)
	for f := ecs.Tick(1); f <= p.ticks; f++ {
		e := recording.Entry{Tick: f, Inputs: inputs}
		for i := range inputs {
			inputs[i] = pads.Pack(pad{DX: int8(r.IntN(5) - 2), Fire: r.IntN(8) == 0})
			if f == ecs.Tick(i)+1 {
				e.Orders = append(e.Orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(i)})
			}
			if p.views > 0 && f > p.views+1 {
				stamp := image.AppendViewStamp(nil, image.ViewStamp{Tick: f - p.views})
				e.Orders = append(e.Orders, image.Order{Kind: image.OrderView, Player: ecs.Player(i), Payload: stamp})
			}
		}
		if r.IntN(20) == 0 {
			e.Late = 1 << 1
		}
		if p.change != nil {
			p.change(w)
		}
		w.Step(ecs.TickInputs{Players: inputs, Orders: e.Orders})
		past.Save(w)
		if f > p.start {
			s := new(image.Snapshot)
			w.Image().Save(s)
			e.Checksum = s.Checksum()
			if err := writer.Tick(e); err != nil {
				t.Fatal(err)
			}
		}
		keep()
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	m.file = file.Bytes()
	return m
}

func (m match) open(t testing.TB) *recording.Recording {
	t.Helper()
	r, err := recording.Open(m.file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (m match) traveller(t testing.TB) *travel.Traveller {
	t.Helper()
	tr, err := travel.New(travel.Config{Game: walk, Source: m.open(t)})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
