package predict

import (
	"math"
	"testing"

	"tendon/ecs"
	"tendon/systems"
)

// Gambetta's character stands at x = 10, a press moves it one unit to the right, and its animation takes 100 ms for a
// unit. At 40 ticks a second Gambetta's times are whole ticks.
const (
	gambettaRate = 40
	ms           = gambettaRate // t ms are t·ms/1000 ticks
)

// act presses "right" at the given times, in milliseconds from now on. It returns per tick, from 0 on, the position
// of the figure and that of its animation.
func (r *rig) act(presses []int, until int, see func(at int)) (state, shown []float64) {
	at := r.x(0)
	for k := 0; k <= until*ms/1000; k++ {
		for _, p := range presses {
			if p*ms/1000 == k {
				r.press[0].Step = true
			}
		}
		r.Step()
		// The animation of a tick ago has moved towards its state.
		if k > 0 {
			target := state[k-1]
			at += math.Copysign(min(0.25, math.Abs(target-at)), target-at)
		}
		state, shown = append(state, r.x(0)), append(shown, at)
		if see != nil {
			see(k * 1000 / ms)
		}
	}
	return state, shown
}

func gambetta(t *testing.T, rtt int, c Config) *rig {
	c.SnapshotRate = gambettaRate
	half := rtt * ms / 2000
	return newRig(t, newRules(exactBody).game(gambettaRate), 1, half, rtt*ms/1000-half, c, systems.ClientConfig{})
}

// when returns the first time at which the value was reached, in milliseconds.
func when(values []float64, value float64) int {
	for k, v := range values {
		if v >= value-1e-9 {
			return k * 1000 / ms
		}
	}
	return -1
}

// backward counts the ticks in which the figure went to the left.
func backward(values []float64) (n int) {
	for k := 1; k < len(values); k++ {
		if values[k] < values[k-1]-1e-9 {
			n++
		}
	}
	return n
}

// GAM-1: without prediction a press shows a round trip later, in the state received.
func TestGAM1WithoutPredictionThePressShowsARoundTripLater(t *testing.T) {
	r := gambetta(t, 100, Config{})
	at, received := 10.0, []float64{}
	var shown []float64
	r.act([]int{0}, 300, func(now int) {
		s, _ := r.clients[0].Replica()
		received = append(received, xAt(s, figure(r.clients[0].World(), 0)))
		if k := len(received) - 1; k > 0 {
			at += min(0.25, received[k-1]-at)
		}
		shown = append(shown, at)
	})
	if when(received, 11) != 100 || when(shown, 11) != 200 {
		t.Errorf("received at %d ms, shown at %d ms, want 100 and 200", when(received, 11), when(shown, 11))
	}
}

// GAM-1P: with prediction the figure is at its place when the animation ends, and the server confirms it.
func TestGAM1PWithPredictionThePressShowsAtOnce(t *testing.T) {
	r := gambetta(t, 100, Config{})
	state, shown := r.act([]int{0}, 300, func(now int) {
		if got, want := r.presses(0), 1; now < 100 && got != want || now >= 100 && got != 0 {
			t.Errorf("at %d ms %d presses are pending", now, got)
		}
	})
	if state[0] != 11 || when(shown, 11) != 100 || r.clients[0].counts.Corrections != 0 {
		t.Errorf("state %v at once, shown at %d ms, %+v", state[0], when(shown, 11), r.clients[0].counts)
	}
}

// onRequest delivers only the snapshots that answer the presses at these times, in milliseconds from now on, after
// half a round trip. Gambetta's server sends nothing else.
func (r *rig) onRequest(presses []int) {
	start := r.Tick + 1 + r.Down
	r.lose = func(toClient bool, _ int, message []byte) bool {
		for _, p := range presses {
			if r.Tick == start+p*ms/1000+r.Up {
				return false
			}
		}
		return toClient && message[0] == kindSnapshot
	}
	r.Run(r.Down) // messages in flight arrive
}

