package ecs_test

import (
	"bytes"
	"errors"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/ecs/race"
)

// A view matches predicted and confirmed events by their keys, so keys must be unique within a tick.
func TestEventKeysCountPerTypeAndEntity(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var a, b ecs.Entity
	sample.InSystem(w, func() {
		a, b = w.Spawn(ecs.OwnedByWorld), w.Spawn(ecs.OwnedByWorld)
		sample.Hits.Emit(w, a, sample.Hit{Damage: 1})
		sample.Hits.Emit(w, b, sample.Hit{Damage: 2})
		sample.Deaths.Emit(w, a, 3)
		sample.Hits.Emit(w, a, sample.Hit{Damage: 4})
		sample.Hits.Emit(w, ecs.Entity{}, sample.Hit{Damage: 5})
		sample.Hits.Emit(w, a, sample.Hit{Damage: 6})
	})
	want := []image.EventKey{{Tick: 1, Type: 0, Ordinal: 0, Entity: a}, {Tick: 1, Type: 0, Ordinal: 0, Entity: b}, {Tick: 1, Type: 1, Ordinal: 0, Entity: a}, {Tick: 1, Type: 0, Ordinal: 1, Entity: a}, {Tick: 1, Type: 0, Ordinal: 0, Entity: ecs.Entity{}}, {Tick: 1, Type: 0, Ordinal: 2, Entity: a}}
	events := w.Events()
	if len(events) != len(want) {
		t.Fatal(len(events))
	}
	for i, e := range events {
		if e.Key != want[i] || e.Irreversible != (i == 2) {
			t.Errorf("event %d is %+v, want %+v", i, e.Key, want[i])
		}
		if hit, ok := sample.Hits.Decode(w.Game(), e); ok != (i != 2) || ok && hit.Damage != uint16(i+1) {
			t.Errorf("event %d decodes to %v %t", i, hit, ok)
		}
		if v, ok := sample.Deaths.Decode(w.Game(), e); ok != (i == 2) || ok && v != 3 {
			t.Errorf("event %d decodes to death %v %t", i, v, ok)
		}
	}
	if bytes.Equal(events[0].Value, events[1].Value) || !bytes.Equal(events[0].Value, events[0].Value) {
		t.Error("SameValue")
	}
	w.Step(ecs.TickInputs{})
	if len(w.Events()) != 0 {
		t.Error("events of an earlier tick remain")
	}
}

// Two events may be one that a correction has moved if they differ in nothing but the tick and numbers with fractions.
func TestSameEventComparesDiscreteFields(t *testing.T) {
	type impact struct {
		By    ecs.Player
		Kind  [2]uint8
		Hard  bool
		_     uint32
		Speed fixed.Num
		Spin  float64
		At    fixed.Vec2
		Of    ecs.Entity
	}
	impacts, others := ecs.NewEvent[impact]("impact"), ecs.NewEvent[impact]("other")
	g := sample.Bare()
	g.Events = ecs.Events(impacts, others)
	w := sample.NewWorld(t, g)
	base := impact{By: 1, Kind: [2]uint8{3, 4}, Speed: 5, Of: ecs.Entity{Row: 6}}
	list := []struct {
		want bool
		make func(*impact)
	}{
		{true, func(*impact) {}},
		{true, func(i *impact) { i.Speed, i.Spin, i.At.Y = 1, 2, 3 }},
		{false, func(i *impact) { i.By = 2 }},
		{false, func(i *impact) { i.Kind[1] = 2 }},
		{false, func(i *impact) { i.Hard = true }},
		{false, func(i *impact) { i.Of.Row = 2 }},
	}
	sample.InSystem(w, func() {
		a, b := w.Spawn(ecs.OwnedByWorld), w.Spawn(ecs.OwnedByWorld)
		for _, c := range list {
			value := base
			c.make(&value)
			impacts.Emit(w, a, value)
		}
		impacts.Emit(w, b, base)
		others.Emit(w, a, base)
		impacts.Emit(w, ecs.Entity{}, base)
	})
	s, events := w.Image().Schema(), w.Events()
	for i := range events {
		want := i < len(list) && list[i].want
		if s.SameEvent(&events[0], &events[i]) != want {
			t.Errorf("event %d is the same: %t", i, !want)
		}
	}
	if last := &events[len(events)-1]; s.SameEvent(last, last) {
		t.Error("an event without an entity is the same as another")
	}
}

// Events from a wire or another build may be malformed; Decode then returns false.
func TestDecodeRefusesOtherEvents(t *testing.T) {
	g := sample.Bare()
	for _, e := range []image.EmittedEvent{{}, {Key: image.EventKey{Type: 9}}, {Value: make([]byte, 99)}, {Key: image.EventKey{Type: 1}, Value: make([]byte, 16)}} {
		if v, ok := sample.Hits.Decode(g, e); ok {
			t.Errorf("%+v decodes to %v", e, v)
		}
	}
}

// A resimulated tick emits the same events, so a view recognizes those that it has shown.
func TestResimulatedTicksEmitEqualEvents(t *testing.T) {
	w := sample.NewWorld(t, sample.Busy())
	sample.Play(w, 80)
	s := sample.Saved(w)
	type shown struct {
		key   image.EventKey
		value string
	}
	run := func() (list []shown) {
		w.Image().Restore(s)
		for range 60 {
			sample.Play(w, w.Tick()+1)
			for _, e := range w.Events() {
				list = append(list, shown{e.Key, string(e.Value)})
			}
		}
		return list
	}
	a, b := run(), run()
	if len(a) < 20 || len(a) != len(b) {
		t.Fatalf("%d events, then %d", len(a), len(b))
	}
	seen := map[image.EventKey]bool{}
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("event %d is %+v, then %+v", i, a[i], b[i])
		}
		if seen[a[i].key] {
			t.Errorf("two events have the key %+v", a[i].key)
		}
		seen[a[i].key] = true
	}
}

