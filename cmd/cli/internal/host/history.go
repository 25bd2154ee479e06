package host

import (
	"slices"
	"sync"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/rollback"
	"tendon/systems"
)

// ChecksumHistory keeps the server's checksums of recent ticks, one for each component. Clients in the same process compare
// theirs with them.
type ChecksumHistory struct {
	engine int // columns of the engine, such as the tick, which change in every tick

	mu      sync.Mutex
	sums    rollback.Ring[[]image.Checksum]
	changes uint64 // ticks in which a component or resource of the game changed
}

// sink returns the checksums as a sink of a room. 1024 ticks are kept.
func (t *ChecksumHistory) sink() room.Sink {
	return room.Sink{NeedState: true, Tick: func(f systems.FinalTick) {
		t.mu.Lock()
		defer t.mu.Unlock()
		sums, _ := t.sums.Slot(f.Tick)
		*sums = f.State.ComponentChecksums((*sums)[:0])
		if before, ok := t.sums.At(f.Tick - 1); f.Tick > 1 && ok && !slices.Equal((*sums)[t.engine:], (*before)[t.engine:]) {
			t.changes++
		}
	}}
}

// At returns the server's checksums of a tick; nil if they are not kept.
func (t *ChecksumHistory) At(f ecs.Tick) []image.Checksum {
	t.mu.Lock()
	defer t.mu.Unlock()
	if kept, ok := t.sums.At(f); ok {
		return slices.Clone(*kept)
	}
	return nil
}

// Changed returns the number of ticks in which a component or resource of the game changed.
func (t *ChecksumHistory) Changed() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}
