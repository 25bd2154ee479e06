package rollback

import (
	"fmt"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

func drained(e *Effects, present ecs.Tick) string {
	text := ""
	e.Drain(present, func(n Effect) {
		first := ""
		if n.First {
			first = " first"
		}
		text += fmt.Sprintf("%d:%s %s%s age %d; ", n.Event.Key.Tick, n.Event.Value, [...]string{"predicted", "confirmed", "cancelled"}[n.Status], first, n.Age)
	})
	return text
}

func event(f ecs.Tick, ordinal uint16, value string, irreversible bool) image.EmittedEvent {
	return image.EmittedEvent{Key: image.EventKey{Tick: f, Ordinal: ordinal}, Value: []byte(value), Irreversible: irreversible}
}

// RB-13. A view that hears late starts a sound at the right offset: news carry their age.
func TestEachEventStartsOnceAndEndsOnce(t *testing.T) {
	e := NewEffects(8)
	want := func(present ecs.Tick, text string) {
		t.Helper()
		if got := drained(e, present); got != text {
			t.Fatalf("%q, want %q", got, text)
		}
	}
	death := event(5, 0, "death", true)
	death.Key.Type = 1
	e.simulated(5, []image.EmittedEvent{event(5, 0, "bang", false), event(5, 1, "boom", false), death})
	want(7, "5:bang predicted first age 2; 5:boom predicted first age 2; ")
	// The same again is no news, even with another value; what is gone is cancelled, what is new starts.
	e.simulated(5, []image.EmittedEvent{event(5, 0, "BANG", false), event(5, 2, "late", false), death})
	want(9, "5:boom cancelled age 4; 5:late predicted first age 4; ")
	e.confirm(5)
	want(9, "5:BANG confirmed age 4; 5:late confirmed age 4; 5:death confirmed first age 4; ")
	// A tick in the same row as tick 5 has nothing to do with it.
	e.simulated(13, nil)
	e.confirm(5)
	want(13, "")
}

// A view that never asks must not fill the memory.
func TestNewsThatNobodyHearsAreBounded(t *testing.T) {
	e := NewEffects(8)
	for f := ecs.Tick(1); f <= 3*maxNews; f++ {
		e.simulated(f, []image.EmittedEvent{event(f, 0, "x", false)})
	}
	heard := 0
	e.Drain(0, func(Effect) { heard++ })
	if heard > maxNews || uint64(heard)+e.Lost() != 3*maxNews || heard == 0 {
		t.Fatal(heard, e.Lost())
	}
	e.simulated(9, []image.EmittedEvent{event(9, 0, "x", false)})
	e.Reset()
	if drained(e, 9) != "" {
		t.Fatal("news survive a reset")
	}
}
