package cli

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

// costFile is the file that --out writes and --compare reads.
type costFile struct {
	Load      costLoad    `json:"load"`
	Machine   string      `json:"machine"`
	Runs      int         `json:"runs"`
	Reference []float64   `json:"reference_ns"` // of reference, after each slice
	Server    cost.Report `json:"server"`
	Client    cost.Report `json:"client"` // the mean of all clients
}

// costLoad describes the load of a measurement. Only measurements of equal loads can be compared.
type costLoad struct {
	Game     string  `json:"game"`
	TickRate int     `json:"tick_rate"`
	Sync     string  `json:"sync"`
	Net      string  `json:"net"`
	Players  int     `json:"players"`
	Seconds  float64 `json:"seconds"`
	Seed     uint64  `json:"seed"`
}

// costSlices is the number of parts of a run. cost.Compare joins five of them.
const costSlices = 100

// readCosts reads a file of profile --out.
func readCosts(path string, f *costFile) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, f); err != nil || f.Load.Game == "" || len(f.Server.Rows) == 0 {
		return errors.Join(fmt.Errorf("%s is no file of costs: give a costs.json of profile --out", path), err)
	}
	return nil
}

// writeCosts writes a file of costs.
func writeCosts(path string, f *costFile) error {
	text, err := json.MarshalIndent(f, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o666)
}

// sides are the reports of one run.
type sides struct{ server, client cost.Report }

// merge stores the run that was fastest in total, with the fastest run of each part of the match.
func (f *costFile) merge(played []sides) {
	busy := func(s sides) time.Duration { return s.server.Busy + s.client.Busy }
	least := slices.MinFunc(played, func(a, b sides) int { return cmp.Compare(busy(a), busy(b)) })
	f.Runs, f.Server, f.Client = len(played), least.server, least.client
	for i := range played {
		f.Server.Least(&played[i].server)
		f.Client.Least(&played[i].client)
	}
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
