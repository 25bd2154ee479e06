package rollback

import (
	"fmt"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

func drained(e *Effects, present ecs.Tick) string {
	text := ""
	e.Drain(present, func(n ecs.Effect) {
		first := ""
		if n.First {
			first = " first"
		}
		text += fmt.Sprintf("%d:%s %s%s age %d; ", n.Event.Key.Tick, n.Event.Value, [...]string{"predicted", "confirmed", "cancelled"}[n.Status], first, n.Age)
	})
	return text
}

// wantDrained returns a function that fails the test unless these effects wait.
func wantDrained(t *testing.T, e *Effects) func(present ecs.Tick, text string) {
	return func(present ecs.Tick, text string) {
		t.Helper()
		if got := drained(e, present); got != text {
			t.Fatalf("%q, want %q", got, text)
		}
	}
}

func event(f ecs.Tick, ordinal uint16, value string, irreversible bool) image.EmittedEvent {
	return image.EmittedEvent{Key: image.EventKey{Tick: f, Ordinal: ordinal}, Value: []byte(value), Irreversible: irreversible}
}

func death(f ecs.Tick) image.EmittedEvent {
	d := event(f, 0, "death", true)
	d.Key.Type = 1
	return d
}

// RB-13. An effect carries its age, so that a view that drains late starts a sound at the right offset.
func TestEachEventStartsOnceAndEndsOnce(t *testing.T) {
	e := NewEffects(8)
	want := wantDrained(t, e)
	e.Predicted(5, []image.EmittedEvent{event(5, 0, "bang", false), event(5, 1, "boom", false), death(5)})
	want(7, "5:bang predicted first age 2; 5:boom predicted first age 2; ")
	// The same event again is not reported, even with another value.
	e.Predicted(5, []image.EmittedEvent{event(5, 0, "BANG", false), event(5, 2, "late", false), death(5)})
	want(9, "5:boom cancelled age 4; 5:late predicted first age 4; ")
	e.Settle(5, e.predicted(5))
	want(9, "5:BANG confirmed age 4; 5:late confirmed age 4; 5:death confirmed first age 4; ")
	// Tick 13 has the same slot as tick 5.
	e.Predicted(13, nil)
	e.Settle(5, e.predicted(5))
	want(13, "")
	e.Confirm(event(13, 0, "late", false))
	want(14, "13:late confirmed first age 1; ")
	if predicted, cancelled := e.Counts(); predicted != 3 || cancelled != 1 {
		t.Errorf("%d events predicted, %d cancelled, want 3 and 1", predicted, cancelled)
	}
}

// A view that never drains must not fill the memory.
func TestEffectsThatAreNotDrainedAreBounded(t *testing.T) {
	e := NewEffects(8)
	for f := ecs.Tick(1); f <= 3*maxEffects; f++ {
		e.Predicted(f, []image.EmittedEvent{event(f, 0, "x", false)})
	}
	count := 0
	e.Drain(0, func(ecs.Effect) { count++ })
	if count > maxEffects || count == 0 {
		t.Fatal(count)
	}
	e.Predicted(9, []image.EmittedEvent{event(9, 0, "x", false)})
	e.Begin(0)
	if drained(e, 9) != "" {
		t.Fatal("effects survive Begin")
	}
}

// Each event is reported once, whether it is predicted or settled first. A predicted event that is not settled is
// cancelled.
func TestSettleConfirmsAndCancelsPredictedEvents(t *testing.T) {
	e := NewEffects(8)
	want := wantDrained(t, e)
	list := func(events ...image.EmittedEvent) []image.EmittedEvent { return events }
	e.Begin(4)
	e.Predicted(4, list(event(4, 0, "old", false))) // settled by the state that was loaded
	e.Predicted(5, list(event(5, 0, "wrong", false)))
	e.Predicted(6, list(event(6, 0, "bang", false), death(6)))
	want(9, "5:wrong predicted first age 4; 6:bang predicted first age 3; ")
	// Tick 5 had no events. An event that was not predicted is reported for the first time.
	e.Settle(6, list(event(6, 0, "BANG", false), event(6, 1, "far", false), death(6)))
	want(9, "5:wrong cancelled age 4; 6:BANG confirmed age 3; 6:far confirmed first age 3; 6:death confirmed first age 3; ")
	// A settled tick does not change.
	e.Settle(6, nil)
	e.Predicted(6, list(event(6, 0, "bang", false), event(6, 2, "more", false)))
	want(9, "")
	e.Predicted(8, list(event(8, 0, "ghost", false)))
	e.Settle(9, nil)
	want(9, "8:ghost predicted first age 1; 8:ghost cancelled age 1; ")
	// Settling a tick far ahead costs no more than the depth.
	e.Predicted(10, list(event(10, 0, "lost", false)))
	e.Settle(1<<40, nil)
	want(9, "10:lost predicted first age 0; 10:lost cancelled age 0; ")
}

// Settling a tick that is no longer stored leaves newer ticks as they are. Each of them is settled once later.
func TestLateSettleLeavesNewerTicksAlone(t *testing.T) {
	e := NewEffects(4)
	want := wantDrained(t, e)
	for f := ecs.Tick(1); f <= 6; f++ {
		e.Predicted(f, []image.EmittedEvent{event(f, 0, "bang", false)})
	}
	drained(e, 6)
	e.Settle(2, nil)
	want(6, "")
	e.Settle(6, []image.EmittedEvent{event(6, 0, "bang", false)})
	want(6, "3:bang cancelled age 3; 4:bang cancelled age 2; 5:bang cancelled age 1; 6:bang confirmed age 0; ")
}
