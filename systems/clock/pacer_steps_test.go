package clock

import (
	"math"
	"testing"

	"tendon/ecs"
	"tendon/systems"
)

// mover is a game on a pacer: x grows by a step in every tick. Frame times are rounded to nanoseconds.
type mover struct {
	pacer   Pacer
	done    ecs.Tick
	prev, x float64
	step    float64
}

func newMover(rate int, step float64) *mover { return &mover{pacer: NewPacer(0, 0, rate), step: step} }

func (m *mover) frame(now systems.Time) (steps int) {
	m.pacer.Advance(now)
	steps = m.pacer.Steps(m.done)
	for range steps {
		m.done++
		m.prev, m.x = m.x, m.x+m.step
	}
	return steps
}

func (m *mover) shown(now systems.Time) float64 {
	alpha := m.pacer.Alpha(m.done, now)
	return m.prev*(1-alpha) + m.x*alpha
}

// FT-01, PAPER-TIME: a rule that adds 5 per frame moves 300 and 600 units per second on displays of 60 and 120 frames. With
// a time step of 0.01 s it moves 500 on both. After the same number of steps both have the same state to the last bit.
func TestFT01BothDisplaysTravelTheSameInASecond(t *testing.T) {
	const perUpdate = 5.0
	var states [2]map[ecs.Tick]float64
	for i, fps := range []int{60, 120} {
		naive, m := 0.0, newMover(100, perUpdate)
		states[i] = map[ecs.Tick]float64{}
		for f := 1; f <= fps; f++ {
			naive += perUpdate
			m.frame(systems.Time(f) * systems.Second / systems.Time(fps))
			states[i][m.done] = m.x
		}
		if naive != perUpdate*float64(fps) {
			t.Fatalf("the control moved %v at %d frames a second", naive, fps)
		}
		if math.Abs(m.x-500) > perUpdate || math.Abs(m.x-perUpdate*float64(m.done)) != 0 {
			t.Errorf("%v units in %d ticks at %d frames a second, want 500", m.x, m.done, fps)
		}
	}
	same := 0
	for tick, x := range states[0] {
		if y, ok := states[1][tick]; ok {
			if same++; math.Float64bits(x) != math.Float64bits(y) {
				t.Errorf("tick %d: %v and %v", tick, x, y)
			}
		}
	}
	if same < 50 {
		t.Errorf("only %d ticks were seen on both", same)
	}
}

// FT-03: after a pause of two seconds a frame computes at most MaxSteps, and one tick of the rest stays due. The dropped
// ticks are counted.
func TestFT03AHitchIsMadeUpForByMaxStepsAtMost(t *testing.T) {
	m := newMover(60, 1)
	now := systems.Second
	for f := systems.Time(1); f <= 60; f++ {
		m.frame(f * systems.Second / 60)
	}
	now += 2 * systems.Second
	if n := m.frame(now); n != MaxSteps {
		t.Fatalf("%d steps", n)
	}
	if a := m.pacer.Alpha(m.done, now); a >= 1 || a < 0.99 {
		t.Errorf("alpha %v while a tick is owed", a)
	}
	// maxFrame is 15 ticks, and up to one was owed before.
	if d := -m.pacer.Gained(); d < 15-MaxSteps-1 || d > 16-MaxSteps-1 {
		t.Errorf("%v ticks were given up", d)
	}
	total := 0
	for f := systems.Time(1); f <= 6; f++ {
		total += m.frame(now + f*systems.Second/60)
	}
	if total < 6 || total > 8 {
		t.Errorf("%d steps in the six frames after", total)
	}
}

// FT-03: where a step takes longer than its tick, the game runs in slow motion. The ticks that are due, and the steps of a
// frame, stay within maxFrame; without the cap they would grow with every frame.
func TestFT03StepsThatCostMoreThanTheirTimeDoNotSpiral(t *testing.T) {
	const rate = 60
	cost := systems.Second / rate * 3 / 2
	m, now, most := newMover(rate, 1), systems.Second/rate, 0
	for range 2000 {
		n := m.frame(now)
		if most = max(most, n); most > 10*rate {
			t.Fatalf("%d steps in a frame", most)
		}
		if owed := m.pacer.Position() - float64(m.done); owed > 1+1e-9 {
			t.Fatalf("%v ticks are owed after a frame of %d", owed, n)
		}
		now += max(systems.Time(n)*cost, systems.Second/rate)
	}
	pace := float64(m.done) / (float64(now) / float64(systems.Second) * rate)
	if full := int(maxFrame * rate / systems.Second); most > full+1 || pace < 0.6 || pace > 0.7 {
		t.Errorf("at most %d steps a frame, %v of the nominal pace; want %d and 2/3", most, pace, full+1)
	}
	if m.pacer.Gained() == 0 {
		t.Error("nothing was given up: the test shows nothing")
	}
}

// A display with frames of more than MaxSteps ticks keeps the pace: only time beyond maxFrame is dropped. A single long
// frame between short ones is a hitch.
func TestADisplayThatDrawsSlowlyKeepsThePace(t *testing.T) {
	for _, fps := range []int{4, 5, 6, 7, 10} {
		m := newMover(60, 1)
		for f := 1; f <= 10*fps; f++ {
			m.frame(systems.Time(f) * systems.Second / systems.Time(fps))
		}
		if lost := 600 - int(m.done); lost > 10 {
			t.Errorf("%d frames a second: %d ticks were given up in ten seconds", fps, lost)
		}
	}
	m, now, slow := newMover(60, 1), systems.Time(0), systems.Second/5
	for i, frame := range []systems.Time{slow, slow, systems.Second / 60, slow} {
		now += frame
		if n := m.frame(now); i == 3 && n != MaxSteps {
			t.Errorf("%d steps after a hitch, want %d", n, MaxSteps)
		}
	}
}

// FT-04, PAPER-ALPHA: alpha 0 shows the state before, alpha → 1 approaches the current one. A quarter of a step of 0.01 s
// between 10 and 11 shows 10.25.
func TestFT04AlphaLeadsFromThePreviousStateToTheCurrent(t *testing.T) {
	m := newMover(100, 1)
	now := systems.Time(0)
	for m.done < 11 {
		now += systems.Second / 200
		m.frame(now)
	}
	if m.prev != 10 || m.x != 11 {
		t.Fatal(m.prev, m.x)
	}
	due := systems.TickTime(0, 11, 100)
	for _, v := range []struct {
		after systems.Time
		shown float64
	}{{0, 10}, {2500 * 1000, 10.25}, {5000 * 1000, 10.5}, {9999 * 1000, 10.9999}} {
		if got := m.shown(due + v.after); math.Abs(got-v.shown) > 1e-9 {
			t.Errorf("%v ms after: shown %v, want %v", float64(v.after)/1e6, got, v.shown)
		}
	}
	if alpha := m.pacer.Alpha(m.done, due+5*systems.Second/100); alpha >= 1 {
		t.Errorf("alpha %v while ticks are owed", alpha)
	}
}

// No tick is due while the last computed one is ahead of the position, as after a shift back.
func TestNothingIsOwedBehindTheLastTick(t *testing.T) {
	p := NewPacer(0, 10, 60)
	if n, a := p.Steps(12), p.Alpha(12, 0); n != 0 || a != 0 {
		t.Fatal(n, a)
	}
	p.Shift(2.5)
	if n, a := p.Steps(12), p.Alpha(12, 0); n != 0 || a != 0.5 {
		t.Fatal(n, a)
	}
}
