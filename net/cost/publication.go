package cost

import (
	"math"
	"sync"

	"tendon/ecs/image"
)

// publication passes figures from the goroutine of the ledger to any other. The ledger never waits: while a reader holds the
// lock, it keeps the older page and tries again after the next turn.
type publication struct {
	mu   sync.Mutex
	page reportPage
}

// reportPage contains all figures of one moment.
type reportPage struct {
	turns   figures
	over    uint64
	rows    []figures
	largest turn
}

func newPage(rows int) reportPage {
	return reportPage{rows: make([]figures, rows), largest: turn{parts: make([]part, rows)}}
}

// publish updates the quantiles of one row. After the last row, which takes less than a second, it publishes all figures.
func (l *Ledger) publish() {
	for l.next < len(l.rows) && l.rows[l.next].calls == 0 {
		l.next++
	}
	if l.next < len(l.rows) {
		l.rows[l.next].look()
		l.next++
		return
	}
	if !l.publication.mu.TryLock() {
		return // a reader copies the page: try again after the next turn
	}
	l.next = 0
	l.turns.look()
	l.fill(&l.page)
	l.publication.mu.Unlock()
}

func (l *Ledger) fill(s *reportPage) {
	s.turns, s.over = l.turns.figures, l.over
	for i := range l.rows {
		s.rows[i] = l.rows[i].figures
	}
	s.largest.take(&l.largest)
}

// Latest returns what was published last, which is at most about a second old; before the first time it has no rows. It
// may be called from any goroutine, and never holds up the ledger's.
func (l *Ledger) Latest() Report {
	l.publication.mu.Lock()
	defer l.publication.mu.Unlock()
	return l.report(&l.page)
}

// Report returns what was accounted up to the last turn, with its slices. It is for the ledger's goroutine, or when that
// has ended.
func (l *Ledger) Report() Report {
	s := newPage(len(l.rows))
	for i := range l.rows {
		l.rows[i].look()
	}
	l.turns.look()
	l.fill(&s)
	r := l.report(&s)
	for i := range r.Rows {
		r.Rows[i].Slices = l.slice(r.Rows[i].index)
	}
	return r
}

// Cut ends a slice. Reports hold the cost per turn of each row in each slice, for comparisons.
func (l *Ledger) Cut() {
	turns := l.turns.calls - l.cut
	if turns == 0 {
		return
	}
	l.cut = l.turns.calls
	l.slices = append(l.slices, turns)
	for i := range l.rows {
		a := &l.rows[i]
		a.slices = append(a.slices, a.self-a.cut)
		a.cut = a.self
	}
}

// mergeSlices adds those of another ledger, which were cut at the same moments.
func (l *Ledger) mergeSlices(from *Ledger) {
	for n, turns := range from.slices {
		if n == len(l.slices) {
			l.slices = append(l.slices, 0)
			for i := range l.rows {
				l.rows[i].slices = append(l.rows[i].slices, 0)
			}
		}
		l.slices[n] += turns
		for i := range l.rows {
			l.rows[i].slices[n] += from.rows[i].slices[n]
		}
	}
}

// slice returns what a row took per turn in each slice, in ns, to a tenth.
func (l *Ledger) slice(row int) (list []float64) {
	for n, turns := range l.slices {
		list = append(list, math.Round(10*float64(l.rows[row].slices[n])/float64(turns))/10)
	}
	return list
}

// report turns a reportPage into what it says.
func (l *Ledger) report(s *reportPage) Report {
	r := Report{Name: l.config.Name, Budget: l.config.Budget, Turns: s.turns.calls, Over: s.over, Busy: s.turns.total,
		P50: s.turns.p50, P99: s.turns.p99, Max: s.turns.max}
	available := float64(r.Budget) * float64(max(r.Turns, 1))
	for i := range s.rows {
		f := &s.rows[i]
		if f.calls == 0 {
			continue
		}
		row := Row{Calls: f.calls, Total: f.total, Self: f.self, P50: f.p50, P99: f.p99, Max: f.max,
			Share: float64(f.self) / available, Allocs: f.memory.objects, AllocBytes: f.memory.bytes, index: i}
		row.Phase, row.System = l.name(i)
		r.Rows = append(r.Rows, row)
	}
	t := &s.largest
	r.Largest = l.export(t)
	return r
}

// export returns the public form of a turn.
func (l *Ledger) export(t *turn) Turn {
	out := Turn{Tick: t.tick, Cost: t.cost, Computed: t.computed, Again: t.again}
	for i, p := range t.parts {
		if p.calls > 0 {
			phase, system := l.name(i)
			out.Parts = append(out.Parts, Part{Phase: phase, System: system, Calls: int(p.calls), Self: p.self})
		}
	}
	return out
}

// phases are the names of the engine's sections.
var phases = [image.SectionSystems]string{
	image.SectionFrame: "frame", image.SectionThink: "think", image.SectionOpen: "open", image.SectionReceive: "receive", image.SectionReconcile: "reconcile", image.SectionRewind: "rewind",
	image.SectionRestore: "restore", image.SectionResimulate: PhaseAgain, image.SectionSimulate: PhaseForward, image.SectionSave: "save",
	image.SectionChecksum: "checksum", image.SectionEncode: "encode", image.SectionSend: "send", image.SectionPresent: "present",
}

// name returns the phase and the system of a row; the engine's phases have no system.
func (l *Ledger) name(row int) (phase, system string) {
	system0 := int(image.SectionSystems)
	switch {
	case row < system0:
		return phases[row], ""
	case row < system0+l.systems:
		return PhaseForward, l.config.Game.Systems[row-system0].Name
	case row < system0+2*l.systems:
		return PhaseAgain, l.config.Game.Systems[row-system0-l.systems].Name
	}
	if list := *l.strategy.Load(); row-system0-2*l.systems < len(list) {
		n := list[row-system0-2*l.systems]
		return n.phase, n.system
	}
	return "", ""
}
