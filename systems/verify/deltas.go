package verify

import (
	"tendon/ecs"
	"tendon/rollback"
)

// deltas holds the deltas from older states to the present one, each made once for all peers that hold the older state.
type deltas struct {
	made  []madeDelta
	bytes []byte
}

type madeDelta struct {
	base     ecs.Tick
	from, to int // in bytes
}

func (d *deltas) reset() { d.made, d.bytes = d.made[:0], d.bytes[:0] }

// of returns the delta from State(base), which the ring must hold, to its newest state, that of tick done. It is valid
// until the next call.
func (d *deltas) of(ring *rollback.Snapshots, base, done ecs.Tick) []byte {
	for _, m := range d.made {
		if m.base == base {
			return d.bytes[m.from:m.to]
		}
	}
	old, ok := ring.At(base)
	now, ok2 := ring.At(done)
	if !ok || !ok2 {
		panic("verify: a delta between states that are not kept: check OldestServable first")
	}
	from := len(d.bytes)
	d.bytes = now.AppendDelta(d.bytes, old)
	d.made = append(d.made, madeDelta{base, from, len(d.bytes)})
	return d.bytes[from:]
}
