package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"tendon/cmd/cli/internal/app"
	"tendon/net/lab"
)

// labTables returns the tables of the measurements and of the gates.
func labTables(r *lab.Report, verdicts []lab.Verdict) (tables []*app.Table) {
	notes := "" // the reasons why matches were not measured and gates are not judged
	for i := range r.Results {
		if x := &r.Results[i]; x.Failed != "" {
			notes += fmt.Sprintf("\n%s on %s is not measured: %s", x.Strategy, x.Profile, x.Failed)
		}
	}
	if why := lab.Unjudged(r); why != "" {
		notes += "\nno gate is judged: " + why
	}
	for _, of := range labColumns {
		names := []string{"strategy", "net"}
		for _, c := range of.columns {
			names = append(names, c.heading())
		}
		t := app.NewTable(of.title, names...)
		for i := range r.Results {
			x := &r.Results[i]
			row := []string{x.Strategy, strings.TrimSpace(x.Profile + " " + x.Title)}
			for _, c := range of.columns {
				if x.Failed != "" {
					row = append(row, absent)
				} else {
					row = append(row, c.cell(x))
				}
			}
			t.Append(row...)
		}
		for _, c := range slices.Backward(of.columns) {
			if !slices.Contains(of.kept, c.name) {
				t.Extra = append(t.Extra, c.heading())
			}
		}
		t.Caption = of.caption + notes
		tables, notes = append(tables, t), "" // notes are only below the first
	}
	if len(verdicts) > 0 {
		tables = append(tables, gateTable(verdicts))
	}
	return tables
}

// absent stands for a value that was not measured.
const absent = "–"

// figure returns a figure, or absent.
func figure(there bool, format string, values ...any) string {
	if !there {
		return absent
	}
	return fmt.Sprintf(format, values...)
}

// result keeps the cells short.
type result = lab.Result

// labColumn is a column of a table: a figure of every match.
type labColumn struct {
	name string
	cell func(x *result) string
}

// heading returns the name in lines: that of the value, then those of the values in parentheses.
func (c *labColumn) heading() string {
	return strings.NewReplacer(" (", "\n(", ", longest", ",\nlongest").Replace(c.name)
}

