package inputs

import "testing"

// The delay follows the need of four of five ticks of a second. A spike does not raise it, and a slower connection does. It
// falls a tick at a time, and after congestion in a second and a half.
func TestTheDelayFollowsWhatMostTicksNeeded(t *testing.T) {
	d := NewDelay(2, 8, 5)
	at := 0
	observe := func(ahead int) {
		at++
		d.Observe(at+ahead, at, 60)
	}
	second := func(ahead, spikes int) {
		for i := range 60 {
			if i < spikes {
				observe(ahead + 40)
			} else {
				observe(ahead)
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
	for i := range 60 * 3 {
		observe(-20)
		if d.ticks < last-6 || d.ticks > last || i > 95 && d.ticks > 10 {
			t.Fatalf("from %d to %d in tick %d after congestion", last, d.ticks, i)
		}
		last = d.ticks
	}
	if d.ticks != 2 {
		t.Errorf("%d in the end", d.ticks)
	}
	second(13, 0)
	for last = d.ticks; d.ticks > 2; last = d.ticks { // a little less is needed
		if observe(8); d.ticks < last-1 {
			t.Fatalf("from %d to %d in a tick", last, d.ticks)
		}
	}
}

// Congestion that returns periodically does not make the delay oscillate: the falls are few, and become fewer.
func TestTheDelayDoesNotFollowEveryEndOfCongestion(t *testing.T) {
	for _, period := range []int{90, 150, 240} {
		d := NewDelay(2, 8, 5)
		at, falls, last := 0, [2]int{}, 0
		for range 4 * 60 * 60 {
			at++
			ahead := 8
			if at%period < period/2 {
				ahead = 40
			}
			d.Observe(at+ahead, at, 60)
			if d.ticks < 15 && last >= 15 {
				falls[at/(2*60*60+1)]++
			}
			last = d.ticks
		}
		if falls[0] > 7 || falls[1] > 2 {
			t.Errorf("a period of %d ticks: %v falls in two minutes and in two more", period, falls)
		}
	}
}

// One fall that was wrong delays the next one only by a second: the delay follows the end of congestion that paused once.
func TestTheDelayFollowsTheEndAfterOneWrongFall(t *testing.T) {
	d, at := NewDelay(2, 8, 5), 0
	pass := func(seconds float64, ahead int) {
		for range int(60 * seconds) {
			at++
			d.Observe(at+ahead, at, 60)
		}
	}
	pass(3, 40)
	pass(1.5, 5)
	if d.Ticks() != 2 {
		t.Fatalf("%d in a pause of congestion", d.Ticks())
	}
	pass(2, 40)
	if d.Ticks() != 33 {
		t.Fatalf("%d in congestion", d.Ticks())
	}
	if pass(1.5, 5); d.Ticks() > 8 {
		t.Errorf("%d after congestion", d.Ticks())
	}
}

// A line that is set back needs less delay at once, and the present tick does not change.
func TestTheDelayFallsWithTheLine(t *testing.T) {
	d := NewDelay(2, 8, 50)
	before := d.Ticks()
	if d.Moved(30); d.Ticks() != before-30 {
		t.Errorf("from %d to %d", before, d.Ticks())
	}
	if d.Moved(30); d.Ticks() != 2 {
		t.Errorf("%d, want the requested delay", d.Ticks())
	}
}

// A connection that delivers final ticks in bursts needs more delay. An outage does not change the delay.
func TestOnlyAnOutageDoesNotCount(t *testing.T) {
	d, at := NewDelay(2, 8, 5), 0
	bursts := func(ticks, every int) {
		for range ticks {
			at++
			d.Observe(at+6, at-at%every, 60)
		}
	}
	bursts(180, 24)
	steady := d.Ticks()
	if steady < 12 {
		t.Errorf("%d with a burst every 0.4 s", steady)
	}
	d.Observe(at+6, at, 60)
	for silent := range 300 {
		if d.Observe(at+6+silent, at, 60); d.Ticks() != steady {
			t.Fatalf("%d after %d ticks of silence, want %d", d.Ticks(), silent, steady)
		}
	}
	at += 300
	bursts(60, 24)
	if d.Ticks() != steady {
		t.Errorf("%d a second after an outage, want %d", d.Ticks(), steady)
	}
	for range 30 { // a shorter one, after which the client follows the server
		d.Observe(at+6, at, 60)
	}
	at += 200
	d.Skip()
	bursts(60, 24)
	if d.Ticks() != steady {
		t.Errorf("%d after the line was set, want %d", d.Ticks(), steady)
	}
	for range 30 { // the line is ahead, until it is set back
		at++
		d.Observe(at+206, at, 60)
	}
	d.Skip()
	bursts(60, 24)
	if d.Ticks() > steady+4 { // seconds now begin at another phase of the bursts
		t.Errorf("%d after the line was set back, want about %d", d.Ticks(), steady)
	}
}
