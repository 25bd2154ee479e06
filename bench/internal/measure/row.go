package measure

import (
	"fmt"
	"strings"
	"testing"
)

// Row is one line of the published table.
type Row struct {
	// The subject and the reference, in a few words each.
	What, Reference string
	// Unit is the unit of work that the times are of. Default: an operation.
	Unit string
	// Text replaces the times in a row that measures no time. Optional.
	Text string
	// Note is added to the times: allocations, bytes. Optional.
	Note string
	// Reach is the upper limit of the median ratio; 0: the row is published without a limit.
	Reach float64
	// Plus is added to the reference before the ratio is judged, in nanoseconds per unit: "twice memcpy + 1 µs".
	Plus float64
	// Missed says why the row exceeds Reach. It is printed only where it does.
	Missed string
}

// table holds the lines of the reported rows.
var table strings.Builder

// Report reports a ratio as the metrics of a benchmark, logs whether it is within Reach and adds the row to the table.
func (r Row) Report(b *testing.B, ratio Ratio) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // not printed
	b.ReportMetric(ratio.Median, "ratio")
	times := r.Text
	if times == "" {
		b.ReportMetric(ratio.Subject, "subject-ns")
		b.ReportMetric(ratio.Reference, "reference-ns")
		times = duration(ratio.Subject) + " : " + duration(ratio.Reference)
		if r.Unit != "" {
			times += " per " + r.Unit
		}
	}
	if r.Note != "" {
		times += "; " + r.Note
	}
	reach, verdict := r.judge(ratio)
	quartiles := fmt.Sprintf("%.2f (%.2f–%.2f)", ratio.Median, ratio.Low, ratio.High)
	b.Log(strings.TrimSpace(fmt.Sprintf("%s: %s; ratio %s %s %s", r.What, times, quartiles, reach, verdict)))
	name := "`" + strings.TrimPrefix(b.Name(), "Benchmark") + "`"
	fmt.Fprintf(&table, "| %s |\n", strings.Join([]string{name, r.What, r.Reference, times, quartiles, reach, verdict}, " | "))
}

// judge returns the limit as text and compares a ratio with it.
func (r *Row) judge(ratio Ratio) (reach, verdict string) {
	if r.Reach == 0 {
		return "", ""
	}
	reach, missed := fmt.Sprintf("≤ %g ×", r.Reach), ratio.Median > r.Reach
	if r.Plus != 0 {
		reach += " + " + duration(r.Plus)
		missed = ratio.Subject > r.Reach*ratio.Reference+r.Plus
	}
	if missed {
		return reach, strings.TrimSuffix("missed: "+r.Missed, ": ")
	}
	return reach, "met"
}

// duration formats nanoseconds with three digits.
func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.3g ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	}
	return fmt.Sprintf("%.3g ms", ns/1e6)
}

// Must returns a value, and panics with an error: a benchmark whose parts cannot be made measures nothing.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
