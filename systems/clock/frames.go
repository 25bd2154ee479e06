package clock

import "math"

// Frames bounds the new ticks that one frame computes. The bound is MaxSteps, or on a display with longer frames, the ticks
// of a frame plus half of MaxSteps for catching up.
//
// The bound limits the frame after a hitch, and frames that are long because ticks take long to compute. On a display with
// five frames per second, MaxSteps alone would drop a third of all ticks. A client that executes every tick cannot skip
// them. MaxFrame still bounds the ticks of a frame, so that slow ticks do not accumulate. One long frame is a hitch; two in
// a row are taken as the rate of the display.
type Frames struct{ before, last float64 } // lengths of the last two frames, in ticks

// Add records the length of a frame in ticks at pace 1.
func (f *Frames) Add(ticks float64) { f.before, f.last = f.last, ticks }

// Regular returns the length of a frame that is no hitch, in ticks, at least 1. The oldest input of a frame is sent that
// much later.
func (f *Frames) Regular() float64 { return max(1, min(f.before, f.last)) }

// Steps returns the number of new ticks that the frame may compute.
func (f *Frames) Steps() int { return max(MaxSteps, int(math.Ceil(f.Regular()))+MaxSteps/2) }
