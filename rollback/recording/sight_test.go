package recording

import (
	"errors"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// mark is what a player copies from another as it was seen.
type mark struct{ X int32 }

var (
	marks   = ecs.NewComponent[mark]("mark")
	marked  = ecs.NewQuery2(ecs.Read(marks), ecs.Read(seats))
	glances = ecs.NewQuery2(ecs.Read(bodies), ecs.Read(seats))
)

// glance makes everybody remember where the first player was when they saw them.
func glance(w *ecs.World) {
	var first ecs.Entity
	for e := range glances.All(w) {
		if first = e.Entity(); !first.IsZero() {
			break
		}
	}
	for e := range marked.All(w) {
		if seen, ok := bodies.Seen(w, e.B.Player, first); ok {
			marks.Put(w, e.Entity(), mark{X: seen.X})
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

// playSight records a match in which player 2 has a view in the ticks that stamped gives one for, on a server with a past.
func playSight(t *testing.T, n ecs.Tick, start ecs.Tick, stamped func(f ecs.Tick) (image.ViewStamp, bool)) (m match) {
	t.Helper()
	g := sightGame()
	world, err := ecs.NewWorld(g, 9)
	if err != nil {
		t.Fatal(err)
	}
	ring := rollback.NewSnapshots(64)
	world.Image().SetPast(ring.At)
	var file countingWriter
	var w *Writer
	var saved image.Snapshot
	inputs := make([]ecs.InputBytes, 3)
	open := func() {
		h := HeaderOf(g, 9, "test")
		h.Start = start
		if w, err = NewWriter(&file, h); err != nil {
			t.Fatal(err)
		}
	}
	for f := ecs.Tick(0); f <= n; f++ {
		e := Entry{Tick: f, Inputs: inputs}
		if f > 0 {
			for p := range inputs {
				inputs[p] = pads.Pack(pad{DX: int8(f*7%5) - 1, Fire: f%9 == ecs.Tick(p)})
			}
			if f <= 2 {
				e.Orders = append(e.Orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(f)})
			}
			if v, ok := stamped(f); ok {
				e.Orders = append(e.Orders, image.Order{Kind: image.OrderView, Player: 2, Payload: image.AppendViewStamp(nil, v)})
			}
			world.Step(ecs.TickInputs{Players: e.Inputs, Orders: e.Orders})
		}
		ring.Save(world)
		world.Image().Save(&saved)
		e.Checksum = saved.Checksum()
		m.sums = append(m.sums, e.Checksum)
		if f == start {
			open()
		} else if f > start {
			err = w.Tick(e)
		}
		if err == nil && f >= start && w.ImageDue() {
			err = w.Image(&saved)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	m.file = file.Bytes()
	return m
}

func always(f ecs.Tick) (image.ViewStamp, bool) {
	return image.ViewStamp{Tick: max(f, 20) - ecs.Tick(1+f*5%19)}, f > 20
}

// A replay of a match in which players were judged by what they saw has the same checksums: its world has the past.
func TestAReplayLooksBackAsTheServerDid(t *testing.T) {
	m := playSight(t, 900, 0, always)
	r := open(t, m.file)
	if r.reach != 19 || len(r.Images()) < 4 {
		t.Fatalf("views reach back %d ticks, images of %v: the test proves nothing", r.reach, r.Images())
	}
	result, err := Verify(sightGame(), r, r.Last())
	if err != nil || result.To != 900 || result.Images != len(r.Images()) {
		t.Fatalf("%+v, %v", result, err)
	}
	blind := *r
	blind.reach = 0
	if _, err := Verify(sightGame(), &blind, r.Last()); !errors.As(err, new(*rollback.DesyncReport)) {
		t.Errorf("without the past: %v; the test proves nothing", err)
	}
}

// An image has no past. Where a view after it needs one, a seek begins before it.
func TestASeekBeginsWhereNoViewLooksBehindIt(t *testing.T) {
	const keyframe = 400 // one of those that there are every five seconds of 20 ticks
	for name, c := range map[string]struct {
		stamped func(ecs.Tick) (image.ViewStamp, bool)
		begins  map[ecs.Tick]ecs.Tick // to seek this, play from that
	}{
		"views in every tick": {always, map[ecs.Tick]ecs.Tick{150: 0, 401: 0, 420: 0, 890: 0}},
		"no view behind an image": {func(f ecs.Tick) (image.ViewStamp, bool) {
			return image.ViewStamp{Tick: f - min(f, 10)}, f%100 > 10
		}, map[ecs.Tick]ecs.Tick{90: 0, 150: 100, 400: keyframe, 401: keyframe, 420: keyframe, 890: 800}},
		"one view behind an image": {func(f ecs.Tick) (image.ViewStamp, bool) {
			return image.ViewStamp{Tick: keyframe - 1}, f == keyframe+5
		}, map[ecs.Tick]ecs.Tick{90: 0, 150: 100, 400: keyframe, 404: keyframe, 405: 300, 420: 300, 890: 800}},
		"the image itself is seen": {func(f ecs.Tick) (image.ViewStamp, bool) {
			return image.ViewStamp{Tick: keyframe}, f == keyframe+5
		}, map[ecs.Tick]ecs.Tick{405: keyframe}},
	} {
		m := playSight(t, 900, 0, c.stamped)
		r := open(t, m.file)
		for f, want := range c.begins {
			p, err := r.begin(sightGame(), f)
			if err != nil || p.world.Tick() != want {
				t.Errorf("%s: to tick %d it plays from %d, want %d: %v", name, f, p.world.Tick(), want, err)
			}
			w, err := r.WorldAt(sightGame(), f)
			if err != nil {
				t.Errorf("%s: tick %d: %v", name, f, err)
				continue
			}
			var s image.Snapshot
			if w.Image().Save(&s); s.Checksum() != m.sums[f] {
				t.Errorf("%s: the state of tick %d is another one", name, f)
			}
		}
	}
}

// A recording that starts in the middle replays if its views stay in it.
func TestARecordingFromTheMiddleLooksBackToItsStart(t *testing.T) {
	const start = 100
	m := playSight(t, 500, start, func(f ecs.Tick) (image.ViewStamp, bool) {
		return image.ViewStamp{Tick: max(f-min(f, 12), start)}, f > start
	})
	r := open(t, m.file)
	if result, err := Verify(sightGame(), r, r.Last()); err != nil || result.To != 500 || r.reach != 12 {
		t.Errorf("%+v, %v, reach %d", result, err, r.reach)
	}
}

// A file may claim any view; what no world would look at costs nothing.
func TestAViewBeyondAllBoundsAsksForNoPast(t *testing.T) {
	m := playSight(t, 1100, 0, func(f ecs.Tick) (image.ViewStamp, bool) {
		return image.ViewStamp{Tick: map[bool]ecs.Tick{true: 1, false: 1 << 60}[f%2 == 0]}, f > 1030
	})
	r := open(t, m.file)
	if r.reach != 0 {
		t.Errorf("the recording asks for %d ticks of the past", r.reach)
	}
	if _, err := Verify(sightGame(), r, r.Last()); err != nil {
		t.Error(err)
	}
}
