package costs

import (
	"fmt"
	"slices"

	"golang.org/x/perf/benchmath"

	"tendon/cmd/cli/internal/app"
	"tendon/net/cost"
)

// comparedRow is the change of a row's self time per turn between two files. Median is new divided by old. It lies in
// [Low, High] with the confidence of the comparison.
type comparedRow struct {
	Side string `json:"side"`
	cost.RowName
	Old       float64 `json:"old_ns"` // per turn, the mean of all slices
	New       float64 `json:"new_ns"`
	OldCalls  float64 `json:"old_calls"` // per turn
	NewCalls  float64 `json:"new_calls"`
	Median    float64 `json:"ratio"` // 0: there is none, since only one of the files has the row
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Uncertain bool    `json:"uncertain"` // too few slices for the confidence: Low and High mean nothing
	Verdict   string  `json:"verdict"`   // "worse", "better", "new", "gone" or ""
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

const allRows = 0.95 // confidence of all verdicts together

// Compare compares all rows of both sides: those of the new file, then those that only the old one has. speed is the time of
// reference in the new file, divided by the old one; new costs are divided by it. A row is worse if its cost has grown by
// more than limit with confidence; 0.1 is 10 %. It fails if the files have different numbers of slices.
func Compare(old, new *File, limit float64) (rows []comparedRow, speed float64, err error) {
	speed = 1
	if was, is := Median(old.Reference), Median(new.Reference); was > 0 && is > 0 {
		speed = is / was
	}
	// Bonferroni correction: the error of all rows together is at most 1 - allRows.
	confidence := 1 - (1-allRows)/float64(max(len(new.Server.Rows)+len(new.Client.Rows), 1))
	for i, side := range [...]string{"server", "client"} {
		before, now := old.Reports()[i], new.Reports()[i]
		for _, row := range slices.Concat(now.Rows, before.Rows) {
			o, n := before.Row(row.Phase, row.System), now.Row(row.Phase, row.System)
			r := comparedRow{Side: side, RowName: row.RowName}
			if slices.ContainsFunc(rows, func(x comparedRow) bool { return x.Side == side && x.RowName == r.RowName }) {
				continue
			}
			if o != nil {
				r.Old, r.OldCalls = perTurn(before, o), callsPerTurn(before, o)
			}
			if n != nil {
				r.New, r.NewCalls = perTurn(now, n)/speed, callsPerTurn(now, n)
			}
			switch {
			case o == nil:
				r.Verdict = "new"
			case n == nil:
				r.Verdict = "gone"
			case len(o.Slices) != len(n.Slices):
				return nil, 0, fmt.Errorf("%s has %d slices in one file and %d in the other: compare runs of the same length", r.Label(), len(o.Slices), len(n.Slices))
			default:
				r.compare(o.Slices, n.Slices, speed, confidence, limit)
			}
			rows = append(rows, r)
		}
	}
	return rows, speed, nil
}

func callsPerTurn(r *cost.Report, row *cost.Row) float64 {
	return float64(row.Calls) / float64(max(r.Turns, 1))
}

// sampled is the number of slices in one sample of a comparison. The sample is the median of their ratios, so a pause of the
// machine in one or two of them does not count.
const sampled = 5

// compare sets the ratio to the median of the samples. Slice i of both files is the same part of the same match, so
// differences between parts of a match cancel out. The confidence interval is the distribution-free one of a median by order
// statistics (golang.org/x/perf/benchmath, AssumeNothing; Conover, Practical Nonparametric Statistics, 3rd edition, 3.2). It
// does not cover a machine whose speed during one whole run differs from speed.
func (r *comparedRow) compare(old, new []float64, speed, confidence, limit float64) {
	var ratios, some []float64
	for i := range new {
		if old[i] > 0 && new[i] > 0 {
			some = append(some, new[i]/speed/old[i])
		}
		if i%sampled == sampled-1 && len(some) > 0 {
			ratios, some = append(ratios, Median(some)), some[:0]
		}
	}
	if len(ratios) < 2 {
		r.Median, r.Uncertain = r.New/max(r.Old, 1e-9), true
		return
	}
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(ratios, &benchmath.DefaultThresholds), confidence)
	r.Median, r.Low, r.High, r.Uncertain = s.Center, s.Lo, s.Hi, len(s.Warnings) > 0
	switch {
	case r.Uncertain:
		r.Low, r.High = slices.Min(ratios), slices.Max(ratios)
	case r.Low > 1+limit:
		r.Verdict = "worse"
	case r.High < 1/(1+limit):
		r.Verdict = "better"
	}
}

// RenderComparison returns the table of a comparison.
func RenderComparison(rows []comparedRow, speed float64, wide bool) string {
	t := app.NewTable("", "side", "row", "calls/turn", "before", "now", "ratio", "95 % within", "")
	t.Extra = []string{"calls/turn", "before", "now"}
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
		t.Append(r.Side, r.Label(), calls, nanos(r.Old), nanos(r.New), ratio, within, r.Verdict)
	}
	t.Caption = fmt.Sprintf("self times per turn, now divided by before, corrected for the speed of the machine, which took %.2f of the time for constant work", speed)
	return t.Text(wide)
}

func nanos(ns float64) string {
	if ns == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f µs", ns/1e3)
}
