package inputs

import "slices"

// Delay chooses the input delay. It is the requested one while the prediction window covers the rest of the round trip, and
// the difference is added otherwise. So a connection that is too slow for the window gets delay first, and stalls second:
//
//   - The window is never exceeded. A tick beyond it waits; that is a stall.
//   - The delay becomes the value that four of five ticks of the last second needed. So a spike stalls once, and a slower
//     connection adds delay. The requested delay is kept where it just suffices. Otherwise one tick of slack is added, since
//     W differs by one with the phase between the client's frames and the server's ticks.
//   - It grows at once and shrinks a tick at a time, rate/10 ticks apart, to the largest need of the last 3 seconds.
type Delay struct {
	ticks  int // the delay
	least  int // what was asked for
	window int // prediction window
	goal   int
	recent [calmSeconds]int // needs of the last seconds
	second int
	counts [MaxDelay + 1]uint16 // of the running second, by need
	seen   int                  // ticks of the running second
	shrink int                  // ticks since the delay last shrank
}

// MaxDelay bounds the input delay, in ticks.
const MaxDelay = 120

// calmSeconds is how long a smaller delay must have been enough before it is taken.
const calmSeconds = 3

// NewDelay returns the delay for a client whose inputs are sampled ahead ticks before they are known to be final.
func NewDelay(least, window, ahead int) Delay {
	d := Delay{least: least, window: window}
	d.ticks = d.need(ahead)
	d.goal = d.ticks
	for i := range d.recent {
		d.recent[i] = d.ticks
	}
	return d
}

// Ticks returns the delay.
func (d *Delay) Ticks() int { return d.ticks }

// need returns the delay that keeps the prediction within the window.
func (d *Delay) need(ahead int) int {
	if missing := ahead - d.window; missing > d.least {
		return min(missing+1, MaxDelay)
	}
	return d.least
}

// Observe takes, once a tick, how many ticks lie between sampling an input and the newest final tick.
func (d *Delay) Observe(ahead, ticksPerSecond int) {
	d.counts[d.need(ahead)]++
	if d.seen++; d.seen >= ticksPerSecond {
		d.conclude()
	}
	d.shrink++
	switch {
	case d.goal > d.ticks:
		d.ticks, d.shrink = d.goal, 0
	case d.goal < d.ticks && d.shrink*10 >= ticksPerSecond:
		d.ticks, d.shrink = d.ticks-1, 0
	}
}

// conclude ends a second.
func (d *Delay) conclude() {
	above, need := 0, MaxDelay
	for ; need > d.least; need-- {
		if above += int(d.counts[need]); above*5 > d.seen {
			break
		}
	}
	d.recent[d.second%calmSeconds] = need
	d.second++
	d.goal = slices.Max(d.recent[:])
	clear(d.counts[:])
	d.seen = 0
}
