package events

import "tendon/ecs"

// Log holds what the last ticks emitted, as World.AppendEvents writes it: of tick f in slot f % len.
type Log [][]byte

// Keep takes note of what tick f emitted, the world's last.
func (l Log) Keep(f ecs.Tick, w *ecs.World) {
	slot := &l[f%ecs.Tick(len(l))]
	*slot = w.AppendEvents((*slot)[:0])
}

// Of returns what tick f emitted, one of the last len.
func (l Log) Of(f ecs.Tick) []byte { return l[f%ecs.Tick(len(l))] }
