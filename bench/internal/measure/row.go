package measure

import (
	"fmt"
	"strings"
)

// Row is one line of the published table.
type Row struct {
	// Name selects the row on the command line.
	Name string
	// The subject and the reference, in a few words each.
	What, Reference string
	// Reach is the upper limit of the median ratio; 0: the row is published without a limit.
	Reach float64
	// Plus is added to the reference before the ratio is judged, in nanoseconds per unit: "twice memcpy + 1 µs".
	Plus float64
	// Missed says why the row exceeds Reach. It is printed only where it does.
	Missed string
	// Run measures. It may take some seconds.
	Run func() Result
}

// Result is the result of a row's Run.
type Result struct {
	Ratio
	// Unit is the unit of Subject and Reference. Default: an operation.
	Unit string
	// Text replaces the times in a row that measures no time. Optional.
	Text string
	// Note is added to the row: allocations, bytes. Optional.
	Note string
}

// Met reports whether the ratio is within Reach.
func (r *Row) Met(result Result) bool {
	if r.Plus != 0 {
		return result.Subject <= r.Reach*result.Reference+r.Plus
	}
	return r.Reach == 0 || result.Median <= r.Reach
}

// goal returns the limit as text.
func (r *Row) goal() string {
	switch {
	case r.Reach == 0:
		return ""
	case r.Plus != 0:
		return fmt.Sprintf("≤ %g × + %s", r.Reach, duration(r.Plus))
	}
	return fmt.Sprintf("≤ %g ×", r.Reach)
}

// verdict compares a result with the limit.
func (r *Row) verdict(result Result) string {
	switch {
	case r.Reach == 0:
		return ""
	case r.Met(result):
		return "met"
	case r.Missed != "":
		return "missed: " + r.Missed
	}
	return "missed"
}

// times returns the times of both sides, or the text in their place, and the note.
func (r *Result) times() string {
	text := r.Text
	if text == "" {
		text = duration(r.Subject) + " : " + duration(r.Reference)
		if r.Unit != "" {
			text += " per " + r.Unit
		}
	}
	return strings.TrimSuffix(text+"; "+r.Note, "; ")
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
