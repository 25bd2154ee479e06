package lockstep

// interval is N, how many frames one sync covers. It rises a step when more than a fifth of those who play could not
// compute more than 1 % of their ticks in the last 5 s, and falls a step when for 30 s nobody missed 0.1 %.
type interval struct {
	n    int
	wait int // frames since the clients were last asked
	calm int // seconds
}

const (
	adaptSeconds = 5
	calmSeconds  = 30
	stallsMany   = shares / 100
	stallsFew    = shares / 1000
)

// observe is called in every frame.
func (v *interval) observe(peers []peer, rate int) {
	if v.wait++; v.wait < adaptSeconds*rate {
		return
	}
	v.wait = 0
	playing, stalling, calm := 0, 0, true
	for i := range peers {
		p := &peers[i]
		if !p.open || !p.live {
			continue
		}
		playing++
		if p.stalled > stallsMany {
			stalling++
		}
		calm = calm && p.stalled < stallsFew
	}
	switch {
	case playing == 0:
	case stalling*5 > playing:
		v.shift(1)
		v.calm = 0
	case !calm:
		v.calm = 0
	default:
		if v.calm += adaptSeconds; v.calm >= calmSeconds {
			v.shift(-1)
			v.calm = 0
		}
	}
}

// shift goes some steps up or down.
func (v *interval) shift(steps int) {
	for i, n := range intervals {
		if n == v.n {
			v.n = intervals[min(max(i+steps, 0), len(intervals)-1)]
			return
		}
	}
}
