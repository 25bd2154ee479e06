package interp

import (
	"math"

	"tendon/ecs"
	"tendon/systems"
)

// Playback is the moment of the server's time at which a client shows remote entities: T_play, in ticks with a fraction. It
// runs a delay B behind the newest received state, so that there are two states to interpolate between. Its pace is 0.96, 1
// or 1.02 of real time.
//
// The target of T_play follows from the stamps of states, in ticks of the sender, and their arrival times on the local clock,
// averaged over a second. Jitter moves the average a little and the view not at all.
type Playback struct {
	law

	started  bool
	last     systems.Time
	elapsed  float64 // ticks of local time since the first arrival
	position float64 // T_play
	pace     float64
	delay    float64 // B, ticks

	newest   ecs.Tick
	newestAt float64 // elapsed when newest arrived
	ahead    float64 // average of stamp − elapsed
	before   float64 // ahead without the samples of the instant newestAt
	samples  int
	strange  int     // instants in a row with stamps too far from the average
	gap      float64 // average time between arrivals, ticks
	variance float64 // of the gap: fast to grow, slow to shrink

	late  uint64 // arrivals after T_play had passed every received state
	jumps uint64 // times that T_play was set anew
}

// law holds the constants of a playback.
type law struct {
	config  PlaybackConfig
	nominal float64 // least B, ticks
	most    float64 // largest B, ticks; silence that is longer counts as an outage, not as jitter
	jitter  float64 // κ: B covers the mean time between arrivals and κ of its standard deviations
	perTime float64 // ticks per nanosecond
	fast    float64 // weight of a new sample in an average over 1 s
	slow    float64 // and in one over 2 s
}

// PlaybackConfig configures a playback.
type PlaybackConfig struct {
	// TickRate is the sender's, ticks per second, in [1, 1000].
	TickRate int
	// Interval is the time between two sends, in ticks, > 0: 3 for 20 states a second of 60 ticks.
	Interval float64
	// Intervals is m, the least delay in intervals, ≥ 1. m − 1 states lost in a row are not seen. Zero: 2.
	Intervals float64
}

// The control law is Mirror's (snapshot interpolation): pace +2 % when behind by more than an interval, −4 % when ahead.
const (
	catchUp   = 1.02
	slowDown  = 0.96
	shrinking = 0.1 // share of the surplus delay that is removed in a second
)

// NewPlayback returns a playback that starts with the first arrival. Its delay is at most 500 ms, or twice the least delay
// if that is more.
func NewPlayback(c PlaybackConfig) *Playback {
	if c.Intervals == 0 {
		c.Intervals = 2
	}
	rate, nominal := float64(c.TickRate), c.Intervals*c.Interval
	perSecond := rate / c.Interval
	return &Playback{law: law{config: c, nominal: nominal, most: max(rate/2, 2*nominal), jitter: 4, perTime: rate / float64(systems.Second),
		fast: min(2/(perSecond+1), 1), slow: min(2/(2*perSecond+1), 1)}}
}

// Arrived records the arrival of the server's state of tick stamp. Duplicates and overtaken states are ignored.
func (p *Playback) Arrived(stamp ecs.Tick, now systems.Time) {
	if !p.started {
		p.start(stamp, now)
		return
	}
	p.Advance(now)
	if stamp <= p.newest {
		return
	}
	// With a delay of needed, the received states would have lasted until now. A state that arrives in the same instant as
	// another one does not change that.
	dry := p.position > float64(p.newest) && p.elapsed > p.newestAt
	needed := p.ahead + p.elapsed - float64(p.newest)
	p.measure(stamp)
	p.newest, p.newestAt = stamp, p.elapsed
	p.delay = max(p.delay, p.wanted())
	if !dry {
		return
	}
	p.late++
	if needed <= p.most {
		p.delay = max(p.delay, needed)
	}
	if p.drift() < 0 {
		p.pace = slowDown // for the smallest drift too, or the delay would not take effect
	}
}

func (p *Playback) start(stamp ecs.Tick, now systems.Time) {
	at := float64(stamp)
	*p = Playback{law: p.law, started: true, last: now, pace: 1, newest: stamp, ahead: at, before: at, samples: 1, gap: p.config.Interval}
	p.delay = p.wanted()
	p.position = p.ahead - p.delay
}

// measure adds the arrival of a state newer than all before to the averages.
func (p *Playback) measure(stamp ecs.Tick) {
	gap, sample := p.elapsed-p.newestAt, float64(stamp)-p.elapsed
	if gap <= p.most {
		off := gap - p.gap
		p.gap += p.slow * off
		weight := p.slow
		if off*off > p.variance {
			weight = p.fast
		}
		p.variance += weight * (off*off - p.variance)
	}
	if gap > 0 {
		p.before = p.ahead
	}
	if math.Abs(sample-p.before) <= p.most {
		// The newest of several states that arrive in one instant gives the server's tick; the others had to wait.
		p.strange = 0
		p.samples++
		p.ahead = p.before + max(p.fast, 1/float64(p.samples))*(sample-p.before)
		return
	}
	// A queue after a suspension drains by itself. A latency that lasts for a second is the new latency.
	if gap > 0 {
		p.strange++
	}
	if float64(p.strange)*p.config.Interval >= float64(p.config.TickRate) {
		p.ahead, p.before, p.samples, p.strange = sample, sample, 1, 0
	}
}

// wanted returns the delay that the connection needs, in ticks.
func (p *Playback) wanted() float64 {
	return min(max(p.nominal, p.gap+p.jitter*math.Sqrt(p.variance)), p.most)
}

// Advance moves T_play to now and returns it; 0 before the first arrival. A clock that went backwards counts as standing
// still.
func (p *Playback) Advance(now systems.Time) float64 {
	if !p.started {
		return 0
	}
	passed := float64(max(now-p.last, 0)) * p.perTime
	p.last = now
	p.elapsed += passed
	p.position += passed * p.pace
	if surplus := p.delay - p.wanted(); surplus > 0 {
		p.delay -= surplus * (1 - math.Exp(-shrinking*passed/float64(p.config.TickRate)))
	}
	p.steer()
	return p.position
}

// steer sets the pace. A correction that has begun continues until the drift is 0, or T_play would stay at the edge.
func (p *Playback) steer() {
	drift := p.drift()
	switch {
	case math.Abs(drift) > p.delay:
		p.position += drift
		p.pace = 1
		p.jumps++
	case drift > p.config.Interval, drift > 0 && p.pace > 1:
		p.pace = catchUp
	case drift < -p.config.Interval, drift < 0 && p.pace < 1:
		p.pace = slowDown
	default:
		p.pace = 1
	}
}

// Tick returns T_play as of the last Advance or Arrived, in ticks.
func (p *Playback) Tick() float64 { return p.position }

// Started reports whether anything has arrived.
func (p *Playback) Started() bool { return p.started }

// Delay returns B, in ticks.
func (p *Playback) Delay() float64 { return p.delay }

// drift returns the number of ticks by which T_play is behind its target; negative: ahead.
func (p *Playback) drift() float64 { return p.ahead + p.elapsed - p.delay - p.position }

// Forget drops everything, for a new connection: playback starts again with the next arrival.
func (p *Playback) Forget() { p.started = false }
