package cursor_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/rollback/record"
	"tendon/rollback/record/cursor"
)

// The game of these tests: players walk and shoot, shots fly and end, and a shot depends on where the shooter saw its target.

type pad struct {
	DX   int8
	Fire bool `tendon:"press"`
}

type body struct {
	X    fixed.Num
	VX   int32
	Left int32
}

type score struct{ Shots, Hits uint64 }

type shot struct{ From fixed.Num }

var (
	pads    = ecs.NewInput[pad]()
	bodies  = ecs.NewComponent[body]("body", ecs.Roles[body]{Lerp: func(a, b body, t float64) body { return b }})
	seats   = ecs.NewComponent[ecs.Seat]("seat")
	scores  = ecs.NewResource[score]("score")
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
		scores.Write(w).Shots++
		for target := range steered.All(w) {
			if target.B.Player == e.B.Player {
				continue
			}
			if seen, ok := bodies.Seen(w, e.B.Player, target.Entity()); ok && seen.X.Floor()%fixed.FromInt(2) == 0 {
				scores.Write(w).Hits += uint64(seen.X.Floor() >> 32 & 0xff)
			}
		}
	}
}

// computed counts the ticks that were computed in all worlds.
var computed uint64

func fly(w *ecs.World) {
	computed++
	for e := range shots.All(w) {
		e.A.X += fixed.FromInt(int(e.A.VX))
		if e.A.Left--; e.A.Left <= 0 {
			w.Despawn(e.Entity())
		}
	}
}

const rate = 20

var walk = &ecs.Game{Name: "walk", TickRate: rate, MaxPlayers: 3, Input: pads, Events: ecs.Events(fired),
	Components: ecs.Components(bodies, seats), Resources: ecs.Resources(scores), Systems: ecs.Systems(steer, fly),
	Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
		seats.Put(w, w.Spawn(ecs.OwnedBy(p), bodies, seats), ecs.Seat{Player: p})
	}}

// match is a recorded match with the state of every tick.
type match struct {
	file   []byte
	states []*image.Snapshot // index = tick
	events []int             // index = tick
}

// recipe describes how a match is recorded.
type recipe struct {
	ticks  ecs.Tick
	seed   uint64
	views  ecs.Tick // ticks that views look back; 0: no views
	every  ecs.Tick // distance of images; 0: no images
	start  ecs.Tick // of the recording
	past   ecs.Tick // states before each image
	change func(w *ecs.World)
	broken ecs.Tick // its image cannot be loaded; 0: none
}

func (p recipe) play(t testing.TB) match {
	t.Helper()
	r := rand.New(rand.NewPCG(p.seed, 1))
	w, err := ecs.NewWorld(walk, p.seed)
	if err != nil {
		t.Fatal(err)
	}
	past := rollback.NewSnapshots(64)
	w.Image().SetPast(past.At)
	past.Save(w)
	header := record.HeaderOf(walk, p.seed, "test")
	header.Start.Tick = p.start
	var m match
	var file bytes.Buffer
	writer, err := record.NewWriter(&file, walk, header)
	if err != nil {
		t.Fatal(err)
	}
	store := func() {
		s := new(image.Snapshot)
		w.Image().Save(s)
		m.states, m.events = append(m.states, s), append(m.events, len(w.Events()))
		if f := w.Tick(); f == p.start && f > 0 || f > p.start && p.every > 0 && f%p.every == 0 {
			write := func() error { return writer.Image(s, m.states[f-min(f, p.past):f]...) }
			if f == p.broken {
				write = func() error { return writer.ImageBytes([]byte("damaged")) }
			}
			if err := write(); err != nil {
				t.Fatal(err)
			}
		}
	}
	store()
	inputs := make([]ecs.InputBytes, 3)
	for f := ecs.Tick(1); f <= p.ticks; f++ {
		e := record.Tick{Tick: f, Inputs: inputs}
		for i := range inputs {
			inputs[i] = pads.Pack(pad{DX: int8(r.IntN(5) - 2), Fire: r.IntN(8) == 0})
			if f == ecs.Tick(i)+1 {
				e.Orders = append(e.Orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(i),
					Payload: image.AppendCard(nil, image.Card{Name: fmt.Sprint("player ", i), Data: []byte{7}})})
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
		store()
	}
	if err := writer.End(); err != nil {
		t.Fatal(err)
	}
	m.file = file.Bytes()
	return m
}

func (m match) open(t testing.TB) *record.Record {
	t.Helper()
	r, err := record.Open(m.file, walk)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (m match) cursor(t testing.TB) *cursor.Cursor {
	t.Helper()
	c, err := cursor.New(m.open(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
