package measure

import "fmt"

// Row is one line of the published table.
type Row struct {
	// Name chooses the row on the command line.
	Name string
	// What is measured, and Reference against what, in a few words each.
	What, Reference string
	// Reach is the most that the median ratio may be; 0: the row is published without a goal.
	Reach float64
	// Plus is added to the reference before the ratio is judged, in nanoseconds per unit: "twice memcpy + 1 µs".
	Plus float64
	// Least turns Reach into the least that the ratio may be.
	Least bool
	// Missed says why the row is out of reach; it is printed only where it is.
	Missed string
	// Run measures. It may be slow, some seconds.
	Run func() Result
}

// Result is what a row's Run found.
type Result struct {
	Ratio
	// Unit is what Subject and Reference are per; empty: an operation.
	Unit string
	// Text replaces the times where the row is not about time.
	Text string
	// Note is added to the row: allocations, bytes.
	Note string
}

// Judged returns the ratio that is compared with Reach.
func (r *Row) Judged(result Result) float64 {
	if r.Plus == 0 {
		return result.Median
	}
	return result.Subject / (r.Reach*result.Reference + r.Plus) * r.Reach
}

// Met reports whether the result is within reach.
func (r *Row) Met(result Result) bool {
	if r.Least {
		return r.Judged(result) >= r.Reach
	}
	return r.Reach == 0 || r.Judged(result) <= r.Reach
}

// goal returns the reach in words.
func (r *Row) goal() string {
	if r.Reach == 0 {
		return ""
	}
	sign, plus := "≤", ""
	if r.Least {
		sign = "≥"
	}
	if r.Plus != 0 {
		plus = " + " + duration(r.Plus)
	}
	return fmt.Sprintf("%s %g ×%s", sign, r.Reach, plus)
}

// duration prints nanoseconds with three digits.
func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.3g ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	}
	return fmt.Sprintf("%.3g ms", ns/1e6)
}
