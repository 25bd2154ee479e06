package rollback

import "tendon/ecs"

// provenance says where an input comes from.
type provenance uint8

const (
	missing     provenance = iota // unknown
	predicted                     // predicted from the player's last input, or the local player's own
	substituted                   // final: the server's, because the player's own was late
	final                         // final: the player's own
)

// inputLog holds the input of every player with its provenance, for a window of ticks.
type inputLog struct {
	rows Ring[inputRow]
}

type inputRow struct {
	inputs []ecs.InputBytes // by player
	marks  []provenance
}

// newInputLog returns a log for the last depth ticks (rounded up to a power of two) of this many players.
func newInputLog(players, depth int) *inputLog {
	l := &inputLog{rows: NewRing[inputRow](depth)}
	n := l.depth()
	inputs, marks := make([]ecs.InputBytes, n*players), make([]provenance, n*players)
	for i := range l.rows.slots {
		from, to := i*players, (i+1)*players
		l.rows.slots[i].value = inputRow{inputs[from:to:to], marks[from:to:to]}
	}
	return l
}

// depth returns the number of ticks that the log holds.
func (l *inputLog) depth() int { return l.rows.Depth() }

// row returns the inputs of tick f, index = player, with their provenances. Both slices alias the log and may be
// written. A tick that was not in the log replaces the one Depth ticks older; all its inputs are missing.
func (l *inputLog) row(f ecs.Tick) ([]ecs.InputBytes, []provenance) {
	row, held := l.rows.Slot(f)
	if !held {
		clear(row.inputs)
		clear(row.marks)
	}
	return row.inputs, row.marks
}

// at returns p's input of tick f and its provenance. A tick that is not in the log is missing and is not added.
func (l *inputLog) at(f ecs.Tick, p ecs.Player) (ecs.InputBytes, provenance) {
	row, ok := l.rows.At(f)
	if !ok {
		return ecs.InputBytes{}, missing
	}
	return row.inputs[p], row.marks[p]
}

// clear removes all inputs.
func (l *inputLog) clear() { l.rows.Clear() }
