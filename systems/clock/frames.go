package clock

import "math"

// Frames bounds the new ticks that one frame computes: MaxSteps, or on a display whose frames hold more than that, as
// many as they hold and half of MaxSteps to catch up with.
//
// The bound is there for the frame after a hitch, and for machines on which computing ticks is what makes frames long. A
// display of five frames a second is neither: at MaxSteps it would fall behind by a third of all ticks, for ever, and no
// strategy can leave out ticks that others compute. So a bound below what a frame brings sheds time that can be had
// back, and what a frame brings is bounded already, by MaxFrame: where steps are slow, ticks beyond that are given up,
// and what is owed does not grow. One long frame is a hitch; two are taken for the display's.
type Frames struct{ before, last float64 } // what the last two frames brought, in ticks

// Add notes that a frame brings so many ticks, at pace 1.
func (f *Frames) Add(ticks float64) { f.before, f.last = f.last, ticks }

// Regular returns what a frame brings that is no hitch, in ticks, at least 1: the oldest of them is sent as much later.
func (f *Frames) Regular() float64 { return max(1, min(f.before, f.last)) }

// Steps returns how many new ticks the frame may compute.
func (f *Frames) Steps() int { return max(MaxSteps, int(math.Ceil(f.Regular()))+MaxSteps/2) }
