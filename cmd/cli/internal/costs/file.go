// Package costs stores the costs of a measured match in a file, and compares two of them.
package costs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"tendon/cmd/cli/durable"
	"tendon/net/cost"
)

// File is the file that --out writes and --compare reads.
type File struct {
	Load      Load      `json:"load"`
	Machine   string    `json:"machine"`
	Runs      int       `json:"runs"`
	Reference []float64 `json:"reference_ns"` // of reference, after each slice
	Events    Events    `json:"events"`
	Sides
}

// Events counts the events of a client that were shown before they were confirmed, and those of them that a correction
// cancelled. It is the mean of all clients in the last run.
type Events struct {
	Predicted float64 `json:"predicted"`
	Cancelled float64 `json:"cancelled"`
}

// Sides are the reports of one run.
type Sides struct {
	Server cost.Report `json:"server"`
	Client cost.Report `json:"client"` // the mean of all clients
}

// Reports returns the server's report and the clients'.
func (s *Sides) Reports() [2]*cost.Report { return [2]*cost.Report{&s.Server, &s.Client} }

// Load describes the load of a measurement. Only measurements of equal loads can be compared.
type Load struct {
	Game     string  `json:"game"`
	TickRate int     `json:"tick_rate"`
	Sync     string  `json:"sync"`
	Net      string  `json:"net"`
	Players  int     `json:"players"`
	Seconds  float64 `json:"seconds"`
	Seed     uint64  `json:"seed,string"`
}

// Slices is the number of parts of a run. Compare joins five of them.
const Slices = 100

// Read reads a file of profile --out.
func Read(path string, f *File) error {
	text, _, err := durable.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, f); err != nil || f.Load.Game == "" || len(f.Server.Rows) == 0 {
		return errors.Join(fmt.Errorf("%s is no file of costs: give a costs.json of profile --out", path), err)
	}
	return nil
}

// Write writes a file of costs.
func Write(path string, f *File) error {
	text, err := json.MarshalIndent(f, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o666)
}

// Merge stores the run that was fastest in total, with the fastest run of each part of the match.
func (f *File) Merge(played []Sides) {
	busy := func(s Sides) time.Duration { return s.Server.Busy + s.Client.Busy }
	f.Runs, f.Sides = len(played), slices.MinFunc(played, func(a, b Sides) int { return cmp.Compare(busy(a), busy(b)) })
	for i := range played {
		least(&f.Server, &played[i].Server)
		least(&f.Client, &played[i].Client)
	}
}

// AddCounts adds the allocations and bytes of another run of the same match, so the rows are the same.
func (f *File) AddCounts(counted Sides) {
	f.Server.Bytes = counted.Server.Bytes
	for side, r := range f.Reports() {
		for i := range r.Rows {
			row := &r.Rows[i]
			if again := counted.Reports()[side].Row(row.Phase, row.System); again != nil {
				row.Allocs, row.AllocBytes = again.Allocs, again.AllocBytes
			}
		}
	}
}

// least replaces the slices of a report by those of another run of the same load where the other took less. The work is the
// same, so additional time is the machine's. Self, Share and Busy change with the slices; the rest stays.
func least(r, second *cost.Report) {
	r.Busy = 0
	for i := range r.Rows {
		row := &r.Rows[i]
		if o := second.Row(row.Phase, row.System); o != nil {
			for n := range min(len(row.Slices), len(o.Slices)) {
				row.Slices[n] = min(row.Slices[n], o.Slices[n])
			}
		}
		row.Self = time.Duration(perTurn(r, row) * float64(r.Turns))
		row.Share = float64(row.Self) / (float64(r.Budget) * float64(max(r.Turns, 1)))
		r.Busy += row.Self
	}
}

// perTurn returns the self time of a row per turn, in ns: of its slices, if there are any, since those may be the least of
// several runs.
func perTurn(r *cost.Report, row *cost.Row) float64 {
	if len(row.Slices) == 0 {
		return float64(row.Self) / float64(max(r.Turns, 1))
	}
	sum := 0.0
	for _, ns := range row.Slices {
		sum += ns
	}
	return sum / float64(len(row.Slices))
}

// Median returns the median of values, NaN for none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
