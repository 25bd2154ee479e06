package costs

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"tendon/cmd/cli/internal/app"
	"tendon/net/cost"
)

// Render returns the tables of both sides, the most expensive systems, and the parts of the largest turns.
func Render(f *File, allocs bool) string {
	var b strings.Builder
	for _, r := range []*cost.Report{&f.Server, &f.Client} {
		b.WriteString(renderReport(r, allocs))
	}
	for _, r := range []*cost.Report{&f.Server, &f.Client} {
		fmt.Fprintf(&b, "\n%s\n", r.Line())
		for i, s := range r.Dearest(3) {
			fmt.Fprintf(&b, "  %d. %s: %s per turn, %.2f %% of the tick, %.0f %% of it resimulated\n", i+1, s.System,
				cost.Short(s.Self/time.Duration(max(r.Turns, 1))), 100*s.Share, 100*s.Again)
		}
		fmt.Fprintf(&b, "its largest turn: %s", firstLines(r.Largest.Text(), 8))
	}
	return b.String()
}

func firstLines(lines string, most int) string {
	list := strings.SplitAfter(lines, "\n")
	return strings.Join(list[:min(most, len(list))], "")
}

func renderReport(r *cost.Report, allocs bool) string {
	t := app.NewTable(r.Name)
	header := table.Row{}
	for _, name := range cost.Header {
		header = append(header, name)
	}
	if allocs {
		header = append(header, "allocs/call", "bytes/call")
	}
	t.AppendHeader(header)
	columns := make([]table.ColumnConfig, len(header))
	for i := range columns {
		columns[i] = table.ColumnConfig{Number: i + 1, Align: text.AlignRight}
	}
	columns[0].Align = text.AlignLeft
	t.SetColumnConfigs(columns)
	for i := range r.Rows {
		row := &r.Rows[i]
		if i > 0 && (row.System != "") != (r.Rows[i-1].System != "") || i > 0 && row.System != "" && row.Phase != r.Rows[i-1].Phase {
			t.AppendSeparator()
		}
		line := table.Row{}
		for _, cell := range r.Cells(row) {
			line = append(line, cell)
		}
		if allocs {
			line = append(line, fmt.Sprintf("%.2f", float64(row.Allocs)/float64(row.Calls)), fmt.Sprintf("%.1f", float64(row.AllocBytes)/float64(row.Calls)))
		}
		t.AppendRow(line)
	}
	t.SetCaption("%s", cost.Explained)
	return t.Render() + "\n"
}
