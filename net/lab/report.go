package lab

import (
	"math"
	"time"
)

// report fills in the measurements of the last time.
func (m *match) report(r *Result, time time.Duration) {
	c, n, s, seconds := m.config, float64(m.measured), &m.samples, time.Seconds()
	minutes, due := time.Minutes()*n, seconds*float64(c.Game.TickRate)
	r.RTT, r.Playout = s.rtt/n, s.playout/n
	r.Display, r.Confirm, r.Own, r.Remote = spreadOf(s.display), spreadOf(s.confirm), spreadOf(s.own), spreadOf(s.remote)
	r.Absolute, r.Shape, r.Window = errorOf(s.absolute), errorOf(s.shape), spreadOf(s.window)
	r.Speed = math.Sqrt(s.squares / float64(max(len(s.absolute), 1)))
	r.Corrections = Corrections{PerMinute: float64(len(s.sizes)) / minutes, Size: spreadOf(s.sizes), Causes: s.causes}
	jumps := spreadOf(s.jumps)
	r.Jumps = Jumps{Max: jumps.Max, P99: jumps.P99, PerMinute: float64(jumps.N) / minutes, Snaps: s.snaps,
		SnapsRate: float64(s.snaps) / minutes, Backward: s.backward}
	r.Freeze = Freeze{Percent: percent(s.frozen, s.frames), PerMinute: float64(s.freezes) / minutes,
		Longest: float64(s.longestFreeze) * 1e3 / displayHz}
	r.Roughness, r.Paces = 100*deviation(s.paces), len(s.paces)
	r.Shots = Shots{N: s.rays, Agree: percent(s.agreed, s.rays), InCap: s.raysInCap, AgreeInCap: percent(s.agreedInCap, s.raysInCap),
		Age: spreadOf(s.viewAges), Past: spreadOf(s.past)}
	r.Hits = percent(s.hitTicks, s.ticks)
	r.Timeline = means(s.seconds)
	r.Slope = lagSlope(r.Timeline)
	r.Stall = Stall{Percent: 100 * float64(s.stalled) / (due * n), PerMinute: float64(s.stalls) / minutes,
		Longest: milliseconds(s.longestStall), Reasons: s.reasons}
	r.Resimulated = float64(s.resimulated) / n / seconds
	r.Up, r.Down = s.up.rates(seconds*n), s.down.rates(seconds*n)
	r.Resyncs, r.Away, r.Desyncs = s.resyncs, percent(s.away, len(s.window)), m.desyncs
	costs := spreadOf(s.costs)
	r.ServerTick, r.ClientFrame, r.ClientWorst = float64(m.Busy-m.overhead)/due, costs.Mean, costs.P99
	m.reportPeers(r, due*n)
}

// reportPeers fills in the room's counts of late inputs, as shares of due. A player who left in between lowers the counts,
// so a share is at least 0.
func (m *match) reportPeers(r *Result, due float64) {
	var late, substituted float64
	for i := range m.ended {
		s := &m.ended[i].Strategy
		late, substituted = late+float64(s.Late), substituted+float64(s.Substituted)
		r.Desyncs += s.Desyncs
		r.Updates.Overdue += s.Overdue
		r.Updates.Longest = max(r.Updates.Longest, 1e3*float64(s.LongestWait)/float64(m.config.Game.TickRate))
	}
	for i := range m.begun {
		s := &m.begun[i].Strategy
		late, substituted = late-float64(s.Late), substituted-float64(s.Substituted)
	}
	r.Late, r.Substituted = 100*max(late, 0)/due, 100*max(substituted, 0)/due
}

// means turns sums into means, and leaves out the seconds in which nothing was measured.
func means(sums []Second) (list []Second) {
	for _, s := range sums {
		if s.own > 0 {
			s = Second{Own: s.Own / float64(s.own), Remote: s.Remote / float64(max(s.remote, 1)), Error: s.Error / float64(max(s.errors, 1))}
			list = append(list, s)
		}
	}
	return list
}

const lagSeconds = 10 // seconds per mean in the lag slope, if there are enough

// lagSlope returns the increase of the own age per second, in ms.
func lagSlope(timeline []Second) float64 {
	over := min(lagSeconds, max(len(timeline)/4, 1))
	var ages []float64
	for ; len(timeline) >= over; timeline = timeline[over:] {
		sum := 0.0
		for _, s := range timeline[:over] {
			sum += s.Own
		}
		ages = append(ages, sum/float64(over))
	}
	return slope(ages) / float64(over)
}
