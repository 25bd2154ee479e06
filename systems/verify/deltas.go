package verify

import (
	"tendon/ecs"
	"tendon/rollback"
)

// deltas caches the deltas from older states to the newest one. Each is made once for all peers that hold the older state.
type deltas struct {
	tick  ecs.Tick // of the newest state
	list  []delta
	bytes []byte
}

// delta is the delta from State(base), in bytes[from:to].
type delta struct {
	base     ecs.Tick
	from, to int
}

// of returns the delta from State(base) to State(done). States must hold both. The delta is valid until the next call.
func (d *deltas) of(states *rollback.Snapshots, base, done ecs.Tick) []byte {
	if d.tick != done {
		d.tick, d.list, d.bytes = done, d.list[:0], d.bytes[:0]
	}
	for _, m := range d.list {
		if m.base == base {
			return d.bytes[m.from:m.to]
		}
	}
	old, ok := states.At(base)
	now, ok2 := states.At(done)
	if !ok || !ok2 {
		panic("verify: a delta between states that are not kept: check OldestServable first")
	}
	from := len(d.bytes)
	d.bytes = now.AppendDelta(d.bytes, old)
	d.list = append(d.list, delta{base, from, len(d.bytes)})
	return d.bytes[from:]
}
