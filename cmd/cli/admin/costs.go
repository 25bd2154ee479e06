package admin

import (
	"maps"
	"slices"
	"time"

	"tendon/net/cost"
)

// together adds the costs of rooms. Quantiles cannot be added: those of the sum are the largest of an open room, or of the
// closed rooms if none is open.
func together(open map[string]cost.Report, past cost.Report) cost.Report {
	all := past
	all.Rows = slices.Clone(past.Rows)
	if len(open) > 0 {
		all.P50, all.P99, all.Max = 0, 0, 0
		for i := range all.Rows {
			r := &all.Rows[i]
			r.P50, r.P99, r.Max = 0, 0, 0
		}
	}
	for _, name := range slices.Sorted(maps.Keys(open)) {
		add(&all, open[name])
	}
	return all
}

// add adds one room's costs.
func add(all *cost.Report, r cost.Report) {
	all.Budget = r.Budget
	all.Turns, all.Over, all.Busy = all.Turns+r.Turns, all.Over+r.Over, all.Busy+r.Busy
	all.P50, all.P99, all.Max = max(all.P50, r.P50), max(all.P99, r.P99), max(all.Max, r.Max)
	for _, row := range r.Rows {
		sum := all.Row(row.Phase, row.System)
		if sum == nil {
			all.Rows = append(all.Rows, row)
			continue
		}
		sum.Calls, sum.Total, sum.Self = sum.Calls+row.Calls, sum.Total+row.Total, sum.Self+row.Self
		sum.P50, sum.P99, sum.Max = max(sum.P50, row.P50), max(sum.P99, row.P99), max(sum.Max, row.Max)
	}
}

// costRow is a row of the page's table of costs. Times are in µs.
type costRow struct {
	Name  string  `json:"name"`
	Again bool    `json:"again"` // a system that resimulates
	Calls float64 `json:"calls"` // per turn
	Share float64 `json:"share"` // of the budget, since the last update
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// turnCosts are the costs of the turns since the last update. Times are in µs.
type turnCosts struct {
	Used  float64   `json:"used"` // share of the budget
	P50   float64   `json:"p50"`
	P99   float64   `json:"p99"`
	Max   float64   `json:"max"`
	Over  uint64    `json:"over"`
	Turns uint64    `json:"turns"`
	Rows  []costRow `json:"rows"`
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }

// since compares a report with an earlier one of the same rooms. Shares are of the turns since then, or of all turns if there
// are none.
func since(now, before *cost.Report) turnCosts {
	turns, busy := now.Turns-before.Turns, now.Busy-before.Busy
	if now.Turns <= before.Turns {
		before, turns, busy = &cost.Report{}, max(now.Turns, 1), now.Busy
	}
	available := float64(turns) * float64(max(now.Budget, 1))
	c := turnCosts{Used: float64(busy) / available, P50: micros(now.P50), P99: micros(now.P99), Max: micros(now.Max), Over: now.Over,
		Turns: now.Turns, Rows: []costRow{}}
	for i := range now.Rows {
		r := &now.Rows[i]
		self, calls := r.Self, r.Calls
		if old := before.Row(r.Phase, r.System); old != nil {
			self, calls = self-old.Self, calls-old.Calls
		}
		c.Rows = append(c.Rows, costRow{Name: r.Label(), Again: r.Phase == cost.PhaseAgain && r.System != "", Calls: float64(calls) / float64(turns),
			Share: float64(self) / available, P50: micros(r.P50), P99: micros(r.P99), Max: micros(r.Max)})
	}
	return c
}
