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
	trips     [probesKept]struct{ sent, back time.Duration } // of probe n, in slot n % probesKept; back is 0 until it is back
}

const (
	probeHz    = 50  // probes per second
	probesKept = 128 // more than two seconds'
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
		if t := &g.trips[payload[0]]; t.back == 0 {
			t.back = now
		}
	})
	g.net.Every(g.near, 0, probeHz, func(k int64, now time.Duration) {
		t := &g.trips[k%probesKept]
		t.sent, t.back = now, 0
		_ = g.net.Send(g.near, g.far, systems.Datagram, []byte{byte(k % probesKept)})
	})
	return g, nil
}

// Link is recent measurements of the network.
type Link struct {
	RTT    float64 `json:"rtt_ms"`       // median round trip
	Jitter float64 `json:"jitter_ms"`    // the 90th percentile without the least
	Lost   float64 `json:"lost_percent"` // probes that did not come back in time
}

func (g *probe) read() Link {
	var trips []float64
	for _, t := range g.trips {
		if t.back > 0 {
			trips = append(trips, milliseconds(t.back-t.sent))
		}
	}
	if len(trips) == 0 {
		return Link{Lost: 100}
	}
	slices.Sort(trips)
	n, lost := len(trips), 0
	for _, t := range g.trips {
		if t.back == 0 && t.sent > 0 && milliseconds(g.net.Now()-t.sent) > trips[n-1] {
			lost++
		}
	}
	return Link{RTT: trips[n/2], Jitter: trips[n*9/10] - trips[0], Lost: percent(lost, n+lost)}
}
