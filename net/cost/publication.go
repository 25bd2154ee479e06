package cost

import (
	"math"
	"slices"
	"time"

	"tendon/net/cost/traffic"
)

// publish updates the quantiles of one row. After the last row, which takes less than a second, it publishes all figures.
// The ledger never waits: while a reader copies the page, it publishes after a later turn.
func (l *Ledger) publish() {
	for l.next < len(l.rows) && l.rows[l.next].Calls == 0 {
		l.next++
	}
	if l.next < len(l.rows) {
		l.rows[l.next].look()
		l.next++
		return
	}
	if !l.mu.TryLock() {
		return
	}
	l.next = 0
	l.turns.look()
	l.fill(&l.page, false)
	l.mu.Unlock()
}

// Latest returns the figures that were published last, which are at most about a second old. Before the first publication it
// has no rows. Any goroutine may call it; it does not block the ledger's.
func (l *Ledger) Latest() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.page
	r.Rows, r.Largest.Parts = slices.Clone(r.Rows), slices.Clone(r.Largest.Parts)
	if r.Bytes != nil {
		r.Bytes = &traffic.Bytes{Total: r.Bytes.Total, Rows: slices.Clone(r.Bytes.Rows)}
	}
	return r
}

// Report returns the costs up to the last turn, with slices. Only the ledger's goroutine may call it while that runs.
func (l *Ledger) Report() (r Report) {
	for i := range l.rows {
		l.rows[i].look()
	}
	l.turns.look()
	l.fill(&r, true)
	return r
}

// fill sets a report, whose memory it reuses.
func (l *Ledger) fill(r *Report, sliced bool) {
	rows, t := r.Rows[:0], &l.turns
	available := float64(l.budget) * float64(max(t.Calls, 1))
	for i := range l.rows {
		a := &l.rows[i]
		if a.Calls == 0 {
			continue
		}
		row := a.Row
		row.Share = float64(row.Self) / available
		if sliced {
			row.Slices = l.slices(i)
		}
		rows = append(rows, row)
	}
	largest := l.largest
	largest.Parts = l.appendParts(r.Largest.Parts[:0], &l.largest)
	bytes := r.Bytes
	if l.bytes != nil {
		if bytes == nil {
			bytes = &traffic.Bytes{}
		}
		l.bytes.Report(bytes)
	}
	*r = Report{Bytes: bytes, Name: l.config.Name, Budget: l.budget, Turns: t.Calls, Over: l.over, Busy: t.Total, P50: t.P50, P99: t.P99, Max: t.Max,
		Rows: rows, Largest: largest}
}

// appendParts appends the parts of a turn that were called, with their names.
func (l *Ledger) appendParts(dst []Part, t *Turn) []Part {
	for i, p := range t.Parts {
		if p.Calls > 0 {
			p.RowName = l.rows[i].RowName
			dst = append(dst, p)
		}
	}
	return dst
}

// cut is the turns and the self time of each row up to a moment.
type cut struct {
	turns uint64
	self  []time.Duration
}

// Cut ends a slice. Reports hold the cost per turn of each row in each slice, for comparisons.
func (l *Ledger) Cut() {
	c := cut{turns: l.turns.Calls}
	if n := len(l.cuts); n > 0 && l.cuts[n-1].turns == c.turns || c.turns == 0 {
		return
	}
	for i := range l.rows {
		c.self = append(c.self, l.rows[i].Self)
	}
	l.cuts = append(l.cuts, c)
}

// slices returns the cost of row i per turn in each slice, in ns, rounded to a tenth.
func (l *Ledger) slices(i int) (list []float64) {
	turns, self := uint64(0), time.Duration(0)
	for _, c := range l.cuts {
		list = append(list, math.Round(10*float64(c.self[i]-self)/float64(c.turns-turns))/10)
		turns, self = c.turns, c.self[i]
	}
	return list
}
