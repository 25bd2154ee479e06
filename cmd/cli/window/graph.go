//go:build !headless

package window

import (
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/link/rate"
)

// samples are the figures of a client at the last pictures, oldest first.
type samples struct {
	list  [graphSamples]sample
	count int // of all samples; the last graphSamples are kept
}

type sample struct {
	at    time.Time
	stats client.Stats
}

const graphSamples = 240

func (s *samples) add(now time.Time, stats client.Stats) {
	s.list[s.count%graphSamples] = sample{now, stats}
	s.count++
}

// at returns the sample i pictures ago.
func (s *samples) at(i int) *sample { return &s.list[(s.count-1-i)%graphSamples] }

func (s *samples) len() int { return min(s.count, graphSamples) }

// rates are what a client did in the last second.
type rates struct {
	rollbacks, depth, corrections float64 // depth is the mean of the rollbacks in ticks
	up, down                      float64 // in kbit/s, with the headers of IPv4 and UDP
	lost                          float64 // share of the packets of the server
}

// rates compares the newest sample with that of a second before.
func (s *samples) rates() (r rates) {
	last, first := s.at(0), s.at(0)
	for i := 1; i < s.len() && last.at.Sub(first.at) < time.Second; i++ {
		first = s.at(i)
	}
	seconds := last.at.Sub(first.at).Seconds()
	if seconds <= 0 {
		return r
	}
	a, b := &first.stats, &last.stats
	per := func(from, to uint64) float64 { return float64(to-min(from, to)) / seconds }
	r.rollbacks, r.corrections = per(a.Strategy.Rollbacks, b.Strategy.Rollbacks), per(a.Strategy.Corrections, b.Strategy.Corrections)
	if r.rollbacks > 0 {
		r.depth = per(a.Strategy.Resimulated, b.Strategy.Resimulated) / r.rollbacks
	}
	l, m := &a.Link, &b.Link
	wire := func(bytes, packets float64) float64 { return (bytes + rate.Header*packets) * 8 / 1000 }
	r.up = wire(per(l.BytesSent, m.BytesSent), per(l.PacketsSent, m.PacketsSent))
	r.down = wire(per(l.BytesReceived, m.BytesReceived), per(l.PacketsReceived, m.PacketsReceived))
	if sent := per(l.PacketsExpected, m.PacketsExpected); sent > 0 {
		r.lost = max(1-per(l.PacketsReceived, m.PacketsReceived)/sent, 0)
	}
	return r
}

// paint paints the graph: the figures, and the round trip and the lead over the last pictures.
func (s *samples) paint(c ecs.Canvas, tickRate int) {
	const left, top, width, height = 0.2, 8, 6.5, 6
	c.Rectangle(left, top, width, height, panelColor)
	now, r := s.at(0).stats, s.rates()
	lead := func(x *client.Stats) float64 {
		return float64(x.Strategy.Present - min(x.Strategy.Confirmed, x.Strategy.Present))
	}
	rtt := func(x *client.Stats) float64 { return float64(x.RTT) / 1e6 }
	for i, row := range []struct{ name, value string }{
		{"RTT", fmt.Sprintf("%.0f ms", rtt(&now))},
		{"loss", fmt.Sprintf("%.0f %% up, %.0f %% down", 100*now.Link.Loss, 100*r.lost)},
		{"lead", fmt.Sprintf("%.0f ticks, %.0f ms", lead(&now), lead(&now)*1000/float64(tickRate))},
		{"rollbacks", fmt.Sprintf("%.0f/s, %.1f ticks deep", r.rollbacks, r.depth)},
		{"corrections", fmt.Sprintf("%.0f/s", r.corrections)},
		{"traffic", fmt.Sprintf("%.0f up, %.0f down kbit/s", r.up, r.down)},
	} {
		y := top + 0.25 + 0.62*float64(i)
		c.Text(left+0.3, y, 0.36, -1, row.name, dimColor)
		c.Text(left+2.5, y, 0.36, -1, row.value, textColor)
	}
	s.plot(c, left+0.3, top+height-0.3, width-0.6, 1.5, rtt, lineColor)
	s.plot(c, left+0.3, top+height-0.3, width-0.6, 1.5, lead, rowColor)
}

// plot draws a line of a figure on a base, newest at the right. The highest value touches the top.
func (s *samples) plot(c ecs.Canvas, x, base, width, height float64, of func(*client.Stats) float64, color ecs.Color) {
	most := 1.0
	for i := range s.len() {
		most = max(most, of(&s.at(i).stats))
	}
	step := width / graphSamples
	for i := range s.len() - 1 {
		right := x + width - step*float64(i)
		c.Line(right-step, base-height*of(&s.at(i+1).stats)/most, right, base-height*of(&s.at(i).stats)/most, 0.05, color)
	}
}