// GAM-2, the negative control: if the state received becomes the present, the figure jumps back.
func TestGAM2WithoutReconciliationTheFigureStepsBack(t *testing.T) {
	r := gambetta(t, 250, Config{})
	r.clients[0].plant(unreconciled)
	r.onRequest([]int{0, 100})
	state, shown := r.act([]int{0, 100}, 500, nil)
	at := func(values []float64, now int) float64 { return values[now*ms/1000] }
	if at(state, 0) != 11 || at(state, 100) != 12 || at(state, 250) != 11 || at(state, 350) != 12 {
		t.Errorf("states %v", state)
	}
	if at(shown, 100) != 11 || at(shown, 200) != 12 || at(shown, 250) != 12 || at(shown, 350) != 11 {
		t.Errorf("shown %v", shown)
	}
	if n := backward(state); n != 1 {
		t.Errorf("%d backward steps, want the jump", n)
	}
}

// GAM-3 and CP-01: with reconciliation the figure never steps back, and no correction is needed.
func TestGAM3CP01ReconciledTheFigureNeverStepsBack(t *testing.T) {
	r := gambetta(t, 250, Config{})
	r.onRequest([]int{0, 100})
	pending := map[int]int{}
	state, shown := r.act([]int{0, 100}, 500, func(now int) { pending[now] = r.presses(0) })
	for now, want := range map[int]int{0: 1, 75: 1, 100: 2, 225: 2, 250: 1, 325: 1, 350: 0} {
		if pending[now] != want {
			t.Errorf("at %d ms %d presses are pending, want %d", now, pending[now], want)
		}
	}
	if state[0] != 11 || when(state, 12) != 100 || when(shown, 11) != 100 || when(shown, 12) != 200 || state[len(state)-1] != 12 {
		t.Errorf("states %v, shown %v", state, shown)
	}
	if backward(state)+backward(shown) != 0 || r.clients[0].counts.Corrections != 0 {
		t.Errorf("states %v, shown %v, %+v", state, shown, r.clients[0].counts)
	}
}

// CP-02: GAM-3's check fails without reconciliation.
func TestCP02TheCheckOfGAM3FailsWithoutReconciliation(t *testing.T) {
	r := gambetta(t, 250, Config{})
	r.clients[0].plant(unreconciled)
	r.onRequest([]int{0, 100})
	state, _ := r.act([]int{0, 100}, 500, nil)
	if backward(state) == 0 {
		t.Error("a client that does not reconcile passes")
	}
}

// second refuses the second step.
func second(rules *rules, r *rig) {
	steps := 0
	rules.wall = func(_ *ecs.World, _ ecs.Player, in pad) bool {
		if in.Step {
			steps++
		}
		return in.Step && steps == 2
	}
}

// GAM-4 and CP-03: a step into a wall that exists on the server only is consumed, and reverted by one correction.
// CP-11: no input stays pending.
func TestGAM4CP03CP11ARejectedInputIsAckedAndTakenBackOnce(t *testing.T) {
	rules := newRules(exactBody)
	r := newRig(t, rules.game(gambettaRate), 1, 5, 5, Config{SnapshotRate: gambettaRate}, systems.ClientConfig{})
	second(rules, r)
	state, _ := r.act([]int{0, 100}, 500, nil)
	at := func(now int) float64 { return state[now*ms/1000] }
	if at(225) != 12 || at(250) != 12 || at(325) != 12 || at(350) != 11 || at(500) != 11 {
		t.Errorf("states %v", state)
	}
	c := r.clients[0].counts
	if c.Corrections != 1 || c.Substituted != 1 || c.Furthest != 1 || r.presses(0) != 0 {
		t.Errorf("%+v, %d presses pending", c, r.presses(0))
	}
}

