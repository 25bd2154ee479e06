package predict

import (
	"math"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/race"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/interp"
)

// GH-02: over P5, with 20 states a second, the View of the strategy as it is shipped freezes at most 0.3 times a minute. The
// remote figure moves evenly: no step is backward, and each is within 6 % of its speed. The delay has adapted to at least
// three intervals.
func TestGH02TheShippedViewIsSmoothOverABadNetwork(t *testing.T) {
	const speed, interval = 6.0, 3 // units per second, ticks
	minutes := 3
	if race.Long {
		minutes = 10
	}
	freezes, dry := 0, false
	for seed := range uint64(2) {
		m := newMatch(t, slow(newRules(exactBody)).game(60), seed+1, Config{})
		m.join(profile(t, "P1"), simnet.Clock{}, systems.ClientConfig{}, 60, func(*player, int) pad { return pad{DX: 1} })
		watcher := m.join(profile(t, "P5"), simnet.Clock{Offset: 3 * time.Second, DriftPPM: 50}, systems.ClientConfig{Seat: 1}, 60, idle)
		if in := watcher.interval(); in != interval {
			t.Fatalf("the strategy sends a state every %v ticks", in)
		}
		var last interp.Vec
		frames, worst, least, delay := 0, 0.0, math.Inf(1), 0.0
		watcher.onFrame = func(p *player) {
			at, ok := shownAt(p.view, figure(p.view.Sim, 0))
			if !ok || m.Net.Now() < 10*time.Second {
				return
			}
			if frames++; frames > 1 {
				step := (at.X - last.X) / (speed / 60)
				worst, least = max(worst, math.Abs(step-1)), min(least, step)
			}
			playing := p.show.playback
			late := playing.Tick() > float64(p.show.newest)
			if late && !dry {
				freezes++
			}
			last, dry, delay = at, late, delay+playing.Delay()
		}
		m.Net.RunUntil(time.Duration(minutes)*time.Minute + 10*time.Second)
		if delay /= float64(frames); worst > 0.06 || least <= 0 || delay < 3*interval || frames < minutes*3500 {
			t.Errorf("seed %d: a step %.3f off its speed, the least is %.3f, mean delay %.1f ticks, %d frames", seed, worst, least, delay, frames)
		}
	}
	if rate := float64(freezes) / float64(2*minutes); rate > 0.3 {
		t.Errorf("%.2f freezes a minute", rate)
	}
}

// GH-06: the server has the figure elsewhere than its client predicted, and sends a state. With Stepping, the View keeps a
// difference of 0.05, blends one of 0.5 by a tenth per update, and snaps one of 2.5. The server's state is taken over in all
// cases.
func TestGH06TheViewKeepsBlendsOrSnaps(t *testing.T) {
	for _, v := range []struct{ diff, first, later float64 }{{0.05, 0.05, 0.05}, {0.5, 0.45, 0.0927}, {2.5, 0, 0}} {
		r := newRig(t, slow(newRules(exactBody)).game(60), 1, 4, 4, Config{Smoothing: interp.Stepping}, systems.ClientConfig{})
		view, err := ecs.NewView(r.Game)
		if err != nil {
			t.Fatal(err)
		}
		c, me := r.clients[0], figure(r.server.World(), 0)
		left := func() float64 { // of the difference, in the View
			c.Present(view, r.Now())
			at, ok := shownAt(view, figure(c.World(), 0))
			if !ok {
				t.Fatal("the View does not have the figure")
			}
			return r.x(0) - at.X
		}
		r.Step()
		before := r.x(0)
		if left() != 0 {
			t.Fatal("the View is off before")
		}
		exactBody.Write(r.server.World(), me).Pos.X += fixed.FromFloat(v.diff)
		for frames := 0; r.x(0) == before; frames++ {
			if left(); frames > 60 {
				t.Fatalf("%v: the server's state did not arrive", v.diff)
			}
			r.Step()
		}
		first := left()
		for range 120 {
			r.Step()
			left()
		}
		if later := left(); math.Abs(first-v.first) > 1e-3 || math.Abs(later-v.later) > 1e-3 || math.Abs(r.x(0)-before-v.diff) > 1e-6 {
			t.Errorf("a difference of %v: %.4f is left after an update and %.4f in the end, want %v and %v; the figure moved by %v",
				v.diff, first, later, v.first, v.later, r.x(0)-before)
		}
	}
}
