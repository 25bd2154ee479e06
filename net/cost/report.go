package cost

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tendon/ecs"
	"tendon/net/cost/traffic"
)

// The phases in which systems run.
const (
	PhaseForward = "simulate"   // a tick is computed for the first time
	PhaseAgain   = "resimulate" // it is resimulated
)

// Report holds the costs in a ledger.
type Report struct {
	Name    string         `json:"name"`
	Budget  time.Duration  `json:"budget_ns"` // of one turn
	Turns   uint64         `json:"turns"`     // Frames, each with the receiving and presenting since the one before
	Over    uint64         `json:"over"`      // turns that took longer than the budget
	Busy    time.Duration  `json:"busy_ns"`   // of all turns
	P50     time.Duration  `json:"p50_ns"`    // of a turn
	P99     time.Duration  `json:"p99_ns"`
	Max     time.Duration  `json:"max_ns"`
	Rows    []Row          `json:"rows"` // rows with at least one call: phases, systems, resimulated systems
	Largest Turn           `json:"largest"`
	Bytes   *traffic.Bytes `json:"bytes,omitempty"` // nil unless Config.Bytes
}

// RowName identifies a row: a phase, with a system if the row is one system's.
type RowName struct {
	Phase  string `json:"phase"`
	System string `json:"system,omitempty"`
}

// Label returns the name in tables.
func (n RowName) Label() string {
	switch {
	case n.System == "":
		return n.Phase
	case n.Phase == PhaseAgain:
		return n.System + " (again)"
	case n.Phase == PhaseForward:
		return n.System
	}
	return n.Phase + "/" + n.System
}

// Row holds the costs of one phase or system. Total, P50, P99 and Max are from Enter to Leave and include nested sections.
// Self and Share exclude them, so the shares of all rows add up to the used part of the budget.
type Row struct {
	RowName
	Calls uint64        `json:"calls"`
	Total time.Duration `json:"total_ns"`
	Self  time.Duration `json:"self_ns"`
	P50   time.Duration `json:"p50_ns"` // of one call
	P99   time.Duration `json:"p99_ns"`
	Max   time.Duration `json:"max_ns"`
	Share float64       `json:"share"` // of the budget of all turns
	// Allocs and AllocBytes exclude nested sections. They are 0 unless Config.Allocs.
	Allocs     uint64 `json:"allocs,omitempty"`
	AllocBytes uint64 `json:"alloc_bytes,omitempty"`
	// Slices are the self times per turn, in ns, of the parts that Cut made of a run.
	Slices []float64 `json:"slices_ns,omitempty"`
}

// Turn is one Frame, with the receiving and presenting since the one before.
type Turn struct {
	Tick     ecs.Tick      `json:"tick"` // the last that was computed by its end
	Cost     time.Duration `json:"cost_ns"`
	Computed int           `json:"computed"` // ticks computed for the first time
	Again    int           `json:"again"`    // ticks resimulated: the depth of its rollbacks
	Parts    []Part        `json:"parts"`
}

// Part is the self time of a row in a turn.
type Part struct {
	RowName
	Calls int           `json:"calls"`
	Self  time.Duration `json:"self_ns"`
}

// Used returns the share of the budget that was used, of all turns.
func (r *Report) Used() float64 {
	return float64(r.Busy) / (float64(r.Budget) * float64(max(r.Turns, 1)))
}

// Row returns the row of a phase and system, nil if it was not called.
func (r *Report) Row(phase, system string) *Row {
	for i := range r.Rows {
		if r.Rows[i].Phase == phase && r.Rows[i].System == system {
			return &r.Rows[i]
		}
	}
	return nil
}

// Line returns the cost of turns and the most expensive rows in one line.
func (r *Report) Line() string {
	if r.Turns == 0 {
		return r.Name + ": nothing was computed"
	}
	rows := slices.Clone(r.Rows)
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Self, a.Self) })
	var all time.Duration // more than Busy: rows include the turn that has not ended
	for _, row := range rows {
		all += row.Self
	}
	var most []string
	for _, row := range rows[:min(3, len(rows))] {
		most = append(most, fmt.Sprintf("%s %.0f %%", row.Label(), 100*float64(row.Self)/float64(max(all, 1))))
	}
	return fmt.Sprintf("%s: %s a turn (p99 %s, max %s), %.1f %% of the tick; most of it %s; %d of %d turns over it",
		r.Name, Short(r.Busy/time.Duration(r.Turns)), Short(r.P99), Short(r.Max), 100*r.Used(), strings.Join(most, ", "), r.Over, r.Turns)
}

// Short formats a time with about three digits.
func Short(d time.Duration) string {
	us := float64(d) / 1e3
	switch {
	case us < 10:
		return fmt.Sprintf("%.2f µs", us)
	case us < 10_000:
		return fmt.Sprintf("%.0f µs", us)
	}
	return fmt.Sprintf("%.0f ms", us/1e3)
}

// Header names the columns of Cells.
var Header = []string{"", "calls", "self/turn", "share", "p50", "p99", "max", "total"}

// Cells returns a row as a line of a table: see Header.
func (r *Report) Cells(row *Row) []string {
	return []string{row.Label(), fmt.Sprint(row.Calls), Short(row.Self / time.Duration(max(r.Turns, 1))), fmt.Sprintf("%.2f %%", 100*row.Share),
		Short(row.P50), Short(row.P99), Short(row.Max), Short(row.Total)}
}

// Text returns the report as a table.
func (r *Report) Text() string {
	lines := [][]string{Header}
	for i := range r.Rows {
		lines = append(lines, r.Cells(&r.Rows[i]))
	}
	return r.Line() + "\n\n" + aligned(lines) + Explained + "\n"
}

// Explained stands below tables.
const Explained = "self and share are without what is nested inside; p50, p99, max and total are with it; share is of the tick budget"

// Text returns the cost of a turn and of its parts, the most expensive first.
func (t *Turn) Text() string {
	parts := slices.Clone(t.Parts)
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Self, a.Self) })
	var lines [][]string
	for _, p := range parts {
		share := 100 * float64(p.Self) / float64(max(t.Cost, 1))
		lines = append(lines, []string{p.Label(), Short(p.Self), fmt.Sprintf("%.0f %%", share), fmt.Sprintf("%d×", p.Calls)})
	}
	return fmt.Sprintf("tick %d took %s: %d computed, %d again\n", t.Tick, Short(t.Cost), t.Computed, t.Again) + aligned(lines)
}

// aligned returns lines of cells with all columns aligned to the right.
func aligned(lines [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, cells := range lines {
		fmt.Fprintf(w, "%s\t\n", strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a strings.Builder does not fail
	return b.String()
}