// labColumns are the tables. A narrow table has the columns in kept, and others as far as they fit.
var labColumns = []struct {
	title, caption string
	kept           []string
	columns        []labColumn
}{
	{"when it is seen", "medians, in ms; shown, confirmed: from the input that changed; age: of the picture, behind the server's time", []string{"shown (p95, p99)", "others' age (p95)", "stall % (a minute, longest)"}, []labColumn{
		{"shown (p95, p99)", func(x *result) string {
			return figure(x.Display.N > 0, "%.0f (%.0f, %.0f)", x.Display.P50, x.Display.P95, x.Display.P99)
		}},
		{"confirmed (p99)", func(x *result) string { return figure(x.Confirm.N > 0, "%.0f (%.0f)", x.Confirm.P50, x.Confirm.P99) }},
		{"own age (p95)", func(x *result) string { return figure(x.Own.N > 0, "%.0f (%.0f)", x.Own.P50, x.Own.P95) }},
		{"others' age (p95)", func(x *result) string { return figure(x.Remote.N > 0, "%.0f (%.0f)", x.Remote.P50, x.Remote.P95) }},
		{"lag ms/s", func(x *result) string { return figure(x.Own.N > 0, "%.1f", math.Round(x.Slope*10)/10+0) }},
		{"stall % (a minute, longest)", func(x *result) string {
			return fmt.Sprintf("%.2f (%.0f, %.0f)", x.Stall.Percent, x.Stall.PerMinute, x.Stall.Longest)
		}},
		{"freeze % (a minute, longest)", func(x *result) string {
			return figure(x.Paces > 0, "%.2f (%.0f, %.0f)", x.Freeze.Percent, x.Freeze.PerMinute, x.Freeze.Longest)
		}},
	}},
	{"how it moves", "in world units; off: distance of remote entities from their true places; hits: ticks shown with all inputs right", []string{"corrections/min (p50, p99)", "off (p99)"}, []labColumn{
		{"corrections/min (p50, p99)", func(x *result) string {
			return figure(x.Own.N > 0, "%.0f (%.2f, %.2f)", x.Corrections.PerMinute, x.Corrections.Size.P50, x.Corrections.Size.P99)
		}},
		{"of them own", func(x *result) string {
			return figure(x.Corrections.Size.N > 0, "%d", x.Corrections.Causes.Substituted)
		}},
		{"jump (p99)", func(x *result) string { return figure(x.Absolute.N > 0, "%.2f (%.2f)", x.Jumps.Max, x.Jumps.P99) }},
		{"snaps/min", func(x *result) string { return figure(x.Absolute.N > 0, "%.1f", x.Jumps.SnapsRate) }},
		{"backward", func(x *result) string { return figure(x.Absolute.N > 0, "%d", x.Jumps.Backward) }},
		{"off (p99)", func(x *result) string { return figure(x.Absolute.N > 0, "%.2f (%.2f)", x.Absolute.RMS, x.Absolute.P99) }},
		{"off for its age (p99)", func(x *result) string { return figure(x.Shape.N > 0, "%.3f (%.2f)", x.Shape.RMS, x.Shape.P99) }},
		{"rough %", func(x *result) string { return figure(x.Paces > 0, "%.1f", x.Roughness) }},
		{"hits %", func(x *result) string { return figure(x.Predicts, "%.0f", x.Hits) }},
	}},
	{"what is hit", "agree: lines fired at or beside other players that hit the same on the server and on the screen. views: age when the server uses them, in ms. back: how far the server looks back for a hit, in ms. A player who is hit can have been behind cover for that long", []string{"lines", "agree %", "views (p99)"}, []labColumn{
		{"lines", func(x *result) string { return figure(x.Shots.N > 0, "%d", x.Shots.N) }},
		{"agree %", func(x *result) string { return figure(x.Shots.N > 0, "%.1f", x.Shots.Agree) }},
		{"within the cap", func(x *result) string { return figure(x.Shots.N > 0, "%d", x.Shots.InCap) }},
		{"agree % of these", func(x *result) string { return figure(x.Shots.InCap > 0, "%.1f", x.Shots.AgreeInCap) }},
		{"views (p99)", func(x *result) string { return figure(x.Shots.N > 0, "%.0f (%.0f)", x.Shots.Age.P50, x.Shots.Age.P99) }},
		{"back (p99)", func(x *result) string {
			return figure(x.Shots.Past.N > 0, "%.0f (%.0f)", x.Shots.Past.P50, x.Shots.Past.P99)
		}},
	}},
	{"what it sends", "of one client, in kbit/s; wire: with all headers; late, substituted: share of inputs; wait: of a changed entity for its update", []string{"RTT ms", "up (wire, most)", "down (wire, most)"}, []labColumn{
		{"RTT ms", func(x *result) string { return fmt.Sprintf("%.0f", x.RTT) }},
		{"late %", func(x *result) string { return fmt.Sprintf("%.2f", x.Late) }},
		{"substituted %", func(x *result) string { return fmt.Sprintf("%.2f", x.Substituted) }},
		{"up (wire, most)", func(x *result) string { return fmt.Sprintf("%.1f (%.0f, %.0f)", x.Up.Payload, x.Up.Wire, x.Up.Most) }},
		{"down (wire, most)", func(x *result) string {
			return fmt.Sprintf("%.1f (%.0f, %.0f)", x.Down.Payload, x.Down.Wire, x.Down.Most)
		}},
		{"longest wait ms (overdue)", func(x *result) string {
			return figure(x.Updates.Longest > 0, "%.0f (%d)", x.Updates.Longest, x.Updates.Overdue)
		}},
		{"packets/s up, down", func(x *result) string { return fmt.Sprintf("%.0f, %.0f", x.Up.Packets, x.Down.Packets) }},
	}},
	{"what it computes", "in real time, side by side with other matches unless --jobs 1; window: ticks predicted", []string{"server µs/tick", "client µs/frame (p99)", "desyncs"}, []labColumn{
		{"window (p99)", func(x *result) string { return figure(x.Predicts, "%.0f (%.0f)", x.Window.P50, x.Window.P99) }},
		{"again/s", func(x *result) string { return figure(x.Predicts, "%.0f", x.Resimulated) }},
		{"server µs/tick", func(x *result) string { return figure(x.ServerTick > 0, "%.1f", x.ServerTick/1e3) }},
		{"client µs/frame (p99)", func(x *result) string {
			return figure(x.ClientFrame > 0, "%.1f (%.0f)", x.ClientFrame/1e3, x.ClientWorst/1e3)
		}},
		{"× real time", func(x *result) string { return figure(x.Factor > 0, "%.0f", x.Factor) }},
		{"desyncs", func(x *result) string { return figure(x.Exact, "%d", x.Desyncs) }},
		{"away %", func(x *result) string { return fmt.Sprintf("%.2f", x.Away) }},
		{"resyncs", func(x *result) string { return fmt.Sprint(x.Resyncs) }},
	}},
}

// gateTable returns the table of the verdicts.
func gateTable(verdicts []lab.Verdict) *app.Table {
	t := app.NewTable("gates", "strategy", "net", "measure", "at most", "is", "")
	t.Configs = []table.ColumnConfig{{Name: "measure", WidthMax: 22, WidthMaxEnforcer: text.WrapSoft}}
	t.Caption = "for four players and default settings"
	for i := range verdicts {
		v := &verdicts[i]
		word, value, reason := "met", fmt.Sprintf("%.4g", v.Value), ""
		switch {
		case v.Unjudged != "":
			word, reason = "not judged", v.Unjudged
			if v.Unjudged == lab.NoValue {
				value = absent
			}
		case !v.Met && v.Known != nil:
			word, reason = "missed", fmt.Sprintf("missed, best %.3g: %s", v.Known.Best, v.Known.Reason)
		case !v.Met:
			word = "MISSED"
			if premise := v.Measure.Premise(); premise != "" {
				reason = "MISSED, " + premise
			}
		}
		if reason != "" {
			t.Caption += fmt.Sprintf("\n%s on %s, %s: %s", v.Strategy, v.Profile, v.Measure, reason)
		}
		t.Append(v.Strategy, v.Profile, v.Measure.String(), fmt.Sprintf("%.4g", v.Most), value, word)
	}
	return t
}
