package relay

import (
	"tendon/ecs"
	"tendon/systems/internal/inputs"
)

// seat is what the server knows of one player, over all of his connections.
type seat struct {
	inputs.Buffer
	strikes int // times that the player's state differed
}

// vacant is called in every tick before which the player was not in the match: what somebody else did before does not
// go on, and is not held against who comes next.
func (s *seat) vacant(f ecs.Tick) {
	s.Vacant(f)
	s.strikes = 0
}
