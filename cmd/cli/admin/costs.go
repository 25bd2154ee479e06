package admin

import (
	"maps"
	"slices"

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

// turnCosts are the costs of a page. Turns, Busy, and the Calls, Self and Share of rows are of the turns since the last update.
type turnCosts struct {
	cost.Report
	All uint64 `json:"all"` // turns
}

// since compares a report with an earlier one of the same rooms. If there were no turns since then, all turns count.
func since(now, before *cost.Report) turnCosts {
	if now.Turns <= before.Turns {
		before = &cost.Report{}
	}
	c := turnCosts{Report: *now, All: now.Turns}
	c.Turns, c.Busy, c.Rows = max(now.Turns-before.Turns, 1), now.Busy-before.Busy, append([]cost.Row{}, now.Rows...)
	for i := range c.Rows {
		r := &c.Rows[i]
		if old := before.Row(r.Phase, r.System); old != nil {
			r.Calls, r.Self = r.Calls-old.Calls, r.Self-old.Self
		}
		r.Share = float64(r.Self) / (float64(c.Turns) * float64(max(now.Budget, 1)))
	}
	return c
}
