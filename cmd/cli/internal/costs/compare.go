package costs

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"tendon/cmd/cli/internal/app"
	"tendon/net/cost"
)

// comparedRow is the comparison of a row of one side.
type comparedRow struct {
	Side string `json:"side"`
	cost.Ratio
	Verdict string `json:"verdict"` // "worse", "better", "new", "gone" or ""
}

// CheckLoads refuses files of different loads.
func CheckLoads(names []string, old, new *File) error {
	a, b := old.Load, new.Load
	for _, field := range []struct {
		what     string
		old, new any
	}{
		{"game", a.Game, b.Game}, {"tick rate", a.TickRate, b.TickRate}, {"strategy", a.Sync, b.Sync}, {"network", a.Net, b.Net},
		{"number of players", a.Players, b.Players}, {"length in seconds", a.Seconds, b.Seconds}, {"seed", a.Seed, b.Seed},
	} {
		if field.old != field.new {
			return fmt.Errorf("%s and %s are not of the same load, so they cannot be compared: the %s is %v in one and %v in the other; measure both alike",
				names[0], names[1], field.what, field.old, field.new)
		}
	}
	return nil
}

// allRows is the confidence of all verdicts together.
const allRows = 0.95

// Compare compares all rows of both sides. speed is the time of reference in the new file, divided by the old one.
func Compare(old, new *File, limit float64) (rows []comparedRow, speed float64, err error) {
	speed = 1
	if was, is := Median(old.Reference), Median(new.Reference); was > 0 && is > 0 {
		speed = is / was
	}
	// Bonferroni correction: the error of all rows together is at most 1 - allRows.
	confidence := 1 - (1-allRows)/float64(max(len(new.Server.Rows)+len(new.Client.Rows), 1))
	for _, side := range []struct {
		name     string
		old, new *cost.Report
	}{{"server", &old.Server, &new.Server}, {"client", &old.Client, &new.Client}} {
		ratios, err := cost.Compare(side.old, side.new, speed, confidence)
		if err != nil {
			return nil, 0, err
		}
		for _, r := range ratios {
			row := comparedRow{Side: side.name, Ratio: r}
			switch {
			case r.OldCalls == 0:
				row.Verdict = "new"
			case r.NewCalls == 0:
				row.Verdict = "gone"
			case r.Worse(limit):
				row.Verdict = "worse"
			case r.Better(limit):
				row.Verdict = "better"
			}
			rows = append(rows, row)
		}
	}
	return rows, speed, nil
}

// RenderComparison returns the table of a comparison.
func RenderComparison(rows []comparedRow, speed float64) string {
	t := app.NewTable("")
	t.AppendHeader(table.Row{"", "", "calls/turn", "before", "now", "ratio", "95 % within", ""})
	for i, r := range rows {
		if i > 0 && r.Side != rows[i-1].Side {
			t.AppendSeparator()
		}
		ratio, within := fmt.Sprintf("%.2f", r.Median), fmt.Sprintf("%.2f to %.2f", r.Low, r.High)
		switch {
		case r.Median == 0:
			ratio, within = "", ""
		case r.Uncertain:
			within = "too few turns"
		}
		calls := fmt.Sprintf("%.2f", r.NewCalls)
		if was := fmt.Sprintf("%.2f", r.OldCalls); was != calls {
			calls = was + " → " + calls
		}
		t.AppendRow(table.Row{r.Side, r.Label(), calls, nanos(r.Old), nanos(r.New), ratio, within, r.Verdict})
	}
	t.SetCaption("self times per turn, now divided by before, corrected for the speed of the machine, which took %.2f of the time for constant work", speed)
	return t.Render() + "\n"
}

// nanos formats nanoseconds.
func nanos(ns float64) string {
	if ns == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f µs", ns/1e3)
}
