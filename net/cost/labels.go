package cost

import (
	"context"
	"runtime/pprof"
	"sync/atomic"
)

// labels put the row that is open onto the goroutine, for the samples of a CPU profile. The contexts are made once.
type labels struct {
	on       bool
	contexts []context.Context // by row
	names    int               // systems of the strategy that contexts were made for
}

// labelling counts who wants samples to be labelled. A CPU profile is of the whole process, and so is this.
var labelling atomic.Int32

// LabelSamples sets the pprof labels "phase", "system" and "side" on the goroutines of all ledgers of the process. It
// starts with the next outermost section and ends with stop. Use it with `go tool pprof -tagfocus system=NAME`. Without it,
// a section costs one load more. A goroutine's other labels are lost.
func LabelSamples() (stop func()) {
	labelling.Add(1)
	var stopped atomic.Bool
	return func() {
		if !stopped.Swap(true) {
			labelling.Add(-1)
		}
	}
}

func (n *labels) begin() { n.on = labelling.Load() > 0 }

// set labels the goroutine with a row.
func (n *labels) set(l *Ledger, row int) {
	if n.contexts == nil || n.names != len(*l.strategy.Load()) {
		n.contexts, n.names = n.contexts[:0], len(*l.strategy.Load())
		for i := range l.rows {
			phase, system := l.name(i)
			pairs := []string{"phase", phase}
			if system != "" {
				pairs = append(pairs, "system", system)
			}
			if l.config.Name != "" {
				pairs = append(pairs, "side", l.config.Name)
			}
			n.contexts = append(n.contexts, pprof.WithLabels(context.Background(), pprof.Labels(pairs...)))
		}
	}
	pprof.SetGoroutineLabels(n.contexts[row])
}

// leave labels the goroutine with the section that is open now.
func (n *labels) leave(l *Ledger) {
	if last := len(l.open) - 1; last >= 0 {
		pprof.SetGoroutineLabels(n.contexts[l.open[last].row])
		return
	}
	pprof.SetGoroutineLabels(context.Background())
}
