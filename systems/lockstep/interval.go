package lockstep

import (
	"tendon/ecs"
	"tendon/rollback"
)

// syncs is how far frames were announced, and how they are sent.
type syncs struct {
	sync     ecs.Tick // last frame that was announced
	released ecs.Tick // sync at the last Send: frames beyond it may not be durable yet
	interval interval
	stirred  bool                  // there were operations in frame Done
	digests  rollback.Ring[uint32] // of frames whose operations were sent by themselves
	large    []ecs.Tick            // frames whose operations have to be sent by themselves
}

// announce announces the frames up to Done at the end of an interval. A frame that is adopted is announced at once.
func (s *Server) announce() {
	if s.Step.Adopted {
		s.syncs.sync = s.Done()
		return
	}
	if s.Done()-s.syncs.sync >= ecs.Tick(s.syncs.interval.n) || s.settings.Eager && s.syncs.stirred {
		s.syncs.sync = s.Done()
	}
	if s.settings.AdaptInterval {
		s.syncs.interval.observe(s.Peers, s.Game.TickRate)
	}
}

// interval is N, the number of frames that one sync covers. It rises a step when more than a fifth of the players
// stalled in more than 1 % of their ticks of the last 5 s. It falls a step when no player reached 0.1 % for 30 s.
type interval struct {
	n    int
	wait int // frames since the clients were last checked
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
		if !p.Open || !p.Own.live {
			continue
		}
		playing++
		if p.Own.stalled > stallsMany {
			stalling++
		}
		calm = calm && p.Own.stalled < stallsFew
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

// shift changes the interval by steps.
func (v *interval) shift(steps int) {
	for i, n := range intervals {
		if n == v.n {
			v.n = intervals[min(max(i+steps, 0), len(intervals)-1)]
			return
		}
	}
}
