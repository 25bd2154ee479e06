package cost

import (
	"context"
	"runtime/pprof"
	"sync"
	"sync/atomic"
)

// labelling counts the running calls of LabelSamples. A CPU profile is of the whole process, and so is this.
var labelling atomic.Int32

// LabelSamples sets the pprof labels "phase", "system" and "side" on the goroutines of all ledgers of the process. It
// starts with the next outermost section and ends with stop. Use it with `go tool pprof -tagfocus system=NAME`. Without it,
// a section costs one load more. A goroutine's other labels are lost.
func LabelSamples() (stop func()) {
	labelling.Add(1)
	return sync.OnceFunc(func() { labelling.Add(-1) })
}

// label labels the goroutine with the section that is open now. The contexts are made once.
func (l *Ledger) label() {
	if len(l.contexts) == 0 {
		for i := range l.rows {
			pairs := []string{"phase", l.rows[i].Phase}
			if system := l.rows[i].System; system != "" {
				pairs = append(pairs, "system", system)
			}
			if l.config.Name != "" {
				pairs = append(pairs, "side", l.config.Name)
			}
			l.contexts = append(l.contexts, pprof.WithLabels(context.Background(), pprof.Labels(pairs...)))
		}
	}
	current := context.Background()
	if last := len(l.open) - 1; last >= 0 {
		current = l.contexts[l.open[last].row]
	}
	pprof.SetGoroutineLabels(current)
}
