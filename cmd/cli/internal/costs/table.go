package costs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"tendon/cmd/cli/internal/app"
	"tendon/net/cost"
	"tendon/net/cost/traffic"
)

// group is a phase of the engine, or a system in all its rows.
type group struct {
	name         string
	engine, game bool             // it is a phase, or a system of the game; neither: a system of the strategy
	self         [3]time.Duration // of the engine, of a system, of a system that is resimulated
	share        float64
}

func (g *group) total() time.Duration { return g.self[0] + g.self[1] + g.self[2] }

// groups returns the phases and systems of a report, the most expensive first.
func groups(r *cost.Report) (list []group) {
	for i := range r.Rows {
		row, kind := &r.Rows[i], 1
		switch {
		case row.System == "":
			kind = 0
		case row.Phase == cost.PhaseAgain:
			kind = 2
		}
		g := group{name: cmp.Or(row.System, row.Phase), engine: kind == 0, game: kind == 2 || kind == 1 && row.Phase == cost.PhaseForward}
		at := slices.IndexFunc(list, func(o group) bool { return o.name == g.name && o.engine == g.engine && o.game == g.game })
		if at < 0 {
			at, list = len(list), append(list, g)
		}
		list[at].self[kind] += row.Self
		list[at].share += row.Share
	}
	slices.SortStableFunc(list, func(a, b group) int { return cmp.Compare(b.total(), a.total()) })
	return list
}

// SystemCost is the cost of a system of the game in both of its rows.
type SystemCost struct {
	System string        `json:"system"`
	Self   time.Duration `json:"self_ns"`
	Share  float64       `json:"share"`
	Again  float64       `json:"again"` // the part of it that was resimulation, in [0, 1]
}

// Dearest returns the three most expensive systems of the game, the most expensive first.
func Dearest(r *cost.Report) (list []SystemCost) {
	for _, g := range groups(r) {
		if g.game && len(list) < 3 {
			list = append(list, SystemCost{g.name, g.total(), g.share, float64(g.self[2]) / float64(max(g.total(), 1))})
		}
	}
	return list
}

// Render returns the tables of both sides, the most expensive systems, and the parts of the largest turns. Unless wide is set,
// the tables leave out columns that do not fit a terminal.
func Render(f *File, allocs, wide bool) string {
	var b strings.Builder
	for _, r := range f.Reports() {
		b.WriteString(renderReport(r, allocs, wide))
	}
	b.WriteString(renderBytes(&f.Server, f.Load.Seconds, wide))
	for _, r := range f.Reports() {
		fmt.Fprintf(&b, "\n%s\n", app.Wrapped(r.Line()))
		for i, s := range Dearest(r) {
			fmt.Fprintf(&b, "  %d. %s: %s per turn, %.2f %% of the tick, %.0f %% of it resimulated\n", i+1, s.System,
				cost.Short(s.Self/time.Duration(max(r.Turns, 1))), 100*s.Share, 100*s.Again)
		}
		lines := strings.SplitAfterN(r.Largest.Text(), "\n", 9)
		fmt.Fprintf(&b, "its largest turn: %s", strings.Join(lines[:min(8, len(lines))], ""))
	}
	if f.Events.Predicted > 0 {
		fmt.Fprintf(&b, "\na client showed %.0f events before they were confirmed, and cancelled %.0f of them\n", f.Events.Predicted, f.Events.Cancelled)
	}
	return b.String()
}

func renderReport(r *cost.Report, allocs, wide bool) string {
	columns, extra := cost.Header, []string{"total", "calls", "max"}
	if allocs {
		columns, extra = append(slices.Clone(columns), "allocs/call", "bytes/call"), append(extra, "p50", "p99", "share")
	}
	t := app.NewTable(r.Name, columns...)
	t.Extra, t.Caption = extra, cost.Explained
	for _, name := range columns[1:] {
		t.Configs = append(t.Configs, table.ColumnConfig{Name: name, Align: text.AlignRight})
	}
	for i := range r.Rows {
		x := &r.Rows[i]
		if i > 0 && ((x.System == "") != (r.Rows[i-1].System == "") || x.System != "" && x.Phase != r.Rows[i-1].Phase) {
			t.AppendSeparator()
		}
		cells := r.Cells(x)
		if allocs {
			cells = append(cells, fmt.Sprintf("%.2f", float64(x.Allocs)/float64(x.Calls)), fmt.Sprintf("%.1f", float64(x.AllocBytes)/float64(x.Calls)))
		}
		t.Append(cells...)
	}
	return t.Text(wide)
}

// mostBytes is the maximum number of rows of the table of bytes, unless it is wide.
const mostBytes = 12

// renderBytes returns the table of the bytes of the server's messages, by kind of entity and component.
func renderBytes(r *cost.Report, seconds float64, wide bool) string {
	if r.Bytes == nil {
		return ""
	}
	t := app.NewTable("bytes to all clients", traffic.Header...)
	for _, name := range traffic.Header[2:] {
		t.Configs = append(t.Configs, table.ColumnConfig{Name: name, Align: text.AlignRight})
	}
	rows := r.Bytes.Largest()
	rest := traffic.Row{Kind: "the rest"}
	if !wide && len(rows) > mostBytes {
		for _, x := range rows[mostBytes:] {
			rest.Bytes += x.Bytes
		}
		rows = append(rows[:mostBytes], rest)
	}
	for i := range rows {
		cells := r.Bytes.Cells(&rows[i], seconds)
		if !wide {
			cells[0] = shortened(cells[0], 40)
		}
		t.Append(cells...)
	}
	t.Caption = "a kind of entity is a set of components; without headers, encryption and images"
	return t.Text(wide)
}

// shortened returns at most the first most characters of a text.
func shortened(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}
