package events

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// Log stores the encoded events of recent ticks, as World.AppendEvents writes them. Use NewLog to make one.
type Log struct{ ticks rollback.Ring[[]byte] }

// NewLog returns a log of the last depth ticks; depth is rounded up to a power of two.
func NewLog(depth int) Log { return Log{rollback.NewRing[[]byte](depth)} }

// Add stores the events of the world's last tick.
func (l *Log) Add(w *ecs.World) {
	events, _ := l.ticks.Slot(w.Tick())
	*events = image.AppendEvents((*events)[:0], w.Events(), nil)
}

// addOf stores the events of the world's last tick that pass a filter.
func (l *Log) addOf(w *ecs.World, filter func(*image.EmittedEvent) bool) {
	events, _ := l.ticks.Slot(w.Tick())
	*events = image.AppendEvents((*events)[:0], w.Events(), filter)
}

// At returns the events of tick f. It is empty if there were none, and for a tick that is not stored.
func (l *Log) At(f ecs.Tick) []byte {
	events, ok := l.ticks.At(f)
	if !ok {
		return nil
	}
	return *events
}
