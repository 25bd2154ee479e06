package rollback

import "tendon/ecs"

// Provenance says where an input came from.
type Provenance uint8

// The provenances, from what is unknown to what is final.
const (
	Missing     Provenance = iota // nothing is known of this input
	Predicted                     // assumed here, from the player's last input or from this peer's own controls
	Substituted                   // the server's: the player's own did not arrive in time
	Confirmed                     // the server's: what the player sent
)

// Final reports whether the input will not change any more.
func (p Provenance) Final() bool { return p >= Substituted }

// InputLog holds the input of every player with its provenance, for a window of ticks.
type InputLog struct {
	rows Ring[inputRow]
}

type inputRow struct {
	inputs []ecs.InputBytes // by player
	marks  []Provenance
}

// NewInputLog returns a log for the last depth ticks (rounded up to a power of two) of this many players.
func NewInputLog(players, depth int) *InputLog {
	l := &InputLog{rows: NewRing[inputRow](depth)}
	n := l.Depth()
	inputs, marks := make([]ecs.InputBytes, n*players), make([]Provenance, n*players)
	for i := range l.rows.slots {
		from, to := i*players, (i+1)*players
		l.rows.slots[i].value = inputRow{inputs[from:to:to], marks[from:to:to]}
	}
	return l
}

// Depth returns the number of ticks that the log holds.
func (l *InputLog) Depth() int { return l.rows.Depth() }

// Row returns the inputs of tick f, index = player, with their provenances. Both slices alias the log and may be
// written. A tick that was not in the log replaces the one Depth ticks older; all its inputs are Missing.
func (l *InputLog) Row(f ecs.Tick) ([]ecs.InputBytes, []Provenance) {
	row, held := l.rows.Slot(f)
	if !held {
		clear(row.inputs)
		clear(row.marks)
	}
	return row.inputs, row.marks
}

// At returns p's input of tick f and its provenance. A tick that is not in the log is Missing and is not added.
func (l *InputLog) At(f ecs.Tick, p ecs.Player) (ecs.InputBytes, Provenance) {
	row, ok := l.rows.At(f)
	if !ok {
		return ecs.InputBytes{}, Missing
	}
	return row.inputs[p], row.marks[p]
}

// Clear removes all inputs.
func (l *InputLog) Clear() { l.rows.Clear() }
