package clock

import (
	"math"

	"tendon/ecs"
	"tendon/systems"
)

// Pacer converts the time of frames into ticks. Its position is the local time in ticks. It moves with the frames' time at
// the pace dilation, and by Shift. The difference between the position and the last computed tick is the accumulator: its
// whole ticks are due, and its fraction is the interpolation factor of the display.
//
// A late frame advances by its whole time, but by maxFrame at most. A longer time is a pause, which Lead corrects.
type Pacer struct {
	rate     float64 // ticks per nanosecond
	position float64 // ticks
	nominal  float64 // position at pace 1 without shifts
	last     systems.Time
	dilation float64
	frames   [2]float64 // lengths of the last two frames at pace 1, in ticks
}

// maxFrame is the most time that one frame advances by: 250 ms (Glenn Fiedler, "Fix Your Timestep!", 2004).
const maxFrame = systems.Second / 4

// MaxSteps is the most new ticks that one frame computes, unless frames are longer than that: see Pacer.Most.
const MaxSteps = 8

// NewPacer returns a pacer with this position, in ticks, at time now.
func NewPacer(now systems.Time, position float64, ticksPerSecond int) Pacer {
	return Pacer{rate: float64(ticksPerSecond) / float64(systems.Second), position: position, nominal: position, last: now, dilation: 1}
}

// Advance moves the position to now. A clock that was set back does not move it.
func (p *Pacer) Advance(now systems.Time) {
	elapsed := p.elapsed(now)
	p.last = now
	p.position += elapsed * p.dilation
	p.nominal += elapsed
	p.frames = [2]float64{p.frames[1], elapsed}
}

// elapsed returns the ticks from the last frame to now at pace 1.
func (p *Pacer) elapsed(now systems.Time) float64 {
	return float64(min(max(now-p.last, 0), maxFrame)) * p.rate
}

// Position returns the local time in ticks.
func (p *Pacer) Position() float64 { return p.position }

// At returns the position at now, in ticks. now must not be before the last frame.
func (p *Pacer) At(now systems.Time) float64 { return p.position + p.elapsed(now)*p.dilation }

// Gained returns the number of ticks by which dilation and shifts have moved the position since NewPacer.
func (p *Pacer) Gained() float64 { return p.position - p.nominal }

// Dilate sets the pace: 1 is nominal.
func (p *Pacer) Dilate(pace float64) { p.dilation = pace }

// Dilation returns the pace.
func (p *Pacer) Dilation() float64 { return p.dilation }

// Shift moves the position by a number of ticks.
func (p *Pacer) Shift(ticks float64) { p.position += ticks }

// Most returns the number of new ticks that the frame may compute. It is MaxSteps. On a display with longer frames, it is the
// ticks of a frame plus half of MaxSteps for catching up.
//
// On a display with five frames per second, MaxSteps alone would drop a third of all ticks, and a client that executes every
// tick cannot skip them. The 250 ms still bound the ticks of a frame, so that slow ticks do not accumulate.
func (p *Pacer) Most() int { return max(MaxSteps, int(math.Ceil(p.Regular()))+MaxSteps/2) }

// Regular returns the length of a frame that is no hitch, in ticks, at least 1. The oldest input of a frame is sent that
// much later. One long frame is a hitch; two in a row are taken as the rate of the display.
func (p *Pacer) Regular() float64 { return max(1, min(p.frames[0], p.frames[1])) }

// Steps returns the number of ticks to compute in a frame after tick done: those that are due, at most Most. Of the ticks
// beyond that, all but one are dropped by moving the position back. So a slow machine shows slow motion and does not fall
// behind further. For Lead that is a shift.
//
// A strategy that may have to wait counts due ticks itself.
func (p *Pacer) Steps(done ecs.Tick) int {
	due, most := p.position-float64(done), p.Most()
	if due < float64(most+1) {
		return max(int(due), 0)
	}
	p.position -= due - float64(most) - 1
	return most
}

// Alpha returns the interpolation factor of the display at now, in [0, 1): from the state before the last computed tick to
// that tick's state. The display is one tick behind the position. Alpha stays below 1 while a tick is due.
func (p *Pacer) Alpha(done ecs.Tick, now systems.Time) float64 {
	return min(max(p.At(now)-float64(done), 0), math.Nextafter(1, 0))
}
