package session

import (
	"fmt"
	"runtime/debug"

	"tendon/ecs"
)

// Panic is the error of a match whose rules, or whose strategy, panicked. The world of that match must not be used any more.
type Panic struct {
	Tick  ecs.Tick // that was computed, or the last one
	Value string   // the value of the panic
	Stack []byte   // the stack of the goroutine, as text
}

// NewPanic returns the error of a value that recover returned. The deferred function must call it. w may be nil.
func NewPanic(value any, w *ecs.World) *Panic {
	p := &Panic{Value: fmt.Sprint(value), Stack: debug.Stack()}
	if w != nil {
		p.Tick = w.Tick()
	}
	return p
}

// Error implements error. The stack is not in it.
func (p *Panic) Error() string { return fmt.Sprintf("panic in tick %d: %s", p.Tick, p.Value) }
