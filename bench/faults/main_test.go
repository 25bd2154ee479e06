//go:build unix

package faults

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/cmd/arena/rules"
	"tendon/cmd/cli"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// serverRole is the role of a process that is the command line of the arena.
const serverRole = "faults server"

func TestMain(m *testing.M) {
	measure.Main(m, "faults", "../README.md", map[string]func(){serverRole: func() { cli.Main(*rules.Game()) }})
}

// strategies are the strategies with which each row is measured.
var strategies = []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, verify.Strategy, reckon.Strategy}

// each runs a benchmark with every strategy. One iteration is a complete measurement.
func each(b *testing.B, f func(b *testing.B, s systems.Strategy)) {
	for _, s := range strategies {
		b.Run(s.Name, func(b *testing.B) { f(b, s) })
	}
}

// result is the result of a row.
type result struct {
	what  string
	reach time.Duration   // of the 99th percentile
	times []time.Duration // until a client plays again
	out   int             // clients that did not return
	note  string
	fault string // a requirement other than the times that was missed. Empty: none
}

// report publishes a row. Its ratio is that of the 99th percentile to the reach.
func (r *result) report(b *testing.B) {
	if r.out > 0 {
		r.fault = fmt.Sprintf("%d clients did not return", r.out)
	}
	p50, p99 := percentile(r.times, 50), percentile(r.times, 99)
	b.ReportMetric(float64(p50.Milliseconds()), "p50-ms")
	b.ReportMetric(float64(p99.Milliseconds()), "p99-ms")
	ratio := measure.Of(r.reach.Seconds(), p99.Seconds())
	if r.fault != "" {
		ratio.Median = math.Inf(1)
	}
	measure.Row{What: r.what, Reference: r.reach.String(), Note: r.note, Reach: 1, Missed: r.fault,
		Text: fmt.Sprintf("p50 %.2f s, p99 %.2f s, %d returns", p50.Seconds(), p99.Seconds(), len(r.times))}.Report(b, ratio)
}

// percentile returns a percentile of times, or 0 if there are none.
func percentile(times []time.Duration, percent int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(len(times)*percent/100, len(times)-1)]
}
