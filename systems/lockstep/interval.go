package lockstep

import (
	"slices"

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
	large    ecs.Tick              // the last frame that is too large for a datagram with others
}

// announce announces the frames up to Done at the end of an interval. A frame that is adopted is announced at once.
func (s *Server) announce() {
	ends := s.Done()-s.syncs.sync >= ecs.Tick(s.syncs.interval.n) || s.settings.Eager && s.syncs.stirred
	if ends || s.Step.Adopted {
		s.syncs.sync = s.Done()
	}
	if s.settings.AdaptInterval && !s.Step.Adopted {
		s.syncs.interval.observe(s.Done(), s.Peers, s.Game.TickRate)
	}
}

// interval is N, the number of frames that one sync covers. It rises a step when more than a fifth of the players stalled
// in more than 1 % of their ticks of the last 5 s. It falls a step when no player reached 0.1 % for 30 s.
type interval struct {
	n    int
	calm int // seconds
}

const (
	adaptSeconds = 5
	calmSeconds  = 30
	stallsMany   = shares / 100
	stallsFew    = shares / 1000
)

func (v *interval) observe(f ecs.Tick, peers []peer, ticksPerSecond int) {
	if f%ecs.Tick(adaptSeconds*ticksPerSecond) != 0 {
		return
	}
	playing, stalling, most := 0, 0, 0
	for i := range peers {
		if p := &peers[i]; p.Open && p.Own.live {
			playing++
			most = max(most, p.Own.stalled)
			if p.Own.stalled > stallsMany {
				stalling++
			}
		}
	}
	at := slices.Index(intervals, v.n)
	switch {
	case playing == 0:
	case stalling*5 > playing:
		v.n, v.calm = intervals[min(at+1, len(intervals)-1)], 0
	case most >= stallsFew:
		v.calm = 0
	default:
		if v.calm += adaptSeconds; v.calm >= calmSeconds {
			v.n, v.calm = intervals[max(at-1, 0)], 0
		}
	}
}
