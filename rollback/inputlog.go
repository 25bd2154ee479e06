package rollback

import "tendon/ecs"

// inputLog holds the inputs of recent ticks, index = player.
type inputLog struct{ Ring[[]ecs.InputBytes] }

// newInputLog returns a log for the last depth ticks (rounded up to a power of two) of this many players.
func newInputLog(players, depth int) inputLog {
	l := inputLog{NewRing[[]ecs.InputBytes](depth)}
	inputs := make([]ecs.InputBytes, l.Depth()*players)
	for i := range l.slots {
		from, to := i*players, (i+1)*players
		l.slots[i].value = inputs[from:to:to]
	}
	return l
}

// row returns the inputs of tick f. The slice aliases the log and may be written. A tick that was not in the log replaces
// the one Depth ticks older, and its inputs are zero.
func (l *inputLog) row(f ecs.Tick) []ecs.InputBytes {
	row, held := l.Slot(f)
	if !held {
		clear(*row)
	}
	return *row
}
