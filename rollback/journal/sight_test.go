package journal

import (
	"errors"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// memory is what a player copies from another as it was seen.
type memory struct{ X int32 }

var (
	marks  = ecs.NewComponent[memory]("mark")
	marked = ecs.NewQuery2(ecs.Read(marks), ecs.Read(seats))
)

// glance makes everybody remember where the first player was when they saw them.
func glance(w *ecs.World) {
	first := ecs.Entity{}
	for e := range marked.All(w) {
		if first.IsZero() {
			first = e.Entity()
		}
		if seen, ok := bodies.Seen(w, e.B.Player, first); ok {
			marks.Put(w, e.Entity(), memory{X: seen.X})
		}
	}
}

func sightGame() *ecs.Game {
	g := game()
	g.Components = ecs.Components(bodies, seats, marks)
	g.Systems = ecs.Systems(steer, fly, glance)
	g.Join = func(w *ecs.World, p ecs.Player) {
		seats.Put(w, w.Spawn(ecs.OwnedBy(p), bodies, seats, marks), ecs.Seat{Player: p})
	}
	return g
}

// writeSight keeps a journal, from tick start on, of a match in which player 2 has a view in some ticks, on a server
// with a past. It has images of start and of ticks 60 and 120.
func writeSight(t *testing.T, start ecs.Tick, stamped func(f ecs.Tick) (image.ViewStamp, bool)) (data []byte, last image.Checksum) {
	t.Helper()
	m := &match{t: t}
	var err error
	m.world, err = ecs.NewWorld(sightGame(), 4)
	m.must(err)
	ring, to := rollback.NewSnapshots(64), &file{}
	m.world.Image().SetPast(ring.At)
	var w *Writer
	inputs := make([]ecs.InputBytes, 3)
	at := Position{Inputs: make([]ecs.InputBytes, 3)}
	codec := NewCodec(sightGame())
	for f := ecs.Tick(0); f <= 150; f++ {
		tick := Tick{Tick: f, Inputs: inputs}
		if f > 0 {
			for p := range inputs {
				inputs[p] = pads.Pack(pad{DX: int8(f*7%5) - 1, Fire: f%9 == ecs.Tick(p)})
			}
			if f <= 2 {
				tick.Orders = append(tick.Orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(f)})
			}
			if v, ok := stamped(f); ok {
				tick.Orders = append(tick.Orders, image.Order{Kind: image.OrderView, Player: 2, Payload: image.AppendViewStamp(nil, v)})
			}
			m.world.Step(ecs.TickInputs{Players: inputs, Orders: tick.Orders})
			at.Chain = at.Chain.Next(codec.AppendTick(nil, at.Inputs, &tick))
			copy(at.Inputs, inputs)
			at.Tick = f
		}
		ring.Save(m.world)
		m.world.Image().Save(&m.saved)
		if f > start {
			m.must(w.Tick(tick))
			m.must(w.Check(f, m.saved.Checksum()))
		} else if f == start {
			h := HeaderOf(sightGame(), 4, build)
			h.Start = at
			w, err = NewWriter(to, sightGame(), h)
			m.must(err)
		}
		if f == start && f > 0 || f == 60 || f == 120 {
			m.must(w.Image(&m.saved))
		}
		if f >= start {
			m.must(w.Flush())
		}
	}
	return to.Bytes(), m.saved.Checksum()
}

// A match comes back as it was where the server judged by what players saw, even beyond the newest image.
func TestAMatchComesBackWithWhatPlayersSaw(t *testing.T) {
	always := func(f ecs.Tick) (image.ViewStamp, bool) {
		return image.ViewStamp{Tick: max(f, 20) - ecs.Tick(1+f*5%19)}, f > 20
	}
	within := func(f ecs.Tick) (image.ViewStamp, bool) { return image.ViewStamp{Tick: f - min(f, 10)}, f%60 > 10 }
	later := func(f ecs.Tick) (image.ViewStamp, bool) { return image.ViewStamp{Tick: max(f-min(f, 19), 30)}, f > 30 }
	for _, c := range []struct {
		name    string
		start   ecs.Tick
		stamped func(ecs.Tick) (image.ViewStamp, bool)
		from    ecs.Tick // which state World begins with
	}{
		{"views behind the image", 0, always, 0},
		{"no view behind the image", 0, within, 120},
		{"a journal from the middle, views behind its newest image", 30, later, 30},
	} {
		data, want := writeSight(t, c.start, c.stamped)
		j, err := Open(data, sightGame(), build)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if w, err := j.base(); err != nil || w.Tick() != c.from {
			t.Errorf("%s: played from %d, want %d: %v", c.name, w.Tick(), c.from, err)
		}
		w, err := j.World()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var s image.Snapshot
		if w.Image().Save(&s); w.Tick() != 150 || s.Checksum() != want {
			t.Errorf("%s: the state of tick %d is another one", c.name, w.Tick())
		}
		j.reach = 0
		if _, err := j.World(); c.from != 120 && !errors.Is(err, ErrDiverged) {
			t.Errorf("%s: without the past: %v; the test proves nothing", c.name, err)
		}
	}
}
