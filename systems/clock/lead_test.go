package clock

import (
	"math"
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/systems"
)

const tick = systems.Second / 60

// path is a server at 60 ticks per second with the network to it. Margins are received later.
type path struct {
	up, down systems.Time
	jitter   func() systems.Time
	waiting  []measured
	late     int     // inputs that came after their tick
	sampled  float64 // last tick that has an input: there is one input a tick, wherever the clock is moved
}

// measured is a margin on its way to the client.
type measured struct {
	at     systems.Time
	tick   ecs.Tick
	margin float64
}

// run plays a pacer under a lead's control from one time to another and reports each frame.
func (p *path) run(pacer *Pacer, lead *Lead, from, to systems.Time, frame func(now systems.Time, pace, jump float64)) {
	for now := from; now < to; now += tick {
		for i := 0; i < len(p.waiting); i++ {
			if n := p.waiting[i]; n.at <= now {
				lead.Measured(n.tick, n.margin, now)
				p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
				i--
			}
		}
		pacer.Advance(now)
		pace, jump := lead.Control(pacer.Gained())
		pacer.Shift(jump)
		pacer.Dilate(pace)
		for f := p.sampled + 1; f <= math.Floor(pacer.Position()); f++ {
			p.sampled = f
			if jump > 0 && f+1 <= math.Floor(pacer.Position()) {
				continue // a tick that was jumped over
			}
			lead.Sent(ecs.Tick(f), pacer.Gained(), now)
			arrives := now + p.up + p.jitter()
			margin := f - float64(arrives)/float64(tick)
			if margin < 0 {
				p.late++
			}
			p.waiting = append(p.waiting, measured{arrives + tick + p.down, ecs.Tick(f), margin})
		}
		frame(now, pace, jump)
	}
}

func none() systems.Time { return 0 }

// CS-07: the round trip goes from 50 to 200 ms at t = 10 s. Late inputs stop within 2 s. The margin is back within
// [target − 1, target + 2] after 4 s. The pace is in [0.9, 1.1], and there is at most one jump.
func TestCS07TheMarginComesBackAfterAStepOfTheRoundTrip(t *testing.T) {
	for _, ms := range []systems.Time{0, 2, 5} {
		r := rand.New(rand.NewPCG(1, uint64(ms)))
		p := &path{up: systems.Second / 40, down: systems.Second / 40, jitter: none}
		if ms > 0 {
			p.jitter = func() systems.Time { return systems.Time(r.ExpFloat64() * float64(ms) * 1e6) }
		}
		pacer, lead, jumps := NewPacer(0, 5, 60), Lead{}, 0
		watch := func(_ systems.Time, pace, jump float64) {
			if pace < 0.9 || pace > 1.1 {
				t.Fatalf("pace %v", pace)
			}
			if jump != 0 {
				jumps++
			}
		}
		p.run(&pacer, &lead, 0, 10*systems.Second, watch)
		if jumps > 0 {
			t.Errorf("jitter %d ms: %d jumps before the step", ms, jumps)
		}
		p.up, p.down = systems.Second/10, systems.Second/10
		p.run(&pacer, &lead, 10*systems.Second, 12*systems.Second, watch)
		late := p.late
		p.run(&pacer, &lead, 12*systems.Second, 14*systems.Second, watch)
		if n := p.late - late; n > 0 && ms == 0 || n > 4 {
			t.Errorf("jitter %d ms: %d late inputs two seconds after", ms, n)
		}
		if m, target := lead.Margin(pacer.Gained()), lead.Target(); m < target-1 || m > target+2 || jumps > 1 {
			t.Errorf("jitter %d ms: margin %v, target %v, %d jumps", ms, m, target, jumps)
		}
	}
}

// An error of more than ten ticks is corrected by one jump, however long its effect takes to be measured.
func TestALargeErrorIsCorrectedByOneJump(t *testing.T) {
	for _, start := range []float64{0, 60, 160} {
		p := &path{up: systems.Second / 4, down: systems.Second / 4, jitter: none}
		pacer, lead, jumps := NewPacer(0, start, 60), Lead{}, 0
		p.run(&pacer, &lead, 0, 6*systems.Second, func(_ systems.Time, _, jump float64) {
			if jump != 0 {
				jumps++
			}
		})
		if m := lead.Margin(pacer.Gained()); jumps != 1 || m < 0 || m > 3 {
			t.Errorf("start %v: margin %v after %d jumps", start, m, jumps)
		}
	}
}

