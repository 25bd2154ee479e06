package reckon

import (
	"math"

	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/clock"
)

// numbering gives the ticks that a client computes their numbers on the server. The pacer counts the ticks at the pace
// of the local clock. The number of a tick is its count plus shift: the server's tick in which its input is to be used.
// The lead control changes shift, in whole ticks, and never the pace. So a number may be skipped, or given twice.
type numbering struct {
	pacer clock.Pacer
	lead  clock.Lead
	done  ecs.Tick // ticks computed
	shift int      // number − count
	want  float64  // shift by the lead control, unrounded
	at    float64  // position of the pacer in the last advance
}

// hysteresis is the difference between want and shift at which shift follows, in ticks.
const hysteresis = 0.75

// begin starts with the number of the next tick.
func (n *numbering) begin(now systems.Time, next, rate int) {
	*n = numbering{pacer: clock.NewPacer(now, 0, rate), shift: next, want: float64(next)}
}

// advance moves the pacer to now and returns how many ticks are due.
func (n *numbering) advance(now systems.Time) (due int) {
	n.pacer.Advance(now)
	due = n.pacer.Steps(n.done)
	passed := max(n.pacer.Position()-n.at, 0)
	n.at = n.pacer.Position()
	pace, jump := n.lead.Control(float64(n.shift))
	n.want += (pace-1)*passed + jump
	if math.Abs(n.want-float64(n.shift)) >= hysteresis {
		n.shift = int(math.Round(n.want))
		n.want = float64(n.shift)
	}
	return due
}

// upcoming returns the number of the next tick.
func (n *numbering) upcoming() int { return int(n.done) + 1 + n.shift }

// next counts a tick. It returns the tick's number, and when it was due on the local clock; now is the frame's time.
func (n *numbering) next(now systems.Time, rate int) (number int, due systems.Time) {
	n.done++
	late := n.pacer.Position() - float64(n.done)
	return int(n.done) + n.shift, now - systems.Time(late*float64(systems.Second)/float64(rate))
}

// jump sets the number of the next tick, and drops what the lead control has measured.
func (n *numbering) jump(to ecs.Tick) {
	n.shift = int(to) - int(n.done) - 1
	n.want = float64(n.shift)
	n.lead.Forget()
}
