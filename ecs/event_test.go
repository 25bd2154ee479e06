package ecs

import "testing"

// The view tells predicted from confirmed events by their keys, so a key must say which event of the tick it is.
func TestEventKeysCountPerTypeAndEntity(t *testing.T) {
	w := newWorld(t, tGame())
	var a, b Entity
	inSystem(w, func() {
		a, b = w.Spawn(OwnedByWorld), w.Spawn(OwnedByWorld)
		eHit.Emit(w, a, tHit{Damage: 1})
		eHit.Emit(w, b, tHit{Damage: 2})
		eDeath.Emit(w, a, 3)
		eHit.Emit(w, a, tHit{Damage: 4})
		eHit.Emit(w, Entity{}, tHit{Damage: 5})
		eHit.Emit(w, a, tHit{Damage: 6})
	})
	want := []EventKey{{1, 0, 0, a}, {1, 0, 0, b}, {1, 1, 0, a}, {1, 0, 1, a}, {1, 0, 0, Entity{}}, {1, 0, 2, a}}
	events := w.Events()
	if len(events) != len(want) {
		t.Fatal(len(events))
	}
	for i, e := range events {
		if e.Key != want[i] || e.Irreversible != (i == 2) {
			t.Errorf("event %d is %+v, want %+v", i, e.Key, want[i])
		}
		if hit, ok := eHit.Decode(w.game, e); ok != (i != 2) || ok && hit.Damage != uint16(i+1) {
			t.Errorf("event %d decodes to %v %t", i, hit, ok)
		}
		if v, ok := eDeath.Decode(w.game, e); ok != (i == 2) || ok && v != 3 {
			t.Errorf("event %d decodes to death %v %t", i, v, ok)
		}
	}
	if events[0].SameValue(events[1]) || !events[0].SameValue(events[0]) {
		t.Error("SameValue")
	}
	w.Step(TickInputs{})
	if len(w.Events()) != 0 {
		t.Error("events of an earlier tick remain")
	}
}

// Events off a wire or of another build may be anything; Decode answers no.
func TestDecodeRefusesWhatIsNotItsEvent(t *testing.T) {
	g := tGame()
	for _, e := range []EmittedEvent{{}, {Key: EventKey{Type: 9}}, {Value: make([]byte, 99)}, {Key: EventKey{Type: 1}, Value: make([]byte, 16)}} {
		if v, ok := eHit.Decode(g, e); ok {
			t.Errorf("%+v decodes to %v", e, v)
		}
	}
}

// A tick that is simulated again emits the same events: that is how a view knows that it has shown them.
func TestResimulatedTicksEmitEqualEvents(t *testing.T) {
	w := newWorld(t, busyGame())
	play(w, 80)
	s := saved(w)
	type shown struct {
		key   EventKey
		value string
	}
	run := func() (list []shown) {
		w.Restore(s)
		for range 60 {
			play(w, w.Tick()+1)
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
	seen := map[EventKey]bool{}
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
