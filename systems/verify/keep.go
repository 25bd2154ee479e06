package verify

import (
	"slices"

	"tendon/ecs"
	"tendon/systems/authority"
)

// baseOf returns the tick of the newest state that a peer has, or will have once the reliable channel has delivered all messages.
func baseOf(p *peer) ecs.Tick { return max(p.Acked, p.Own.chain) }

// Keep keeps the states of these ticks, and those from which the next States of open peers start. On a slow channel these can be
// older than History. Keep releases the states that are more than two seconds old and that no open peer can still acknowledge.
func (s *Server) Keep(states []ecs.Tick) {
	kept := append(s.scratch.kept[:0], states...)
	needed := s.Done() - min(s.Done(), ecs.Tick(2*s.Game.TickRate))
	for i := range s.Peers {
		p := &s.Peers[i]
		if !p.Open || p.Resync != authority.InSync {
			continue
		}
		needed = min(needed, p.Acked)
		if _, recent := s.States.At(p.Acked); !recent || baseOf(p)+ecs.Tick(s.States.Depth()/2) <= s.Done() {
			kept = append(kept, p.Acked, baseOf(p))
		}
	}
	s.keepBetween(kept)
	s.scratch.kept = append(kept, s.between...)
	s.Server.Keep(s.scratch.kept)
	s.Release(needed)
}

// keepBetween selects states between the oldest one that a peer needs and Done. Neighbouring ones are about maxHistory/2 ticks
// apart, because a State can span at most maxHistory ticks.
func (s *Server) keepBetween(needed []ecs.Tick) {
	last := s.Done()
	if len(needed) > 0 {
		last = slices.Min(needed)
	}
	s.between = slices.DeleteFunc(s.between, func(f ecs.Tick) bool { return f <= last })
	if n := len(s.between); n > 0 {
		last = s.between[n-1]
	}
	if s.Done()-last >= maxHistory/2 {
		s.between = append(s.between, s.Done())
	}
}

// reachable returns the newest tick to which one State can lead a peer that holds State(base). ok is false if there is none.
func (s *Server) reachable(base ecs.Tick) (to ecs.Tick, ok bool) {
	to = s.Done()
	for i := len(s.between) - 1; i >= 0 && to-base > maxHistory; i-- {
		to = s.between[i]
	}
	return to, to-base <= maxHistory && s.Serves(base) && s.Serves(to)
}
