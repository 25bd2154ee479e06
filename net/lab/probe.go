package lab

import (
	"slices"
	"time"

	"tendon/net/simnet"
	"tendon/systems"
)

// probe measures the simulated network beside all matches: it sends small datagrams there and back. It has the ends and
// the seed of a match's first player, and so the same delays and losses.
type probe struct {
	net       *simnet.Network
	far, near simnet.NodeID
	sent      [probesKept]time.Duration // of probe n, in slot n % probesKept
	back      [probesKept]time.Duration // when it came back; 0: it did not
	next      uint64
}

const (
	// probeHz is the number of probes per second.
	probeHz = 50
	// probesKept is the number of probes that are kept, more than two seconds'.
	probesKept = 128
	// probeWindow is the time within which the measured probes were sent.
	probeWindow = 2 * time.Second
)

func newProbe(seed uint64, p simnet.Profile) (*probe, error) {
	g := &probe{net: simnet.New(simnet.Config{Seed: seed})}
	g.far, g.near = g.net.AddNode(simnet.Clock{}), g.net.AddNode(simnet.Clock{})
	if err := g.net.Connect(g.near, g.far, p); err != nil {
		return nil, err
	}
	g.net.OnMessage(g.far, func(from simnet.NodeID, ch systems.Channel, payload []byte, _ time.Duration) {
		_ = g.net.Send(g.far, from, ch, payload) // a full link loses it
	})
	g.net.OnMessage(g.near, func(_ simnet.NodeID, _ systems.Channel, payload []byte, now time.Duration) {
		if slot := int(payload[0]); g.back[slot] == 0 {
			g.back[slot] = now
		}
	})
	g.net.Every(g.near, 0, probeHz, func(_ int64, now time.Duration) {
		slot := g.next % probesKept
		g.next++
		g.sent[slot], g.back[slot] = now, 0
		_ = g.net.Send(g.near, g.far, systems.Datagram, []byte{byte(slot)})
	})
	return g, nil
}

// Link is recent measurements of the network.
type Link struct {
	// RTT is the median round trip, Jitter the difference of the 90th percentile and the least, in ms.
	RTT    float64 `json:"rtt_ms"`
	Jitter float64 `json:"jitter_ms"`
	// Lost is the share of probes that did not come back in time, in percent.
	Lost float64 `json:"lost_percent"`
}

func (g *probe) read() (k Link) {
	now := g.net.Now()
	var trips []float64
	slowest := 0.0
	for i, sent := range g.sent {
		if g.back[i] > 0 && now-g.back[i] < probeWindow {
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
		if age := now - sent; age < probeWindow+probeWindow/4 && milliseconds(age) > slowest && uint64(i) < g.next {
			due++
			if g.back[i] == 0 {
				lost++
			}
		}
	}
	k.Lost = percent(lost, due)
	return k
}
