package simnet

import (
	"fmt"
	"strings"
	"time"
)

const ms = time.Millisecond

// Symmetric is a link that does the same to packets both ways.
func Symmetric(name, title string, p Path) Profile {
	return Profile{Name: name, Title: title, Up: p, Down: p}
}

// Profiles lists the standard profiles P0 … P12.
//
//   - P8 enters an outage once in 200 s of good time on average, independently in each direction. A test that needs an outage
//     at a known time adds one with Network.Partition.
//   - P10 has 300 kbit/s each way and a queue of one second, for each client.
//   - P11 has 1 Mbit/s each way and a queue of one second, shared by all clients of a network, which are usually four. Bursts of
//     cross traffic at the rate of the line come every 12 s on average, and last 2 s.
//   - P12 loses packets in bursts, by the model of Gilbert (1960) and Elliott (1963). At 60 packets a second its parameters are
//     p = 1 %, r = 10 %, 1 − h = 70 %, 1 − k = 0.1 %: the usual example of netem's gemodel (Salsano, Ludovici, Ordine 2009). The
//     model runs in time: a mean of 1.67 s is good, then 167 ms are bad.
func Profiles() []Profile {
	exponential := func(delay, jitter time.Duration, loss float64) Path {
		return Path{Delay: delay, Jitter: Jitter{Kind: Exponential, Size: jitter}, Loss: loss}
	}
	walk, burst := exponential(0, 50*ms, 0.02), exponential(75*ms, 5*ms, 0)
	walk.Walk = Walk{Min: 100 * ms, Max: 1000 * ms, StepPerSecond: 150 * ms} // of a round trip in [200 ms, 2 s] the half
	burst.Burst = Burst{EnterPerSecond: 0.005, Stay: 250 * ms, Loss: 1}
	slow, fading := exponential(25*ms, 2*ms, 0), exponential(50*ms, 5*ms, 0.001)
	slow.Bandwidth, slow.QueueBytes = 300_000/8, 300_000/8
	fading.Burst = Burst{EnterPerSecond: 0.6, Stay: 167 * ms, Loss: 0.7}
	shared := func(line string) Path {
		p := exponential(25*ms, 2*ms, 0)
		p.Bandwidth, p.QueueBytes, p.Line = 1_000_000/8, 1_000_000/8, line
		p.Cross = Cross{Bandwidth: 1_000_000 / 8, On: 2 * time.Second, Off: 10 * time.Second}
		return p
	}
	return []Profile{
		Symmetric("P0", "ideal", Path{}),
		Symmetric("P1", "LAN", Path{Delay: 1 * ms, Jitter: Jitter{Kind: Uniform, Size: ms / 5}}),
		Symmetric("P2", "good", exponential(20*ms, 2*ms, 0.001)),
		Symmetric("P3", "typical", exponential(50*ms, 5*ms, 0.01)),
		Symmetric("P4", "Gambetta", Path{Delay: 125 * ms}),
		Symmetric("P5", "bad", exponential(125*ms, 20*ms, 0.05)),
		{Name: "P6", Title: "asym", Up: exponential(200*ms, 5*ms, 0.01), Down: exponential(20*ms, 5*ms, 0.01)},
		Symmetric("P7", "Wu", walk),
		Symmetric("P8", "burst", burst),
		Symmetric("P9", "extreme", exponential(1000*ms, 20*ms, 0.25)),
		Symmetric("P10", "slow", slow),
		{Name: "P11", Title: "shared", Up: shared("P11 up"), Down: shared("P11 down")},
		Symmetric("P12", "fading", fading),
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
// that begin with # are skipped.
func ReadTrace(text string) (delays []time.Duration, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		delay, err := time.ParseDuration(line + "ms")
		if err != nil || delay < 0 || delay > maxDelay {
			return nil, fmt.Errorf("simnet: trace line %d: %.20q is no delay in ms in [0, %d]", number, line, maxDelay/ms)
		}
		delays = append(delays, delay)
	}
	return delays, nil
}
