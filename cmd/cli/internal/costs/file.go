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

	"tendon/net/cost"
)

// File is the file that --out writes and --compare reads.
type File struct {
	Load      Load        `json:"load"`
	Machine   string      `json:"machine"`
	Runs      int         `json:"runs"`
	Reference []float64   `json:"reference_ns"` // of reference, after each slice
	Server    cost.Report `json:"server"`
	Client    cost.Report `json:"client"` // the mean of all clients
}

// Load describes the load of a measurement. Only measurements of equal loads can be compared.
type Load struct {
	Game     string  `json:"game"`
	TickRate int     `json:"tick_rate"`
	Sync     string  `json:"sync"`
	Net      string  `json:"net"`
	Players  int     `json:"players"`
	Seconds  float64 `json:"seconds"`
	Seed     uint64  `json:"seed"`
}

// Slices is the number of parts of a run. cost.Compare joins five of them.
const Slices = 100

// Read reads a file of profile --out.
func Read(path string, f *File) error {
	text, err := os.ReadFile(path)
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

// Sides are the reports of one run.
type Sides struct{ Server, Client cost.Report }

// Merge stores the run that was fastest in total, with the fastest run of each part of the match.
func (f *File) Merge(played []Sides) {
	busy := func(s Sides) time.Duration { return s.Server.Busy + s.Client.Busy }
	least := slices.MinFunc(played, func(a, b Sides) int { return cmp.Compare(busy(a), busy(b)) })
	f.Runs, f.Server, f.Client = len(played), least.Server, least.Client
	for i := range played {
		f.Server.Least(&played[i].Server)
		f.Client.Least(&played[i].Client)
	}
}

func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
