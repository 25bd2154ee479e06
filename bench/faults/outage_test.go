//go:build unix

package faults

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"tendon/ecs/race"
	"tendon/net/simnet"
)

// outageKinds are the faults that BenchmarkOutage measures. Each has a room of its own.
var outageKinds = []struct {
	name, what       string
	freeze, up, down bool
}{
	{"freeze", "server frozen with SIGSTOP", true, false, false},
	{"up", "uplink dead", false, true, false},
	{"down", "downlink dead", false, false, true},
	{"both", "both directions dead", false, true, true},
}

// lengths returns the lengths of the outages. The last two take thirteen minutes.
func lengths() []time.Duration {
	l := []time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute}
	if !race.Long {
		l = l[:2]
	}
	return l
}

// site is a strategy's server and clients of one kind of outage.
type site struct {
	*service
	*bridge
	players
}

// BenchmarkOutage measures the time from the end of an outage until a client has a newly confirmed tick. Outages of one length
// overlap, for all strategies.
func BenchmarkOutage(b *testing.B) {
	for _, length := range lengths() {
		b.Run(length.String(), func(b *testing.B) {
			var all players
			var sites [][]*site // by kind and strategy
			for _, kind := range outageKinds {
				var row []*site
				for _, s := range strategies {
					t := &site{service: startService(b, s, gateway)}
					t.bridge = startBridge(b, t.address)
					for i := range 2 {
						t.route(i, home)
						t.players = append(t.players, enter(b, t.service, kind.name, i, t.listen(i)))
					}
					all, row = append(all, t.players...), append(row, t)
				}
				sites = append(sites, row)
			}
			all.settle(b)
			results := make([]result, len(sites)*len(strategies))
			for range repetitions(length) {
				outage(all, sites, length, results)
			}
			for i, kind := range outageKinds {
				for j, s := range strategies {
					r := &results[i*len(strategies)+j]
					r.what, r.reach = fmt.Sprintf("%s for %v: from its end to play", kind.what, length), 3*time.Second
					b.Run(kind.name+"/"+s.Name, r.report)
				}
			}
		})
	}
}

// repetitions returns how often an outage is repeated.
func repetitions(length time.Duration) int {
	return max(1, int(2*time.Second/length))
}

// stagger is the time between the starts of two outages, so that no two outages end at the same time.
const stagger = 2 * time.Second

// outage begins outages one after the other, ends each of them, and adds the times of all clients to the results.
func outage(all players, sites [][]*site, length time.Duration, results []result) {
	begun := time.Now()
	ended := make([]time.Time, len(results))
	cut := make([]bool, len(results))
	all.mark()
	all.play(length+stagger*time.Duration(len(results))+returnTime, func() bool {
		done := true
		for k := range results {
			i := k / len(strategies)
			t, now := sites[i][k%len(strategies)], time.Since(begun)-time.Duration(k)*stagger
			switch {
			case !cut[k] && now >= 0:
				cut[k] = true
				t.cut(i, true)
			case cut[k] && ended[k].IsZero() && now >= length:
				t.mark()
				t.cut(i, false)
				ended[k] = time.Now()
			}
			done = done && !ended[k].IsZero() && t.returned()
		}
		return done
	})
	for k := range results {
		sites[k/len(strategies)][k%len(strategies)].add(&results[k], ended[k])
	}
}

// cut begins or ends an outage.
func (t *site) cut(kind int, on bool) {
	k := outageKinds[kind]
	if k.freeze {
		t.signal(map[bool]syscall.Signal{true: syscall.SIGSTOP, false: syscall.SIGCONT}[on])
	}
	for i := range t.players {
		t.block(i, k.up && on, k.down && on)
	}
}

// BenchmarkLine measures clients on slow lines with bursts of other traffic: the time from the end of a burst until a client plays
// without a gap. All strategies run at the same time.
func BenchmarkLine(b *testing.B) {
	for _, line := range []struct {
		name, what string
		bits       int
		players    int
		shared     string
	}{
		{"200k", "each of two clients has 200 kbit/s", 200_000, 2, ""},
		{"128k", "each of two clients has 128 kbit/s", 128_000, 2, ""},
		{"1M", "four clients share 1 Mbit/s", 1_000_000, 4, "line"},
	} {
		b.Run(line.name, func(b *testing.B) {
			path := home
			path.Bandwidth, path.QueueBytes, path.Line = line.bits/8, line.bits/8, line.shared
			lines(b, line.what, path, line.players)
		})
	}
}

const (
	bursts    = 6
	burstTime = 2 * time.Second
	calmTime  = 6 * time.Second // after a burst, so that the clients have recovered before the next one
)

func lines(b *testing.B, what string, path simnet.Path, n int) {
	var all players
	sites, results := make([]*site, len(strategies)), make([]result, len(strategies))
	for i, s := range strategies {
		t := &site{service: startService(b, s, gateway)}
		t.bridge = startBridge(b, t.address)
		for seat := range n {
			t.route(seat, path)
			t.players = append(t.players, enter(b, t.service, "line", seat, t.listen(seat)))
		}
		all, sites[i] = append(all, t.players...), t
	}
	all.settle(b)
	all.resetGap()
	before := make([]uint64, len(strategies))
	for i, t := range sites {
		before[i] = t.resyncs()
	}
	busy := path
	busy.Cross = simnet.Cross{Bandwidth: path.Bandwidth, On: time.Minute}
	for range bursts {
		for _, t := range sites {
			t.reroute(busy)
		}
		all.play(burstTime, nil)
		for _, t := range sites {
			t.reroute(path)
		}
		all.mark()
		from := time.Now()
		all.play(calmTime, nil)
		for i, t := range sites {
			t.add(&results[i], from)
		}
	}
	for i, t := range sites {
		r := &results[i]
		r.what, r.reach = fmt.Sprintf("%s and a queue of a second, with %d bursts of as much other traffic for %v: from the end of a burst to play", what, bursts, burstTime), 3*time.Second
		resyncs, gap := t.resyncs()-before[i], t.gap()
		r.note = fmt.Sprintf("longest gap %.2f s, %d resyncs", gap.Seconds(), resyncs)
		switch {
		case resyncs > 0:
			r.fault = "resyncs, reach 0"
		case gap > 2*time.Second:
			r.fault = "the longest gap exceeds 2 s"
		}
		b.Run(strategies[i].Name, r.report)
	}
}

// reroute changes the path of all clients.
func (t *site) reroute(p simnet.Path) {
	for i := range t.players {
		t.route(i, p)
	}
}
