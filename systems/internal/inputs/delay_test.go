package inputs

import "testing"

// The delay follows the need of four of five ticks of a second. A spike does not raise it, and a slower connection does. It
// falls a tick at a time.
func TestTheDelayFollowsWhatMostTicksNeeded(t *testing.T) {
	d := NewDelay(2, 8, 5)
	second := func(ahead, spikes int) {
		for i := range 60 {
			if i < spikes {
				d.Observe(ahead+40, 60)
			} else {
				d.Observe(ahead, 60)
			}
		}
	}
	second(10, 0)
	if d.ticks != 2 {
		t.Errorf("%d: what was asked for just suffices", d.ticks)
	}
	second(8, 11)
	if d.ticks != 2 {
		t.Errorf("%d after a spike", d.ticks)
	}
	second(16, 0)
	if d.ticks != 9 {
		t.Errorf("%d where 8 are missing", d.ticks)
	}
	second(500, 0)
	if d.ticks != MaxDelay {
		t.Errorf("%d: beyond the bound", d.ticks)
	}
	last := d.ticks
	for range 60 * 40 {
		d.Observe(-20, 60)
		if d.ticks < last-1 {
			t.Fatalf("from %d to %d in a tick", last, d.ticks)
		}
		last = d.ticks
	}
	if d.ticks != 2 {
		t.Errorf("%d in the end", d.ticks)
	}
}
