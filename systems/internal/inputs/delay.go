package inputs

import "slices"

// Delay chooses the input delay. It is the requested one while the prediction window covers the rest of the round trip, and
// the difference is added otherwise. So a connection that is too slow for the window gets delay first, and stalls second:
//
//   - The window is never exceeded. A tick beyond it waits; that is a stall.
//   - The delay becomes the value that four of five ticks of the last second needed. So a spike stalls once, and a slower
//     connection adds delay. The requested delay is kept where it just suffices. Otherwise one tick of slack is added, since
//     W differs by one with the phase between the client's frames and the server's ticks.
//   - It grows at once. It shrinks to the largest need of the last 3 seconds, a tick at a time, rate/10 ticks apart. It shrinks
//     in every tick while it exceeds that need by more than rate/10 ticks.
//   - After congestion it shrinks within about a second. If every tick of half a second needed far less, the largest of these
//     needs replaces those of the last 3 seconds. If the delay has to grow far again within 10 seconds, this fast fall is disabled
//     for 1 second. Each further time doubles that pause, up to 80 seconds.
//   - Silence of more than half a second is an outage, which no delay could bridge. Its ticks do not count. The ticks before the
//     line is set do not count either: see Skip.
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
	peak   int                  // largest need of the running half second
	half   int                  // ticks of it
	fell   int                  // ticks in which a larger need still means that the last fall to the peak was wrong
	rest   int                  // ticks until the delay may fall to the peak again
	pause  int                  // length of the last rest
	newest int                  // final tick at the last Observe
	silent int                  // ticks since it arrived
}

// MaxDelay bounds the input delay, in ticks.
const MaxDelay = 120

const (
	calmSeconds  = 3  // how long a smaller delay must have been enough before it is taken
	wrongSeconds = 10 // how long after a fall to the peak a larger need means that it was wrong
	maxRest      = 80 // longest rest, in seconds
	far          = 10 // a need is far less than the delay if it is less by more than 1/far seconds
)

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

// Observe takes, once a tick, the tick whose input is sampled and the newest final tick. The ticks in which no final tick
// arrives count when the next one arrives.
func (d *Delay) Observe(at, newest, ticksPerSecond int) {
	if newest == d.newest {
		d.silent++
		return
	}
	if d.silent <= ticksPerSecond/2 {
		for ; d.silent > 0; d.silent-- {
			d.count(at-d.silent-d.newest, ticksPerSecond)
		}
	}
	d.silent, d.newest = 0, newest
	d.count(at-newest, ticksPerSecond)
}

// Moved lowers the delay by the number of ticks by which the line was set back. The needs of the last seconds fall by the same
// number, and the present tick does not change.
func (d *Delay) Moved(back int) {
	d.ticks, d.goal = max(d.ticks-back, d.least), max(d.goal-back, d.least)
	for i := range d.recent {
		d.recent[i] = max(d.recent[i]-back, d.least)
	}
	d.Skip()
}

// Skip drops the ticks of the running second, because the line was set to another tick.
func (d *Delay) Skip() {
	clear(d.counts[:])
	d.silent, d.seen, d.peak, d.half = 0, 0, 0, 0
}

// count takes a tick: how many ticks lie between sampling an input and the newest final tick.
func (d *Delay) count(ahead, ticksPerSecond int) {
	need := d.need(ahead)
	d.counts[need]++
	d.peak = max(d.peak, need)
	d.fell, d.rest = max(d.fell-1, 0), max(d.rest-1, 0)
	if d.seen++; d.seen >= ticksPerSecond {
		d.conclude()
	}
	if d.half++; d.half*2 >= ticksPerSecond {
		d.fall(ticksPerSecond)
	}
	d.shrink++
	excess := d.ticks - d.goal
	switch {
	case excess < 0:
		if d.fell > 0 && -excess > ticksPerSecond/far {
			d.pause = min(max(2*d.pause, ticksPerSecond), maxRest*ticksPerSecond)
			d.fell, d.rest = 0, d.pause
		}
		d.ticks, d.shrink = d.goal, 0
	case excess > ticksPerSecond/far:
		d.ticks, d.shrink = d.ticks-max(excess*3/ticksPerSecond, 1), 0
	case excess > 0 && d.shrink*10 >= ticksPerSecond:
		d.ticks, d.shrink = d.ticks-1, 0
	}
}

// fall ends half a second. If all its ticks needed far less than the delay, the congestion is over, and the delay falls to their
// largest need.
func (d *Delay) fall(ticksPerSecond int) {
	if d.rest == 0 && d.peak+ticksPerSecond/far < d.goal {
		d.goal, d.fell = d.peak, wrongSeconds*ticksPerSecond
		for i := range d.recent {
			d.recent[i] = d.peak
		}
		d.Skip()
	}
	d.peak, d.half = 0, 0
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
