package lab

import (
	"math"
	"time"

	"tendon/systems"
)

// report fills in the measurements of the match.
func (m *match) report(r *Result) {
	var all totals
	for _, p := range m.players {
		all.add(p)
	}
	c, n := m.config, float64(len(m.players))
	minutes := c.For.Minutes() * n
	r.RTT = all.rtt / n
	r.Display, r.Confirm, r.Own, r.Remote = spreadOf(all.display), spreadOf(all.confirm), spreadOf(all.own), spreadOf(all.remote)
	r.Absolute, r.Shape, r.Window = errorOf(all.absolute), errorOf(all.shape), spreadOf(all.window)
	r.Speed = math.Sqrt(all.squares / float64(max(len(all.absolute), 1)))
	r.Corrections = Corrections{PerMinute: float64(len(all.sizes)) / minutes, Size: spreadOf(all.sizes), Causes: all.causes}
	jumps := spreadOf(all.jumps)
	r.Jumps = Jumps{Max: jumps.Max, P99: jumps.P99, PerMinute: float64(jumps.N) / minutes, Snaps: all.snaps,
		SnapsRate: float64(all.snaps) / minutes, Backward: all.backward}
	r.Freeze = Freeze{Percent: percent(all.frozen, all.frames), PerMinute: float64(all.episodes) / minutes, Longest: float64(all.longest) * 1e3 / displayHz}
	r.Roughness, r.Paces = 100*deviation(all.paces), len(all.paces)
	r.Shots = Shots{N: all.hits.all.rays, Agree: all.hits.all.percent(), InCap: all.hits.inCap.rays,
		AgreeInCap: all.hits.inCap.percent(), Age: spreadOf(all.hits.ages), Past: spreadOf(all.hits.past)}
	r.Hits = percent(all.predicted.right, all.predicted.all)
	r.Timeline = means(all.seconds)
	r.Slope = lagSlope(r.Timeline)
	due := c.For.Seconds() * float64(c.Game.TickRate)
	r.Stall = Stall{Percent: 100 * float64(all.stalled) / (due * n), PerMinute: float64(all.stallEpisodes) / minutes,
		Longest: milliseconds(all.longestStall), Reasons: all.reasons}
	r.Resimulated = float64(all.resimulated) / n / c.For.Seconds()
	r.Up, r.Down = all.up.rates(c.For, n), all.down.rates(c.For, n)
	r.Desyncs += all.desyncs
	r.Resyncs, r.Away = all.resyncs, percent(all.away, len(all.window))
	if c.Clock != nil {
		r.ClientWorst = spreadOf(all.costs).P99
		r.ServerTick, r.ClientFrame = float64(m.Busy-m.overhead)/due, float64(all.busy)/float64(max(all.turns, 1))
	}
	m.reportPeers(r, due*n)
}

// reportPeers fills in the room's counts of late inputs, as shares of due. A player who left in between lowers the counts,
// so a share is at least 0.
func (m *match) reportPeers(r *Result, due float64) {
	var late, substituted int64
	for i := range m.ended {
		s := &m.ended[i].Strategy
		late, substituted = late+int64(s.Late), substituted+int64(s.Substituted)
		r.Desyncs += s.Desyncs
		r.Updates.Overdue += s.Overdue
		r.Updates.Longest = max(r.Updates.Longest, 1e3*float64(s.LongestWait)/float64(m.config.Game.TickRate))
	}
	for i := range m.begun {
		s := &m.begun[i].Strategy
		late, substituted = late-int64(s.Late), substituted-int64(s.Substituted)
	}
	r.Late, r.Substituted = 100*float64(max(late, 0))/due, 100*float64(max(substituted, 0))/due
}

// totals are the measurements of all players.
type totals struct {
	marks
	clientTotals
	display, confirm, sizes, window, costs []float64
	causes                                 Causes
	predicted                              predicted
	up, down                               traffic
	rtt                                    float64
	busy                                   time.Duration
	turns, away                            int
}

