package relay

// delay chooses the input delay: the least that is asked for as long as the prediction window hides the rest of the
// way to the server and back, and what is missing beyond it. It grows at once and shrinks by one tick at a time, when
// a smaller one would have done for several seconds.
type delay struct {
	ticks  int
	least  int
	window int // prediction window
	most   int // largest need in the running interval
	frames int
}

// maxDelay bounds the input delay, in ticks.
const maxDelay = 120

// calmSeconds is how long a smaller delay must have been enough before it is taken.
const calmSeconds = 3

func newDelay(least, window int) delay {
	return delay{ticks: least, least: least, window: window}
}

// observe takes how many ticks lie between sampling an input and the newest final tick.
func (d *delay) observe(ahead, ticksPerSecond int) {
	need := min(max(ahead-d.window, d.least), maxDelay)
	d.most = max(d.most, need)
	if need > d.ticks {
		d.ticks = need
		d.frames, d.most = 0, 0
		return
	}
	if d.frames++; d.frames >= calmSeconds*ticksPerSecond {
		if d.most < d.ticks {
			d.ticks--
		}
		d.frames, d.most = 0, 0
	}
}
