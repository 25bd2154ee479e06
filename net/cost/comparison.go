package cost

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/perf/benchmath"
)

// Ratio is the change of a row's cost per turn between two runs of the same load. Median is new divided by old. It lies in
// [Low, High] with the confidence passed to Compare.
type Ratio struct {
	Phase     string  `json:"phase"`
	System    string  `json:"system,omitempty"`
	Old       float64 `json:"old_ns"` // per turn, the mean of all slices
	New       float64 `json:"new_ns"`
	OldCalls  float64 `json:"old_calls"` // per turn
	NewCalls  float64 `json:"new_calls"`
	Median    float64 `json:"ratio"` // 0: there is none, since only one of the runs has the row
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Uncertain bool    `json:"uncertain"` // too few slices for the confidence: Low and High say nothing
}

// Label returns the row's name in tables.
func (r *Ratio) Label() string { return label(r.Phase, r.System) }

// Worse reports whether the cost of the row has grown by more than by, with confidence; 0.1 is 10 %.
func (r *Ratio) Worse(by float64) bool { return r.Median > 0 && !r.Uncertain && r.Low > 1+by }

// Better reports whether the cost of the row has shrunk by more than by, with confidence.
func (r *Ratio) Better(by float64) bool { return r.Median > 0 && !r.Uncertain && r.High < 1/(1+by) }

// group is the number of slices in one sample of a comparison. The sample is the median of their ratios, so a pause of the
// machine in one or two of them does not count.
const group = 5

// Least replaces the slices of a report by those of another run of the same load where the other took less. The work is the
// same, so additional time is the machine's. Self, Share and Busy change with the slices; the rest stays.
func (r *Report) Least(second *Report) {
	r.Busy = 0
	for i := range r.Rows {
		row := &r.Rows[i]
		o := second.Row(row.Phase, row.System)
		for n := range row.Slices {
			if o != nil && n < len(o.Slices) {
				row.Slices[n] = min(row.Slices[n], o.Slices[n])
			}
		}
		row.Self = time.Duration(row.perTurn(r) * float64(r.Turns))
		row.Share = float64(row.Self) / (float64(r.Budget) * float64(max(r.Turns, 1)))
		r.Busy += row.Self
	}
}

// Compare compares two reports with the same number of slices of the same load. Slice i of both is the same part of the same
// match, so differences between parts of a match cancel out. Five slices in a row make one sample, their median. The ratio
// of a row is the median of its samples. Its confidence interval is the distribution-free one of a median by order statistics
// (golang.org/x/perf/benchmath, AssumeNothing; Conover, Practical Nonparametric Statistics, 3rd edition, 3.2). The new costs
// are first divided by speed, the slowdown of the machine.
//
// The confidence does not cover a machine whose speed during one whole run differs from speed.
func Compare(old, new *Report, speed, confidence float64) (list []Ratio, err error) {
	for i := range new.Rows {
		n := &new.Rows[i]
		r := Ratio{Phase: n.Phase, System: n.System, New: n.perTurn(new) / speed, NewCalls: float64(n.Calls) / float64(max(new.Turns, 1))}
		if o := old.Row(n.Phase, n.System); o != nil {
			if err := r.compare(o, n, old, speed, confidence); err != nil {
				return nil, err
			}
		}
		list = append(list, r)
	}
	for i := range old.Rows {
		if o := &old.Rows[i]; new.Row(o.Phase, o.System) == nil {
			list = append(list, Ratio{Phase: o.Phase, System: o.System, Old: o.perTurn(old), OldCalls: float64(o.Calls) / float64(max(old.Turns, 1))})
		}
	}
	return list, nil
}

// perTurn returns what a row took per turn, in ns: by its slices, if there are any, since those may be the least of
// several runs.
func (row *Row) perTurn(r *Report) float64 {
	if len(row.Slices) == 0 {
		return float64(row.Self) / float64(max(r.Turns, 1))
	}
	sum := 0.0
	for _, ns := range row.Slices {
		sum += ns
	}
	return sum / float64(len(row.Slices))
}

func (r *Ratio) compare(o, n *Row, old *Report, speed, confidence float64) error {
	if len(o.Slices) != len(n.Slices) {
		return fmt.Errorf("cost: %s has %d slices in one report and %d in the other: compare runs of the same length", r.Label(), len(o.Slices), len(n.Slices))
	}
	r.Old, r.OldCalls = o.perTurn(old), float64(o.Calls)/float64(max(old.Turns, 1))
	var ratios, some []float64
	for i := range n.Slices {
		if o.Slices[i] > 0 && n.Slices[i] > 0 { // else nothing was done there
			some = append(some, n.Slices[i]/speed/o.Slices[i])
		}
		if i%group == group-1 && len(some) > 0 {
			slices.Sort(some)
			ratios, some = append(ratios, (some[(len(some)-1)/2]+some[len(some)/2])/2), some[:0]
		}
	}
	if len(ratios) < 2 {
		r.Median, r.Uncertain = r.New/max(r.Old, 1e-9), true
		return nil
	}
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(ratios, &benchmath.DefaultThresholds), confidence)
	r.Median, r.Low, r.High, r.Uncertain = s.Center, s.Lo, s.Hi, len(s.Warnings) > 0
	if r.Uncertain {
		r.Low, r.High = ratios[0], ratios[len(ratios)-1] // which NewSample has sorted
	}
	return nil
}
