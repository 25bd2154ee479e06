package cost

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"tendon/ecs/image"
)

// publication hands figures from the ledger's goroutine to any other, without a lock or an allocation on the first. Of
// its three sheets the writer owns one, the readers, in turn, another; the third is in between and is exchanged for
// one's own.
type publication struct {
	sheets  [3]reportPage
	back    uint32        // the writer's
	between atomic.Uint32 // with fresh set if no reader has seen it
	reading sync.Mutex    // among readers
	front   uint32        // the readers'
}

// fresh marks a reportPage that no reader has seen.
const fresh = 1 << 2

// reportPage is all figures of one moment.
type reportPage struct {
	turns   figures
	over    uint64
	rows    []figures
	largest turn
}

// figures are those of an account.
type figures struct {
	calls            uint64
	total, self, max time.Duration
	p50, p99         time.Duration
	memory           memory
}

func (p *publication) init(rows int) {
	for i := range p.sheets {
		p.sheets[i].rows, p.sheets[i].largest.parts = make([]figures, rows), make([]part, rows)
	}
	p.back, p.front = 0, 1
	p.between.Store(2)
}

func (a *account) figures() figures {
	return figures{calls: a.calls, total: a.total, self: a.self, max: a.max, p50: a.p50, p99: a.p99, memory: a.memory}
}

// publish looks at the quantiles of one row, and when all had their turn, which takes less than a second, hands out a
// reportPage.
func (l *Ledger) publish() {
	for l.next < len(l.rows) && l.rows[l.next].calls == 0 {
		l.next++
	}
	if l.next < len(l.rows) {
		l.rows[l.next].look()
		l.next++
		return
	}
	l.next = 0
	l.turns.look()
	l.fill(&l.sheets[l.back])
	l.back = l.between.Swap(l.back|fresh) &^ fresh
}

func (l *Ledger) fill(s *reportPage) {
	s.turns, s.over = l.turns.figures(), l.over
	for i := range l.rows {
		s.rows[i] = l.rows[i].figures()
	}
	s.largest.take(&l.largest)
}

// Latest returns what was published last, which is at most about a second old; before the first time it has no rows. It
// may be called from any goroutine, and never holds up the ledger's.
func (l *Ledger) Latest() Report {
	l.reading.Lock()
	defer l.reading.Unlock()
	if l.between.Load()&fresh != 0 {
		l.front = l.between.Swap(l.front) &^ fresh
	}
	return l.report(&l.sheets[l.front])
}

// Report returns what was accounted up to the last turn, with its slices. It is for the ledger's goroutine, or when that
// has ended.
func (l *Ledger) Report() Report {
	s := reportPage{rows: make([]figures, len(l.rows)), largest: turn{parts: make([]part, len(l.rows))}}
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