// clientTotals are counted by the clients.
type clientTotals struct {
	stalled, stallEpisodes, resimulated uint64 // ticks, episodes, ticks
	longestStall                        time.Duration
	reasons                             map[string]uint64
	desyncs, resyncs                    uint64
}

func (a *totals) add(p *player) {
	a.marks.add(&p.display.marks)
	a.clientTotals.add(p)
	a.display, a.confirm = append(a.display, p.inputs.display...), append(a.confirm, p.inputs.confirm...)
	a.sizes, a.window = append(a.sizes, p.corrections.sizes...), append(a.window, p.window...)
	a.costs = append(a.costs, p.cost.frames...)
	a.causes.Substituted += p.corrections.causes.Substituted
	a.causes.Resync += p.corrections.causes.Resync
	a.causes.Remote += p.corrections.causes.Remote
	a.predicted.right, a.predicted.all = a.predicted.right+p.display.inputs.right, a.predicted.all+p.display.inputs.all
	a.up.add(p.ended.up)
	a.down.add(p.ended.down)
	a.rtt += milliseconds(p.ended.stats.RTT)
	a.busy, a.turns, a.away = a.busy+p.Busy, a.turns+p.ended.turns, a.away+p.away
}

func (a *marks) add(k *marks) {
	a.own, a.remote = append(a.own, k.own...), append(a.remote, k.remote...)
	a.absolute, a.shape = append(a.absolute, k.absolute...), append(a.shape, k.shape...)
	a.jumps, a.paces = append(a.jumps, k.jumps...), append(a.paces, k.paces...)
	a.squares += k.squares
	a.snaps, a.backward = a.snaps+k.snaps, a.backward+k.backward
	a.hits.add(&k.hits)
	a.frames, a.frozen, a.episodes, a.longest = a.frames+k.frames, a.frozen+k.frozen, a.episodes+k.episodes, max(a.longest, k.longest)
	for len(a.seconds) < len(k.seconds) {
		a.seconds = append(a.seconds, Second{})
	}
	for i := range k.seconds {
		s, o := &a.seconds[i], &k.seconds[i]
		s.Own, s.Remote, s.Error = s.Own+o.Own, s.Remote+o.Remote, s.Error+o.Error
		s.own, s.remote, s.errors = s.own+o.own, s.remote+o.remote, s.errors+o.errors
	}
}

func (a *clientTotals) add(p *player) {
	now, then := &p.ended.stats, &p.begun.stats
	a.stalled += now.Strategy.Stalls - then.Strategy.Stalls
	a.stallEpisodes += now.Strategy.Episodes - then.Strategy.Episodes
	a.resimulated += now.Strategy.Resimulated - then.Strategy.Resimulated
	a.resyncs += now.Resyncs - then.Resyncs
	a.desyncs += p.exact.desyncs
	a.longestStall = max(a.longestStall, p.stalls.longest)
	if a.reasons == nil {
		a.reasons = map[string]uint64{}
	}
	for reason, ticks := range p.stalls.reasons {
		if ticks > 0 {
			a.reasons[systems.StallReason(reason).String()] += ticks
		}
	}
}

// means turns sums into means, and leaves out the seconds in which nothing was measured.
func means(sums []Second) (list []Second) {
	for _, s := range sums {
		if s.own == 0 {
			continue
		}
		s.Own /= float64(s.own)
		s.Remote /= float64(max(s.remote, 1))
		s.Error /= float64(max(s.errors, 1))
		list = append(list, s)
	}
	return list
}

// lagSeconds is the number of seconds per mean in the lag slope, if there are enough.
const lagSeconds = 10

// lagSlope returns the increase of the own age per second, in ms.
func lagSlope(timeline []Second) float64 {
	over := min(lagSeconds, max(len(timeline)/4, 1))
	var ages []float64
	for ; len(timeline) >= over; timeline = timeline[over:] {
		sum := 0.0
		for i := range over {
			sum += timeline[i].Own
		}
		ages = append(ages, sum/float64(over))
	}
	return slope(ages) / float64(over)
}