// The target is 1 tick without jitter, and the shortfall that one input in a hundred exceeds with it.
func TestTheTargetFollowsTheJitter(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, v := range []struct{ ms, least, most float64 }{{0, 1, 1}, {5, 1, 2.5}, {20, 3, 8}, {60, 9, 25}} {
		var lead Lead
		for f := range ecs.Tick(2000) {
			lead.Sent(f, 0, 0)
			lead.Measured(f, 10-r.ExpFloat64()*v.ms*60/1000, systems.Second)
		}
		if got := lead.Target(); got < v.least || got > v.most {
			t.Errorf("jitter %v ms: target %v", v.ms, got)
		}
	}
}

// A margin that was in flight while the clock was moved is not corrected again.
func TestAMarginOnItsWayIsNotCorrectedTwice(t *testing.T) {
	var lead Lead
	pacer := NewPacer(0, 0, 60)
	for f := range ecs.Tick(20) {
		lead.Sent(f, pacer.Gained(), 0)
	}
	for f := range ecs.Tick(10) {
		lead.Measured(f, -20, 0)
	}
	_, jump := lead.Control(pacer.Gained())
	if jump != 21 {
		t.Fatal(jump)
	}
	pacer.Shift(jump)
	for f := ecs.Tick(10); f < 20; f++ {
		lead.Measured(f, -20, 0) // sent before the jump
	}
	if pace, again := lead.Control(pacer.Gained()); again != 0 || pace != 1 {
		t.Errorf("corrected again: pace %v, jump %v", pace, again)
	}
}

// A margin counts once, also if it arrives twice, and only for an input that was sent.
func TestAMarginCountsOnce(t *testing.T) {
	var lead Lead
	lead.Sent(7, 0, systems.Second)
	lead.Measured(8, -99, systems.Second)
	lead.Measured(7+leadWindow, -99, systems.Second)
	if lead.count != 0 {
		t.Fatal("an input that was never sent was measured")
	}
	lead.Measured(7, 1, 3*systems.Second)
	lead.Measured(7, -99, 9*systems.Second)
	if lead.count != 1 || lead.Margin(0) != 1 || lead.RTT() != 2*systems.Second {
		t.Errorf("%d samples, margin %v, rtt %v", lead.count, lead.Margin(0), lead.RTT())
	}
	if lead.Settled() {
		t.Error("settled after one sample")
	}
	lead.Sent(8, 0, systems.Second)
	lead.Forget()
	if lead.Measured(8, 1, 2*systems.Second); lead.count != 0 || lead.Margin(0) != 0 || lead.RTT() != 0 {
		t.Error("the lead is not reset")
	}
}

// A clock that is set back before a margin arrives must not make the round trip negative. Otherwise all inputs of the
// client would be late, and nothing would be measured again.
func TestAClockThatIsSetBackMakesNoTripNegative(t *testing.T) {
	var l Lead
	for f := range ecs.Tick(20) {
		l.Sent(f, 0, 10*systems.Second)
		l.Measured(f, 1, 8*systems.Second)
	}
	if l.RTT() < 0 || !l.Settled() {
		t.Fatalf("round trip %d ns", l.RTT())
	}
}

// The jitter is kept up to date as samples come and go: it is the second largest of the last 128 shortfalls.
func TestTheJitterIsThatOfTheLastSamples(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var l Lead
	risen, fallen := 0, 0
	for f := range ecs.Tick(20000) {
		l.Sent(f, 0, 0)
		before := l.jitter
		l.Measured(f, math.Round(random.NormFloat64()*float64(f/1000%3)*2), 1)
		if f%5000 == 4999 {
			l.Control(100) // jumps
		}
		if want := secondLargest(l.samples[:min(l.count, jitterWindow)]); max(l.jitter, 1) != want {
			t.Fatalf("sample %d: jitter %v, want %v", f, l.jitter, want)
		}
		if l.jitter > before {
			risen++
		} else if l.jitter < before {
			fallen++
		}
	}
	if risen < 100 || fallen < 100 {
		t.Errorf("the jitter rose %d times and fell %d times", risen, fallen)
	}
}
