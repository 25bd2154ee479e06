package reckon

import (
	"math"

	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/clock"
)

// labels number the ticks that a client computes. The pacer counts them, at the pace of the local clock; the label is the
// server's tick in which the input of such a tick is to be used, the count plus shift. The lead control moves shift, in
// whole ticks, and never the pace: a label may be passed over, or be that of two ticks in a row.
type labels struct {
	pacer clock.Pacer
	lead  clock.Lead
	done  uint64  // ticks that were computed
	shift int     // label − count
	want  float64 // what shift is to be, as far as the lead control has come
	at    float64 // of the pacer, when it was last asked
}

// hysteresis is by how many ticks want has to be off before shift follows.
const hysteresis = 0.75

func (l *labels) begin(now systems.Time, label, rate int) {
	*l = labels{pacer: clock.NewPacer(now, 0, rate), shift: label, want: float64(label)}
}

// advance lets time go by and returns how many ticks are due.
func (l *labels) advance(now systems.Time) (due int) {
	l.pacer.Advance(now)
	due = l.pacer.Steps(l.done)
	passed := max(l.pacer.Position()-l.at, 0)
	l.at = l.pacer.Position()
	pace, jump := l.lead.Control(float64(l.shift))
	l.want += (pace-1)*passed + jump
	if math.Abs(l.want-float64(l.shift)) >= hysteresis {
		l.shift = int(math.Round(l.want))
		l.want = float64(l.shift)
	}
	return due
}

// next returns the label of the next tick, and when it was due on the local clock, where now is the frame's time.
func (l *labels) next(now systems.Time, rate int) (label int, due systems.Time) {
	l.done++
	late := l.pacer.Position() - float64(l.done)
	return int(l.done) + l.shift, now - systems.Time(late*float64(systems.Second)/float64(rate))
}

// jump makes a label that of the next tick.
func (l *labels) jump(to ecs.Tick) {
	l.shift = int(to) - int(l.done) - 1
	l.want = float64(l.shift)
	l.lead.Forget()
}

func (l *labels) alpha(now systems.Time) float64 { return l.pacer.Alpha(l.done, now) }
