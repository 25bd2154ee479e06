package interp

import (
	"math"
	"testing"

	"tendon/ecs"
	"tendon/systems"
)

// steady feeds a playback one state every third of 60 ticks, without jitter, and a frame after each tick.
func steady(p *Playback, from, to ecs.Tick, late systems.Time) {
	for f := from; f < to; f++ {
		now := systems.TickTime(0, f, 60) + late
		if f%3 == 0 {
			p.Arrived(f, now)
		}
		p.Advance(now)
	}
}

// Within an interval of where it ought to be, playback runs at the pace of time. Beyond, it is 2 % faster or 4 % slower
// until nothing is wrong, and further off than the delay it jumps.
func TestPlaybackCorrectsByPaceAndJumpsWhenFarOff(t *testing.T) {
	for _, v := range []struct {
		drift float64 // ticks
		pace  float64
		jumps uint64
	}{{0, 1, 0}, {2.9, 1, 0}, {-2.9, 1, 0}, {3.1, 1.02, 0}, {-3.1, 0.96, 0}, {5.9, 1.02, 0}, {-5.9, 0.96, 0}, {6.1, 1, 1}, {-6.1, 1, 1}, {-9000, 1, 1}} {
		p := NewPlayback(PlaybackConfig{TickRate: 60, Interval: 3})
		steady(p, 3, 303, 0)
		p.position -= v.drift
		p.steer()
		if p.pace != v.pace || p.jumps != v.jumps {
			t.Errorf("drift %v: pace %v, %d jumps", v.drift, p.pace, p.jumps)
			continue
		}
		if v.jumps > 0 && math.Abs(p.drift()) > 1e-9 {
			t.Errorf("drift %v: %v after the jump", v.drift, p.drift())
		}
		steady(p, 303, 903, 0)
		if v.pace != 1 && math.Abs(p.drift()) > 0.05 || p.pace != 1 {
			t.Errorf("drift %v: %v ten seconds later, pace %v", v.drift, p.drift(), p.pace)
		}
	}
}

// The first state may come late by chance. Its weight is that of one of several, not of a whole second.
func TestTheFirstArrivalIsSoonOutvoted(t *testing.T) {
	p := NewPlayback(PlaybackConfig{TickRate: 60, Interval: 3})
	p.Arrived(3, systems.TickTime(0, 5, 60)) // two ticks late
	steady(p, 6, 6+3*9+1, 0)
	if behind := 6 + 3*9 - p.Tick(); math.Abs(behind-p.drift()-p.Delay()) > 2.0/10+1e-6 {
		t.Errorf("%v ticks behind the server, delay %v, drift %v", behind, p.Delay(), p.drift())
	}
}

// A state that arrives after all received states were played raises the delay at once, to the value that would have bridged
// the gap. The delay falls by no more than a tenth of the surplus in a second.
func TestALateStateGrowsTheDelayAtOnce(t *testing.T) {
	p := NewPlayback(PlaybackConfig{TickRate: 60, Interval: 3})
	p.jitter = 1e-9
	steady(p, 3, 303, 0)
	if math.Abs(p.Delay()-6) > 1e-6 {
		t.Fatal(p.Delay())
	}
	p.Arrived(309, systems.TickTime(0, 312, 60)) // 306 was lost, 309 is three ticks late; the newest here is 300
	if p.late != 1 || math.Abs(p.Delay()-12) > 1e-6 || p.pace != 0.96 {
		t.Fatalf("delay %v, pace %v, %d jumps", p.Delay(), p.pace, p.jumps)
	}
	before := p.Delay()
	steady(p, 313, 313+60, 0)
	if lost := before - p.Delay(); lost <= 0.5 || lost > (before-6)*0.1 {
		t.Errorf("the delay shrank by %v of %v in a second", lost, before-6)
	}
	steady(p, 373, 373+60*60, 0)
	if math.Abs(p.Delay()-6) > 0.05 || math.Abs(p.drift()) > 3 {
		t.Errorf("delay %v, drift %v a minute later", p.Delay(), p.drift())
	}
}

