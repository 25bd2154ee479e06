package lab

import (
	"slices"
	"time"

	"tendon/net/simnet"
)

// gauge measures the simulated network itself, beside all matches: it sends small datagrams there and back and looks at
// what becomes of them. It has the ends and the seed of a match's first player, and so the same weather.
type gauge struct {
	net       *simnet.Network
	far, near simnet.NodeID
	sent      [gaugeKept]simnet.Time // of probe n, in slot n % gaugeKept
	back      [gaugeKept]simnet.Time // when it came back; 0: it did not
	next      uint64
}

const (
	// gaugeHz is how many probes leave a second.
	gaugeHz = 50
	// gaugeKept is how many are remembered, the last two seconds' and more.
	gaugeKept = 128
	// gaugeWindow is of which probes the medians are: those sent within it.
	gaugeWindow = 2 * time.Second
)

func newGauge(seed uint64, p simnet.Profile) (*gauge, error) {
	g := &gauge{net: simnet.New(simnet.Config{Seed: seed})}
	g.far, g.near = g.net.AddNode(simnet.Clock{}), g.net.AddNode(simnet.Clock{})
	if err := g.net.Connect(g.near, g.far, p); err != nil {
		return nil, err
	}
	g.net.OnMessage(g.far, func(from simnet.NodeID, ch simnet.Channel, payload []byte, _ simnet.Time) {
		_ = g.net.Send(g.far, from, ch, payload) // a full link loses it
	})
	g.net.OnMessage(g.near, func(_ simnet.NodeID, _ simnet.Channel, payload []byte, now simnet.Time) {
		if slot := int(payload[0]); g.back[slot] == 0 {
			g.back[slot] = now
		}
	})
	g.net.Every(g.near, 0, gaugeHz, func(_ int64, now simnet.Time) {
		slot := g.next % gaugeKept
		g.next++
		g.sent[slot], g.back[slot] = now, 0
		_ = g.net.Send(g.near, g.far, simnet.Datagram, []byte{byte(slot)})
	})
	return g, nil
}

// Link is what was measured of the network within the last seconds.
type Link struct {
	// RTT is the median of the round trips, Jitter the difference of their 90th percentile and the least, in ms.
	RTT    float64 `json:"rtt_ms"`
	Jitter float64 `json:"jitter_ms"`
	// Lost is the share of probes that did not come back in time, there and back, in percent.
	Lost float64 `json:"lost_percent"`
}

// Link returns what was measured of the network lately.
func (l *Live) Link() Link { return l.gauge.read() }

func (g *gauge) read() (k Link) {
	now := g.net.Now()
	var trips []float64
	slowest := 0.0
	for i, sent := range g.sent {
		if g.back[i] > 0 && now-g.back[i] < gaugeWindow {
			trips = append(trips, milliseconds(g.back[i]-sent))
			slowest = max(slowest, trips[len(trips)-1])
		}
	}
	if len(trips) == 0 {
		k.Lost = 100
		return k
	}
	slices.Sort(trips)
	k.RTT, k.Jitter = trips[len(trips)/2], trips[len(trips)*9/10]-trips[0]
	due, lost := 0, 0
	for i, sent := range g.sent {
		if age := now - sent; age < gaugeWindow+gaugeWindow/4 && milliseconds(age) > slowest && uint64(i) < g.next {
			due++
			if g.back[i] == 0 {
				lost++
			}
		}
	}
	k.Lost = percent(lost, due)
	return k
}