// A client that did not simulate a tick receives the same events as one that did.
func TestDecodedEventsEqualEmittedEvents(t *testing.T) {
	w := sample.NewWorld(t, sample.Busy())
	var b []byte
	var list []image.EmittedEvent
	total, longest, irreversible := 0, 0, 0
	for range 400 {
		sample.Play(w, w.Tick()+1)
		b = image.AppendEvents(b[:0], w.Events(), nil)
		var err error
		if list, err = w.Image().Schema().ReadEvents(list[:0], b); err != nil {
			t.Fatal(err)
		}
		events := w.Events()
		if len(list) != len(events) || len(list) == 0 && len(b) != 0 {
			t.Fatalf("tick %d: %d events arrive in %d bytes, %d were emitted", w.Tick(), len(list), len(b), len(events))
		}
		for i, e := range list {
			if e.Key != events[i].Key || e.Irreversible != events[i].Irreversible || !bytes.Equal(e.Value, events[i].Value) {
				t.Fatalf("event %d arrives as %+v, was %+v", i, e, events[i])
			}
			if e.Irreversible {
				irreversible++
			}
		}
		total, longest = total+len(list), max(longest, len(list))
	}
	if total < 100 || longest < 3 || irreversible < 20 {
		t.Errorf("%d events, at most %d in a tick, %d irreversible: the test shows nothing", total, longest, irreversible)
	}
	if race.Enabled {
		return
	}
	for len(w.Events()) == 0 {
		sample.Play(w, w.Tick()+1)
	}
	if n := testing.AllocsPerRun(100, func() {
		b = image.AppendEvents(b[:0], w.Events(), nil)
		list, _ = w.Image().Schema().ReadEvents(list[:0], b)
	}); n != 0 || len(list) == 0 {
		t.Errorf("%v allocations for %d events", n, len(list))
	}
}

// someEvents returns a world whose last tick has events of every kind.
func someEvents(t testing.TB) *ecs.World {
	flag := ecs.NewEvent[sample.Mixed]("flag")
	g := sample.Bare()
	g.Events = append(g.Events, flag)
	w := sample.NewWorld(t, g)
	sample.InSystem(w, func() {
		e := w.Spawn(ecs.OwnedBy(3), sample.Positions)
		sample.Hits.Emit(w, e, sample.Hit{Damage: 1})
		sample.Hits.Emit(w, e, sample.Hit{Damage: 2})
		sample.Deaths.Emit(w, ecs.Entity{}, 3)
		flag.Emit(w, ecs.Entity{Row: 7, Born: 99}, sample.Mixed{Alive: true}) // not there: a game may say so
	})
	return w
}

// Cut events, unknown types and impossible values return an error and append nothing.
func TestReadEventsRefusesMalformedEvents(t *testing.T) {
	w := someEvents(t)
	b := image.AppendEvents(nil, w.Events(), nil)
	whole, err := w.Image().Schema().ReadEvents(nil, b)
	if err != nil || len(whole) != 4 {
		t.Fatal(len(whole), err)
	}
	ends := map[int]bool{0: true} // where it may be cut
	for _, e := range whole {
		for at := range b {
			if &b[at] == &e.Value[0] {
				ends[at+len(e.Value)] = true
			}
		}
	}
	for n := range b {
		list, err := w.Image().Schema().ReadEvents(whole[:1], b[:n])
		if ends[n] != (err == nil) || err != nil && (len(list) != 1 || !errors.Is(err, image.ErrEvents)) {
			t.Errorf("cut to %d of %d bytes: %d events, %v", n, len(b), len(list)-1, err)
		}
	}
	lies := map[string][]byte{
		"a type of another game": {1, 3, 0, 0},
		"an endless type":        append([]byte{1}, bytes.Repeat([]byte{0xff}, 12)...),
		"a row beyond 32 bits":   {1, 1, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 1, 1, 1, 1},
		"an ordinal too large":   {1, 1, 0, 0xff, 0xff, 0x7f, 1},
		"no event behind a tick": {1},
		"padding":                append([]byte{1, 0, 0, 0, 1, 0, 1}, make([]byte, 13)...),
		"a boolean of 2":         append([]byte{1, 2, 0, 0, 2}, make([]byte, 200)...),
	}
	for name, lie := range lies {
		if _, err := w.Image().Schema().ReadEvents(nil, lie); !errors.Is(err, image.ErrEvents) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzReadEvents searches for bytes that panic, or that ReadEvents accepts and Decode does not.
func FuzzReadEvents(f *testing.F) {
	w := someEvents(f)
	f.Add(image.AppendEvents(nil, w.Events(), nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := w.Image().Schema().ReadEvents(nil, b)
		if err != nil && list != nil {
			t.Fatal("events beside an error")
		}
		for _, e := range list {
			if _, ok := sample.Hits.Decode(w.Game(), e); ok != (e.Key.Type == 0) {
				t.Fatalf("%+v is read and does not decode", e)
			}
			if e.Irreversible != (e.Key.Type == 1) {
				t.Fatalf("%+v is irreversible", e)
			}
		}
	})
}
