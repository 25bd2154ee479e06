package clock

import "tendon/systems"

// Pacer turns the time of frames into ticks. Position is where the local time line stands, in ticks; it moves with
// the frames' time at the pace dilation, and by Shift.
//
// A frame that comes late is made up for, but never by more than MaxFrame of time: what is beyond was a pause, not a
// delay, and is left to the lead control.
type Pacer struct {
	rate     float64 // ticks per nanosecond
	position float64 // ticks
	nominal  float64 // ticks that position would have moved at pace 1 without shifts, plus where it started
	last     systems.Time
	dilation float64
}

// MaxFrame is the most time one frame makes up for: 250 ms (Glenn Fiedler, "Fix Your Timestep!", 2004).
const MaxFrame = systems.Second / 4

// MaxSteps is the most new ticks one frame computes.
const MaxSteps = 8

// NewPacer returns a pacer that stands at tick position at now.
func NewPacer(now systems.Time, position float64, ticksPerSecond int) Pacer {
	return Pacer{rate: float64(ticksPerSecond) / float64(systems.Second), position: position, nominal: position, last: now, dilation: 1}
}

// Advance moves the position to now. A clock that went backwards counts as standing still.
func (p *Pacer) Advance(now systems.Time) {
	elapsed := p.elapsed(now)
	p.last = now
	p.position += elapsed * p.dilation
	p.nominal += elapsed
}

// elapsed returns the ticks from the last frame to now at pace 1.
func (p *Pacer) elapsed(now systems.Time) float64 {
	return float64(min(max(now-p.last, 0), MaxFrame)) * p.rate
}

// Position returns where the time line stands, in ticks.
func (p *Pacer) Position() float64 { return p.position }

// At returns where the time line will stand at now, which is not before the last frame, in ticks.
func (p *Pacer) At(now systems.Time) float64 { return p.position + p.elapsed(now)*p.dilation }

// Gained returns by how many ticks the position was moved by dilation and shifts, since the pacer was made.
func (p *Pacer) Gained() float64 { return p.position - p.nominal }

// Dilate sets the pace: 1 is nominal.
func (p *Pacer) Dilate(pace float64) { p.dilation = pace }

// Dilation returns the pace.
func (p *Pacer) Dilation() float64 { return p.dilation }

// Shift moves the position by ticks at once.
func (p *Pacer) Shift(ticks float64) { p.position += ticks }
