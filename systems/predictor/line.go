package predictor

import (
	"math"

	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/clock"
	"tendon/systems/internal/inputs"
)

// Line is the local timeline of a client that computes ticks before the server confirms them.
//
// The pacer's position is the tick whose input is sampled now: the present plus the input delay. The lead control moves
// it so that inputs arrive at the server just before they are used. Where the prediction window is too small for the
// connection, the input delay grows: see inputs.Delay. Until the lead has settled, the client sends what the server would
// assume, and the player's inputs are not sampled.
type Line struct {
	Pacer  clock.Pacer
	Lead   clock.Lead
	Delay  inputs.Delay
	Inputs inputs.Own

	core   *Core
	newest ecs.Tick // at the last Steer
	seen   int      // tick of the pacer when Due was last called
	jumped bool     // the pacer was set since an input was last sampled
}

// followJump is the error beyond which a spectator's clock is set instead of paced, in ticks.
const followJump = 10

// Begin starts the line after a state was loaded. extra is the age of the server's messages beyond the round trip, in
// ticks.
func (l *Line) Begin(core *Core, now systems.Time, extra float64) {
	l.core = core
	l.Lead.Forget()
	l.Inputs.Restart(core.world.Tick(), core.world, core.Config.Seat)
	l.Pacer = clock.NewPacer(now, float64(core.Counted.ServerTick)+core.Ahead(), core.Game.TickRate)
	l.seen, l.jumped = int(l.Pacer.Position()), true
	l.Delay = inputs.NewDelay(core.Config.InputDelay, core.Config.MaxPrediction, int(core.Ahead()+extra)-1)
}

// SetInput sets the player's input from now on. A press that was not sampled yet is not lost once the clock has settled.
func (l *Line) SetInput(in ecs.InputBytes) { l.Inputs.Set(in, l.core.Settled(), l.core.Game) }

// Steer applies the lead control to the pacer, and lets the input delay follow. newest is the newest tick that the
// server has confirmed here.
//
// The server may be ahead of the oldest tick that a regular frame samples. Then the client was suspended, or its frames
// are long. Steer sets the line ahead of newest, and drops the measures of before if forget is set.
//
// After a match has waited, the line may be far ahead of newest. Steer sets it back to Furthest. The inputs of later ticks could
// not be sent, so no margin would ever set the line back.
func (l *Line) Steer(newest ecs.Tick, forget bool) {
	if frame := l.Pacer.Regular(); float64(newest)+frame > l.Pacer.Position() {
		l.Pacer.Shift(float64(newest) + l.core.Ahead() + frame - 1 - l.Pacer.Position())
		l.Jumped(forget)
	}
	if most := float64(l.Furthest(newest)); newest != l.newest && l.core.Live() && l.Pacer.Position() > most {
		l.Pacer.Shift(most - l.Pacer.Position())
	}
	l.newest = newest
	pace, jump := l.Lead.Control(l.Pacer.Gained())
	l.Pacer.Shift(jump)
	switch {
	case jump < 0:
		l.Delay.Moved(int(-jump))
	case jump > 0:
		l.Delay.Skip()
	}
	l.Pacer.Dilate(pace)
	l.jumped = l.jumped || jump > 0
	if l.Lead.Settled() {
		l.core.Reach(CatchingUp)
		l.core.RTT = l.Lead.RTT()
	}
	if !l.core.Live() {
		return // while a client catches up, its distance to newest is not the connection's
	}
	until := int(l.Pacer.Position())
	for range min(until-l.seen, l.Pacer.Most()) {
		l.Delay.Observe(until, int(newest), l.core.Game.TickRate)
	}
}

// Furthest returns the last tick whose input may be of use, while newest is the newest tick that the server has confirmed here.
func (l *Line) Furthest(newest ecs.Tick) ecs.Tick {
	return newest + ecs.Tick(l.core.Config.MaxPrediction+inputs.MaxDelay)
}

// Jumped notes that the present was set. forget drops what the lead control has measured.
func (l *Line) Jumped(forget bool) {
	if forget {
		l.Lead.Forget()
	}
	l.jumped = true
	l.Delay.Skip()
}

// HasJumped reports whether the line was set since an input was last sampled.
func (l *Line) HasJumped() bool { return l.jumped }

// Follow paces a spectator, who sends no inputs to measure: the line stays at the newest confirmed tick.
func (l *Line) Follow(newest ecs.Tick) {
	wrong := float64(newest) - l.Pacer.Position()
	if math.Abs(wrong) > followJump {
		l.Pacer.Shift(wrong)
		wrong = 0
	}
	l.Pacer.Dilate(min(max(1+0.1*wrong, 0.9), 1.1))
}

// Sample gives every tick after the last sampled one, up to until, its input. store keeps the input of a tick; it
// reports false where there is no room, which ends the call. Only the last recent ticks are sampled: the others were
// skipped by a jump, or the frame is too late for them. They get the input that the server assumes, and are not measured.
//
// A client that catches up samples far behind the line. Its margins count as those of a client at the line.
func (l *Line) Sample(until ecs.Tick, recent int, now systems.Time, store func(f ecs.Tick, in ecs.InputBytes) bool) {
	game, gained := l.core.Game, l.Pacer.Gained()
	if behind := int(l.Pacer.Position()) - int(until); behind >= l.Pacer.Most() {
		gained -= float64(behind)
	}
	for f := l.Inputs.Sampled() + 1; f <= until; f++ {
		missed := f+ecs.Tick(recent) <= until
		in := l.Inputs.Next(missed || !l.core.Settled(), game)
		if !store(f, in) {
			return
		}
		l.Inputs.Put(f, in, missed || !l.core.Settled())
		if !missed {
			l.Lead.Sent(f, gained, now)
		}
		l.core.Timer.Pending, l.jumped = true, false
	}
}

// Due returns how many ticks became due since the last call.
func (l *Line) Due() int {
	due := max(0, int(l.Pacer.Position())-l.seen)
	l.seen = int(l.Pacer.Position())
	return due
}

// Want returns the tick that is to be the present. A spectator has no input delay.
func (l *Line) Want() int {
	if l.core.Spectates() {
		return int(l.Pacer.Position())
	}
	return int(l.Pacer.Position()) - l.Delay.Ticks()
}

// Alpha returns how far the display stands at now on the way to the present, in [0, 1).
func (l *Line) Alpha(present ecs.Tick, now systems.Time) float64 {
	if !l.core.Spectates() {
		present += ecs.Tick(l.Delay.Ticks())
	}
	return l.Pacer.Alpha(present, now)
}

// AddStats adds what the line knows to the statistics of a half.
func (l *Line) AddStats(s *systems.ClientStats) {
	s.InputDelay, s.Dilation = l.Delay.Ticks(), l.Pacer.Dilation()
}
