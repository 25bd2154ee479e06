package cli

import (
	"slices"
	"sync"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/systems"
)

// truth remembers the server's checksums of recent ticks, one for each component, for clients in the same process to
// compare with. Tick f lies in slot f % truthTicks, which stores its tick.
type truth struct {
	engine int // columns that are the engine's own, such as the tick, and change by themselves

	mu      sync.Mutex
	ticks   [truthTicks]ecs.Tick
	sums    [truthTicks][]image.Checksum
	changes uint64 // ticks in which something of the game's own changed
}

const truthTicks = 1024

func newTruth(g *ecs.Game) *truth {
	return &truth{engine: len(g.Schema().Columns()) - len(g.Components) - len(g.Resources)}
}

// sink returns the checksums as a sink of a room.
func (t *truth) sink() room.Sink {
	return room.Sink{NeedState: true, Tick: func(f systems.FinalTick) { t.add(f.Tick, f.State) }}
}

// add notes the state of the next tick.
func (t *truth) add(f ecs.Tick, state *image.Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot := &t.sums[f%truthTicks]
	*slot = state.ComponentChecksums((*slot)[:0])
	t.ticks[f%truthTicks] = f
	before := t.sums[(f-1)%truthTicks]
	if f > 1 && t.ticks[(f-1)%truthTicks] == f-1 && !slices.Equal((*slot)[t.engine:], before[t.engine:]) {
		t.changes++
	}
}

// appendAt appends the server's checksums of tick f; ok is false if they are not known.
func (t *truth) appendAt(dst []image.Checksum, f ecs.Tick) (sums []image.Checksum, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f == 0 || t.ticks[f%truthTicks] != f {
		return dst, false
	}
	return append(dst, t.sums[f%truthTicks]...), true
}

// changed returns in how many ticks something of the game's own changed.
func (t *truth) changed() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}
