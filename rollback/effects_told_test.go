package rollback

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

// What a client predicts and a server tells meet in one ledger: told once, whichever came first, and taken back where
// the server never says it.
func TestWhatTheServerTellsSettlesWhatWasPredicted(t *testing.T) {
	e := NewEffects(8)
	want := func(text string) {
		t.Helper()
		if got := drained(e, 9); got != text {
			t.Fatalf("%q, want %q", got, text)
		}
	}
	list := func(events ...image.EmittedEvent) []image.EmittedEvent { return events }
	death := event(6, 0, "death", true)
	death.Key.Type = 1
	e.Begin(4)
	e.Predicted(4, list(event(4, 0, "old", false))) // settled by the state that was loaded
	e.Predicted(5, list(event(5, 0, "wrong", false)))
	e.Predicted(6, list(event(6, 0, "bang", false), death))
	want("5:wrong predicted first age 4; 6:bang predicted first age 3; ")
	// A word on tick 6 says that tick 5 had nothing; what was not predicted is the first news of its event.
	e.Settle(6, list(event(6, 0, "BANG", false), event(6, 1, "far", false), death))
	want("5:wrong cancelled age 4; 6:BANG confirmed age 3; 6:far confirmed first age 3; 6:death confirmed first age 3; ")
	// Said is said: neither the same word again nor simulating it again is news.
	e.Settle(6, nil)
	e.Predicted(6, list(event(6, 0, "bang", false), event(6, 2, "more", false)))
	want("")
	e.Predicted(8, list(event(8, 0, "ghost", false)))
	e.Settle(9, nil)
	want("8:ghost predicted first age 1; 8:ghost cancelled age 1; ")
	// A word of ticks far ahead forgets no more than the ledger holds, and costs no more.
	e.Predicted(10, list(event(10, 0, "lost", false)))
	e.Settle(1<<40, nil)
	want("10:lost predicted first age 0; 10:lost cancelled age 0; ")
}

// A word that is late by more than the ledger holds settles what is held of newer ticks, each once: neither is one told
// anew, nor is one left as predicted for ever.
func TestALateWordLeavesNewerTicksAlone(t *testing.T) {
	e := NewEffects(4)
	for f := ecs.Tick(1); f <= 6; f++ {
		e.Predicted(f, []image.EmittedEvent{event(f, 0, "bang", false)})
	}
	drained(e, 6)
	e.Settle(2, nil)
	if got := drained(e, 6); got != "" {
		t.Errorf("a word of a tick that is not held any more: %q", got)
	}
	e.Settle(6, []image.EmittedEvent{event(6, 0, "bang", false)})
	const want = "3:bang cancelled age 3; 4:bang cancelled age 2; 5:bang cancelled age 1; 6:bang confirmed age 0; "
	if got := drained(e, 6); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
