package room

import (
	"fmt"

	"tendon/systems"
)

const (
	// maxLag is the longest time that a match is behind. For so long, clients send inputs to a server that stands still.
	maxLag      = systems.Second / 2
	noticeEvery = 10 * systems.Second // shortest time between two notices about time that was given up
)

// lag returns how late the next tick is, negative before it is due.
func (r *Room) lag() systems.Time { return r.strategyTime() - r.due(r.Tick()+1) }

func (r *Room) tickLength() systems.Time {
	return systems.Second / systems.Time(r.config.Game.TickRate)
}

// boundLag gives up the time by which the match is more than maxLag behind, after the server stood still. So the players
// see a pause. Otherwise the ticks of that time would follow at once, with inputs that the players did not give.
func (r *Room) boundLag() {
	if r.clock.on || r.recovery != nil {
		return
	}
	if excess := r.lag() - max(maxLag, r.tickLength()); excess > 0 {
		r.giveUp(excess/r.tickLength() + 1)
	}
}

// easeOverload gives up all lag if the last Frame computed several ticks and the match is nearly as late as before. A server that
// is too slow then runs the match in slow motion, and not in bursts.
func (r *Room) easeOverload() {
	c, lag := &r.clock, r.lag()
	if c.caughtUp > 1 && lag > c.lag-systems.Time(c.caughtUp)*r.tickLength()/2 {
		r.giveUp(lag / r.tickLength())
		lag = r.lag()
	}
	c.lag = lag
}

// giveUp makes all further ticks due a number of ticks later. Strategies read a clock without that time. Stats.GivenUp does not
// contain the time for which the match waits for its journal.
func (r *Room) giveUp(ticks systems.Time) {
	r.clock.total += ticks * r.tickLength()
	if !r.commits.failing {
		r.stats.GivenUp += ticks * r.tickLength()
	}
}

// Skipped reports that the clock of the caller, whose times the other methods receive, stood still for a time.
func (r *Room) Skipped(length systems.Time) { r.stats.GivenUp += length }

// noticeLag sends every player a notice of the time that was given up.
func (r *Room) noticeLag() {
	c := &r.clock
	if lost := r.stats.GivenUp - c.noticed; lost >= maxLag && r.now >= c.noticeAt {
		c.noticed, c.noticeAt = r.stats.GivenUp, r.now+noticeEvery
		r.Notice(0, fmt.Sprintf("the server stood still or was too slow: the match paused for %.1f s", lost.Seconds()))
	}
}
