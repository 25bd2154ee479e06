package simnet

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

const ms = time.Millisecond

// Symmetric is a link that does the same to packets both ways.
func Symmetric(name, title string, p Path) Profile {
	return Profile{Name: name, Title: title, Up: p, Down: p}
}

// Profiles lists the standard profiles P0 … P9. The slice is the caller's.
//
// P8 enters an outage 0.005 times a second, once in 200 s of good time on average, independently in each direction. A
// test that needs an outage at a known time adds one with Network.Partition.
func Profiles() []Profile {
	return []Profile{
		Symmetric("P0", "ideal", Path{}),
		Symmetric("P1", "LAN", Path{Delay: 1 * ms, Jitter: Jitter{Kind: Uniform, Size: ms / 5}}),
		Symmetric("P2", "good", Path{Delay: 20 * ms, Jitter: Jitter{Kind: Exponential, Size: 2 * ms}, Loss: 0.001}),
		Symmetric("P3", "typical", Path{Delay: 50 * ms, Jitter: Jitter{Kind: Exponential, Size: 5 * ms}, Loss: 0.01}),
		Symmetric("P4", "Gambetta", Path{Delay: 125 * ms}),
		Symmetric("P5", "bad", Path{Delay: 125 * ms, Jitter: Jitter{Kind: Exponential, Size: 20 * ms}, Loss: 0.05}),
		{
			Name: "P6", Title: "asym",
			Up:   Path{Delay: 200 * ms, Jitter: Jitter{Kind: Exponential, Size: 5 * ms}, Loss: 0.01},
			Down: Path{Delay: 20 * ms, Jitter: Jitter{Kind: Exponential, Size: 5 * ms}, Loss: 0.01},
		},
		// Half of a round trip that walks in [200 ms, 2 s] by at most 300 ms a second.
		Symmetric("P7", "Wu", Path{
			Walk:   Walk{Min: 100 * ms, Max: 1000 * ms, StepPerSecond: 150 * ms},
			Jitter: Jitter{Kind: Exponential, Size: 50 * ms}, Loss: 0.02,
		}),
		Symmetric("P8", "burst", Path{
			Delay: 75 * ms, Jitter: Jitter{Kind: Exponential, Size: 5 * ms},
			Burst: Burst{EnterPerSecond: 0.005, Stay: 250 * ms, Loss: 1},
		}),
		Symmetric("P9", "extreme", Path{Delay: 1000 * ms, Jitter: Jitter{Kind: Exponential, Size: 20 * ms}, Loss: 0.25}),
	}
}

// ByName finds a standard profile by its name or its title, in any case: "P5", "p5" and "bad" are the same one.
func ByName(name string) (Profile, bool) {
	for _, p := range Profiles() {
		if strings.EqualFold(name, p.Name) || strings.EqualFold(name, p.Title) {
			return p, true
		}
	}
	return Profile{}, false
}

// ReadTrace reads recorded delays for Jitter.Trace: one a line, in milliseconds, such as "41.7"; empty lines and lines
// that begin with # are skipped. It reads at most 2^20 delays.
func ReadTrace(r io.Reader) ([]time.Duration, error) {
	var delays []time.Duration
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || !(value >= 0 && value <= maxDelay.Seconds()*1000) {
			return nil, fmt.Errorf("simnet: trace line %d: %.20q is no delay in ms in [0, %d]", number, text, maxDelay/ms)
		}
		if len(delays) == maxTraceDelays {
			return nil, fmt.Errorf("simnet: trace line %d: more than %d delays", number, maxTraceDelays)
		}
		delays = append(delays, time.Duration(math.Round(value*float64(ms))))
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("simnet: trace: %w", err)
	}
	return delays, nil
}
