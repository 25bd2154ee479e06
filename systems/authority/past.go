package authority

import (
	"fmt"

	"tendon/ecs"
	"tendon/systems"
)

// ReadPast passes the ticks of ServerConfig.Past from oldest on to add, each with the inputs of the tick before it. The
// first of them only serves as the tick before the next, unless it is tick 1. Peers with a state of these ticks can then be
// opened. ReadPast panics if a tick is missing.
func (s *Server[C, P]) ReadPast(oldest ecs.Tick, add func(t *systems.FinalTick, before []ecs.InputBytes)) {
	if s.Config.Past == nil {
		return
	}
	before, inputs := make([]ecs.InputBytes, s.Game.MaxPlayers), make([]ecs.InputBytes, s.Game.MaxPlayers)
	begun, last := false, ecs.Tick(0)
	for t := range s.Config.Past {
		if t.Tick < oldest {
			continue
		}
		if begun && t.Tick != last+1 {
			panic(fmt.Sprintf("%s: ServerConfig.Past yields tick %d after tick %d: it must be without a gap", s.config.Name, t.Tick, last))
		}
		last = t.Tick
		clear(inputs)
		copy(inputs, t.Inputs)
		if !begun {
			s.first = t.Tick
		}
		if t.Tick == 1 {
			s.first = 0
		}
		if begun || t.Tick == 1 {
			t.Inputs = inputs
			add(&t, before)
		}
		begun, before, inputs = true, inputs, before
	}
	if begun && last != s.done {
		panic(fmt.Sprintf("%s: ServerConfig.Past ends with tick %d, the world is at tick %d", s.config.Name, last, s.done))
	}
}
