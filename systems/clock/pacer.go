package clock

import (
	"math"

	"tendon/systems"
)

// Pacer turns the time of frames into ticks. Position is where the local time line stands, in ticks; it moves with
// the frames' time at the pace dilation, and by Shift. What it stands beyond the last computed tick is the accumulator:
// whole ticks of it are owed, the rest is how far the display is on the way to the next.
//
// A frame that comes late is made up for, but never by more than MaxFrame of time: what is beyond was a pause, not a
// delay, and is left to the lead control.
type Pacer struct {
	rate     float64 // ticks per nanosecond
	position float64 // ticks
	nominal  float64 // ticks that position would have moved at pace 1 without shifts, plus where it started
	last     systems.Time
	dilation float64
	frames   Frames
}

// MaxFrame is the most time one frame makes up for: 250 ms (Glenn Fiedler, "Fix Your Timestep!", 2004).
const MaxFrame = systems.Second / 4

// MaxSteps is the most new ticks one frame computes, on a display whose frames hold no more than that: see Frames.
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
	p.frames.Add(elapsed)
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

// Most returns how many new ticks the frame may compute.
func (p *Pacer) Most() int { return p.frames.Steps() }

// Regular returns what a frame brings that is no hitch, in ticks, at least 1.
func (p *Pacer) Regular() float64 { return p.frames.Regular() }

// Steps returns how many ticks a frame is to compute when done is the last that was computed: those that are owed, at
// most Most. What is owed beyond that is given up, but for one tick: the time line is moved back to it, so a machine
// that is too slow shows slow motion instead of owing more with every frame. The lead control sees that as a shift.
//
// It is for a strategy that computes in the frame all that is due. One that may have to wait for others keeps what it
// owes itself.
func (p *Pacer) Steps(done uint64) int {
	owed, most := p.position-float64(done), p.Most()
	if owed < float64(most+1) {
		return max(int(owed), 0)
	}
	p.position -= owed - float64(most) - 1
	return most
}

// Alpha returns how far the display stands at now from the state before the last computed tick to that tick's state,
// in [0, 1): it shows one tick less than the time line. It stays below 1 while a tick is owed.
func (p *Pacer) Alpha(done uint64, now systems.Time) float64 {
	return min(max(p.At(now)-float64(done), 0), math.Nextafter(1, 0))
}
