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

// InputLog holds, for a window of ticks, the input of every player with its provenance. Tick f lies in row f & mask,
// which stores its tick; a row that is read for another tick counts as missing.
type InputLog struct {
	players int
	mask    ecs.Tick
	ticks   []ecs.Tick
	used    []bool // whether the row was ever written, since tick 0 is a tick
	inputs  []ecs.InputBytes
	marks   []Provenance
}

// NewInputLog returns a log for the last depth ticks (rounded up to a power of two) of this many players.
func NewInputLog(players, depth int) *InputLog {
	n := powerOfTwo(depth)
	return &InputLog{players: players, mask: ecs.Tick(n - 1), ticks: make([]ecs.Tick, n), used: make([]bool, n),
		inputs: make([]ecs.InputBytes, n*players), marks: make([]Provenance, n*players)}
}

// Depth returns the number of ticks the log holds.
func (l *InputLog) Depth() int { return len(l.ticks) }

// Row returns the inputs of tick f, index = player, with their provenances. Both slices alias the log and may be
// written. A tick that was not in the log takes the place of the one Depth ticks older and is all missing.
func (l *InputLog) Row(f ecs.Tick) ([]ecs.InputBytes, []Provenance) {
	slot := int(f & l.mask)
	inputs := l.inputs[slot*l.players : (slot+1)*l.players]
	marks := l.marks[slot*l.players : (slot+1)*l.players]
	if l.ticks[slot] != f || !l.used[slot] {
		l.ticks[slot], l.used[slot] = f, true
		clear(inputs)
		clear(marks)
	}
	return inputs, marks
}

// At returns p's input of tick f and where it came from, without making room for f.
func (l *InputLog) At(f ecs.Tick, p ecs.Player) (ecs.InputBytes, Provenance) {
	slot := int(f & l.mask)
	if l.ticks[slot] != f || !l.used[slot] {
		return ecs.InputBytes{}, Missing
	}
	i := slot*l.players + int(p)
	return l.inputs[i], l.marks[i]
}

// Clear forgets all inputs.
func (l *InputLog) Clear() { clear(l.used) }

// powerOfTwo returns the least power of two that is ≥ n and ≥ 1.
func powerOfTwo(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}