// GAM-5: the reply to the first press is lost; the second covers it.
func TestGAM5ALostReplyIsCoveredByTheNext(t *testing.T) {
	r := gambetta(t, 250, Config{})
	r.lose = func(toClient bool, _ int, message []byte) bool {
		k := (r.Tick - 1) % 1000 // lost on the way from 125 to 225 ms: arrive from 250 to 325 ms
		return toClient && message[0] == kindSnapshot && r.from > 0 && k >= r.from+5 && k < r.from+9
	}
	r.from = r.Tick
	seen := map[int]int{}
	state, shown := r.act([]int{0, 100}, 500, func(now int) { seen[now] = r.presses(0) })
	if seen[250] != 2 || seen[325] != 2 || seen[350] != 0 || state[len(state)-1] != 12 || backward(state)+backward(shown) != 0 {
		t.Errorf("pending %v, states %v", seen, state)
	}
}

// GAM-8 and CP-09: a predicted death is never shown if the server has used a medkit in time.
func TestGAM8CP09ADeathThatTheServerDoesNotConfirmIsNeverShown(t *testing.T) {
	for name, medkit := range map[string]bool{"medkit": true, "no medkit": false} {
		t.Run(name, func(t *testing.T) {
			r := gambetta(t, 250, Config{})
			c := r.clients[0]
			e := figure(c.World(), 0)
			if medkit {
				hooks[r.server.World()] = func(w *ecs.World) {
					if w.Tick() == r.server.Done()+1 && hpComp.Has(w, e) {
						hpComp.Write(w, e).Points = 200
					}
				}
				r.Step()
				delete(hooks, r.server.World())
			}
			view, err := ecs.NewView(r.Game)
			if err != nil {
				t.Fatal(err)
			}
			r.press[0].Hurt = true
			shownAt, confirmedAt, lowest := -1, -1, int32(100)
			for k := range 24 {
				r.Step()
				hp, _ := hpComp.Read(c.World(), e)
				lowest = min(lowest, hp.Points)
				c.Present(view, r.Now())
				if d, _ := deadComp.Read(view.Sim, e); d.Yes && shownAt < 0 {
					shownAt = k * 1000 / ms
				}
				if n := r.effectsOf(0, ecs.EffectConfirmed, is(r.Game, died)); n > 0 && confirmedAt < 0 {
					confirmedAt = k * 1000 / ms
				}
			}
			received := r.effectsOf(0, ecs.EffectConfirmed, is(r.Game, died))
			predicted := r.effectsOf(0, ecs.EffectPredicted, is(r.Game, died))
			hp, _ := hpComp.Read(c.World(), e)
			switch {
			case lowest > 0:
				t.Error("no death was predicted: the test proves nothing")
			case predicted > 0:
				t.Error("a death was reported without confirmation")
			case medkit && (received > 0 || shownAt >= 0 || hp.Points != 100):
				t.Errorf("confirmed %d times, shown at %d ms, %d points", received, shownAt, hp.Points)
			case !medkit && (received != 1 || confirmedAt != 250 || shownAt != 250):
				t.Errorf("confirmed %d times, at %d ms, shown at %d ms; want once at 250", received, confirmedAt, shownAt)
			}
		})
	}
}

// drains reports whether all presses of a player are consumed in the end, where the server rejects the last one.
// stuck makes the server that of a published demo, which does not acknowledge what it rejects.
func drains(t *testing.T, stuck bool) bool {
	rules := newRules(exactBody)
	r := newRig(t, rules.game(gambettaRate), 1, 5, 5, Config{SnapshotRate: gambettaRate}, systems.ClientConfig{})
	second(rules, r)
	if stuck {
		before := r.server.Done() + 100
		wall := rules.wall
		rules.wall = func(w *ecs.World, p ecs.Player, in pad) bool {
			rejected := wall(w, p, in)
			if rejected {
				before = w.Tick()
			}
			return rejected
		}
		r.lose = func(toClient bool, _ int, message []byte) bool {
			return toClient && message[0] == kindSnapshot && r.server.Done() > before
		}
	}
	r.act([]int{0, 100}, 900, nil)
	return r.presses(0) == 0
}

// GAM-9, the negative control of CP-11.
func TestGAM9AServerThatDoesNotAckWhatItRejectsIsNoticed(t *testing.T) {
	if !drains(t, false) {
		t.Error("a rejected input stays pending")
	}
	if drains(t, true) {
		t.Error("a server that does not acknowledge what it rejects passes")
	}
}
