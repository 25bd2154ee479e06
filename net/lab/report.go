package lab

import (
	"math"
	"time"

	"tendon/systems"
)

// report says what was measured of the match.
func (m *match) report(r *Result) {
	var all findings
	for _, p := range m.players {
		all.add(p)
	}
	c, n := m.config, float64(len(m.players))
	minutes := c.For.Minutes() * n
	r.RTT = all.rtt / n
	r.Display, r.Confirm, r.Own, r.Remote = spreadOf(all.display), spreadOf(all.confirm), spreadOf(all.own), spreadOf(all.remote)
	r.Absolute, r.Shape, r.Window = errorOf(all.errors), errorOf(all.shapes), spreadOf(all.window)
	r.Speed = math.Sqrt(all.squares / float64(max(len(all.errors), 1)))
	r.Corrections = Corrections{PerMinute: float64(len(all.sizes)) / minutes, Size: spreadOf(all.sizes), Causes: all.causes}
	jumps := spreadOf(all.jumps)
	r.Jumps = Jumps{Max: jumps.Max, P99: jumps.P99, PerMinute: float64(jumps.N) / minutes, Snaps: all.snaps,
		SnapsRate: float64(all.snaps) / minutes, Backward: all.backward}
	r.Freeze = Freeze{Percent: percent(all.frozen, all.frames), PerMinute: float64(all.episodes) / minutes, Longest: float64(all.longest) * 1e3 / displayHz}
	r.Roughness, r.Paces = 100*deviation(all.paces), len(all.paces)
	r.Shots = Shots{N: all.hits.all.lines, Agree: percent(all.hits.all.agree, all.hits.all.lines), InCap: all.hits.near.lines,
		AgreeInCap: percent(all.hits.near.agree, all.hits.near.lines), Age: spreadOf(all.hits.ages), Past: spreadOf(all.hits.past)}
	r.Hits = percent(all.right, all.inputs)
	r.Timeline = means(all.seconds)
	r.Slope = lagSlope(r.Timeline)
	due := c.For.Seconds() * float64(c.Game.TickRate)
	r.Stall = Stall{Percent: 100 * float64(all.lost) / (due * n), PerMinute: float64(all.began) / minutes, Longest: milliseconds(all.stalled), Reasons: all.reasons}
	r.Resimulated = float64(all.again) / n / c.For.Seconds()
	r.Up, r.Down = all.up.rates(c.For, n), all.down.rates(c.For, n)
	r.Desyncs += all.desyncs
	r.Resyncs, r.Away = all.resyncs, percent(all.away, len(all.window))
	if c.Clock != nil {
		r.ClientWorst = spreadOf(all.costs).P99
		r.ServerTick, r.ClientFrame = float64(m.busy-m.noting)/due, float64(all.busy)/float64(max(all.turns, 1))
	}
	m.reportPeers(r, due*n)
}

// reportPeers says what the room knows of the players' inputs; due is how many it was to get. Of a player who was gone at the
// end and had been there at the beginning less than nothing is known.
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

// findings are what was found of all players.
type findings struct {
	marks
	display, confirm, sizes, window, costs []float64
	causes                                 Causes
	right, inputs                          int
	lost, began, again                     uint64 // ticks not computed, episodes of that, ticks computed again
	stalled                                time.Duration
	reasons                                map[string]uint64
	up, down                               Traffic
	rtt                                    float64
	desyncs, resyncs                       uint64
	busy                                   time.Duration
	turns, away                            int
}

func (a *findings) add(p *player) {
	k := &p.display.marks
	a.display, a.confirm = append(a.display, p.presses.display...), append(a.confirm, p.presses.confirm...)
	a.sizes, a.window = append(a.sizes, p.fixes.sizes...), append(a.window, p.window...)
	a.costs = append(a.costs, p.costs...)
	a.own, a.remote = append(a.own, k.own...), append(a.remote, k.remote...)
	a.errors, a.shapes = append(a.errors, k.errors...), append(a.shapes, k.shapes...)
	a.jumps, a.paces = append(a.jumps, k.jumps...), append(a.paces, k.paces...)
	a.squares += k.squares
	a.snaps, a.backward = a.snaps+k.snaps, a.backward+k.backward
	a.hits.add(&k.hits)
	a.frames, a.frozen, a.episodes, a.longest = a.frames+k.frames, a.frozen+k.frozen, a.episodes+k.episodes, max(a.longest, k.longest)
	a.causes.Substituted += p.fixes.causes.Substituted
	a.causes.Resync += p.fixes.causes.Resync
	a.causes.Remote += p.fixes.causes.Remote
	a.right, a.inputs = a.right+p.display.inputs.right, a.inputs+p.display.inputs.all
	a.addSeconds(k.seconds)
	now, then := p.ended, p.begun
	a.lost += now.Strategy.Stalls - then.Strategy.Stalls
	a.began += now.Strategy.Episodes - then.Strategy.Episodes
	a.again += now.Strategy.Resimulated - then.Strategy.Resimulated
	a.resyncs += now.Resyncs - then.Resyncs
	a.stalled = max(a.stalled, p.stalls.longest)
	if a.reasons == nil {
		a.reasons = map[string]uint64{}
	}
	for reason, ticks := range p.stalls.reasons {
		if ticks > 0 {
			a.reasons[systems.StallReason(reason).String()] += ticks
		}
	}
	a.up.add(p.upward)
	a.down.add(p.inward)
	a.rtt += milliseconds(time.Duration(now.RTT))
	a.desyncs += p.desyncs
	a.busy, a.turns, a.away = a.busy+p.busy, a.turns+p.frames, a.away+p.away
}

func (a *findings) addSeconds(of []Second) {
	for len(a.seconds) < len(of) {
		a.seconds = append(a.seconds, Second{})
	}
	for i := range of {
		s, o := &a.seconds[i], &of[i]
		s.Own, s.Remote, s.Error = s.Own+o.Own, s.Remote+o.Remote, s.Error+o.Error
		s.own, s.remote, s.errors = s.own+o.own, s.remote+o.remote, s.errors+o.errors
	}
}

// means turns sums into means; seconds in which nothing was measured are left out.
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

// lagSeconds is how many seconds the means are of whose slope is the lag slope, if there are enough.
const lagSeconds = 10

// lagSlope returns how much later the own timeline is shown from second to second, in ms.
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

func (t *Traffic) add(o Traffic) {
	t.Messages, t.Payload, t.Packets, t.Wire = t.Messages+o.Messages, t.Payload+o.Payload, t.Packets+o.Packets, t.Wire+o.Wire
	t.MostWire = max(t.MostWire, o.MostWire)
}

// rates are the means of n ends.
func (t *Traffic) rates(d time.Duration, n float64) Rates {
	seconds := d.Seconds() * n
	const kilobits = 8.0 / 1000
	return Rates{Payload: float64(t.Payload) * kilobits / seconds, Wire: float64(t.Wire) * kilobits / seconds,
		Most: float64(t.MostWire) * kilobits, Packets: float64(t.Packets) / seconds}
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
