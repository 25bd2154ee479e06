package replaypage

import (
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record/cursor"
)

// Meter measures the sections of a tick while a recording is simulated. The zero value is ready to use.
type Meter struct {
	open  []time.Time
	costs []cursor.Cost
}

// Enter begins a section.
func (m *Meter) Enter(image.Section) { m.open = append(m.open, time.Now()) }

// Leave ends the section that was entered last.
func (m *Meter) Leave(s image.Section) {
	n := len(m.open) - 1
	m.costs = append(m.costs, cursor.Cost{Section: s, Nanoseconds: time.Since(m.open[n]).Nanoseconds()})
	m.open = m.open[:n]
}

// Turn does nothing.
func (m *Meter) Turn(ecs.Tick) {}

// Name does nothing: a recording is simulated without a strategy.
func (m *Meter) Name(image.Section, string, string) {}

// AppendCosts appends the costs since the last call.
func (m *Meter) AppendCosts(dst []cursor.Cost) []cursor.Cost {
	dst = append(dst, m.costs...)
	m.costs = m.costs[:0]
	return dst
}
