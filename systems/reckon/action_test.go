package reckon

import (
	"testing"

	"tendon/systems"
)

// An action of another entity began at its record's stamp. It is shown from its beginning, at 1.5 times its pace until
// it is where it would be, and ends when the truth does.
func TestAnActionCatchesUpWithItsStamp(t *testing.T) {
	var a Track
	if _, _, ok := a.At(0); ok {
		t.Error("an action out of nothing")
	}
	if !a.Begin(7, 2*sec, 300*ms, 10*sec) {
		t.Fatal("not shown")
	}
	for _, v := range []struct{ after, progress systems.Time }{{0, 0}, {200, 300}, {600, 900}, {601, 901}, {1000, 1300}, {1699, 1999}} {
		if action, progress, ok := a.At(10*sec + v.after*ms); !ok || action != 7 || progress != v.progress*ms {
			t.Errorf("after %d ms: %d at %d ms, %v", v.after, action, progress/ms, ok)
		}
	}
	if _, _, ok := a.At(11700 * ms); ok {
		t.Error("an action outlives the truth")
	}
	last := systems.Time(0)
	for now := 10 * sec; now < 11700*ms; now += ms {
		_, progress, _ := a.At(now)
		if progress < last || progress-last > 3*ms/2 || progress > now-10*sec+300*ms {
			t.Fatalf("at %d ms from %d to %d", now/ms, last, progress)
		}
		last = progress
	}
	if a.Stop(); true {
		if _, _, ok := a.At(10 * sec); ok {
			t.Error("not stopped")
		}
	}
}

// An action that is over when it is heard of is dropped, and what was shown goes on; one that comes in time is shown at
// its own pace.
func TestAnActionThatIsOverIsDropped(t *testing.T) {
	var a Track
	a.Begin(1, sec, 0, 0)
	for _, age := range []systems.Time{500 * ms, 501 * ms, 60 * sec} {
		if a.Begin(2, 500*ms, age, 100*ms) {
			t.Errorf("an action of 500 ms that is %d ms old is shown", age/ms)
		}
	}
	if action, progress, ok := a.At(400 * ms); !ok || action != 1 || progress != 400*ms {
		t.Error(action, progress, ok)
	}
	if !a.Begin(3, sec, -200*ms, sec) {
		t.Error("an action of a clock that is ahead was dropped")
	}
	if _, progress, _ := a.At(1100 * ms); progress != 100*ms {
		t.Error(progress)
	}
}