// Silence for longer than the largest delay is an outage: no delay could have bridged it, and none is kept for it.
func TestAnOutageIsNoReasonForMoreDelay(t *testing.T) {
	p := NewPlayback(PlaybackConfig{TickRate: 60, Interval: 3})
	steady(p, 3, 303, 0)
	steady(p, 603, 633, 0)
	if p.Delay() > 6.01 || p.jumps > 0 || math.Abs(p.drift()) > 0.01 {
		t.Errorf("delay %v, drift %v, %d jumps", p.Delay(), p.drift(), p.jumps)
	}
}

// Doubles and states that were overtaken say nothing of the connection.
func TestDoublesAndOvertakenStatesChangeNothing(t *testing.T) {
	a, b := NewPlayback(PlaybackConfig{TickRate: 60, Interval: 3}), NewPlayback(PlaybackConfig{TickRate: 60, Interval: 3})
	steady(a, 3, 303, 0)
	steady(b, 3, 303, 0)
	now := systems.TickTime(0, 302, 60)
	for _, f := range []ecs.Tick{300, 297, 3, 0} {
		a.Arrived(f, now)
	}
	if *a != *b {
		t.Errorf("%+v\n%+v", *a, *b)
	}
}

// After a suspension a whole queue arrives at once, and its stamps are old. Playback goes on where the server is now.
func TestAQueueAfterASuspensionDoesNotThrowPlaybackOff(t *testing.T) {
	for _, kept := range []ecs.Tick{1500, 60} { // the queue holds all states or, where it was full, only the oldest
		p := NewPlayback(PlaybackConfig{TickRate: 60, Interval: 3})
		steady(p, 3, 303, 0)
		resumed := systems.TickTime(0, 1803, 60)
		for f := ecs.Tick(303); f < 303+kept; f += 3 {
			p.Arrived(f, resumed)
		}
		steady(p, 1803, 1803+30, 0)
		if math.Abs(p.drift()) > 3 || p.jumps > 0 || p.Delay() > 20 {
			t.Errorf("queue of %d ticks: drift %v, delay %v, %d jumps", kept, p.drift(), p.Delay(), p.jumps)
		}
		if behind := 1832 - p.Tick(); behind < 3 || behind > 12 {
			t.Errorf("queue of %d ticks: %v ticks behind the server", kept, behind)
		}
	}
}

// A latency that changes by more than the largest delay, or a local clock that was set, is accepted after a second. A clock
// that is set back does not move playback back.
func TestAClockThatWasSetIsFollowedAfterASecond(t *testing.T) {
	for _, set := range []systems.Time{-20 * systems.Second, 20 * systems.Second, systems.Second} {
		p := NewPlayback(PlaybackConfig{TickRate: 60, Interval: 3})
		steady(p, 303, 603, 0)
		at := p.Tick()
		if p.Advance(systems.TickTime(0, 603, 60)+set) < at {
			t.Errorf("clock set by %d s: played back", set/systems.Second)
		}
		steady(p, 603, 603+120, set)
		if behind := 722 - p.Tick(); math.Abs(behind-p.Delay()) > 3.5 || p.jumps == 0 && set > 0 {
			t.Errorf("clock set by %d s: %v ticks behind, delay %v, %d jumps", set/systems.Second, behind, p.Delay(), p.jumps)
		}
	}
}

func TestForgetStartsAnew(t *testing.T) {
	p := NewPlayback(PlaybackConfig{TickRate: 60, Interval: 3})
	if p.Advance(systems.Second) != 0 || p.Started() {
		t.Error("started before the first arrival")
	}
	steady(p, 3, 303, 0)
	p.Forget()
	if p.Arrived(90000, systems.Second); p.Tick() != 90000-6 || p.newest != 90000 || p.jumps != 0 {
		t.Errorf("%+v", *p)
	}
}
