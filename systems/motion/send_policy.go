package motion

import (
	"cmp"
	"fmt"

	"tendon/ecs/fixed"
	"tendon/systems"
)

// SendPolicy decides when a record of an entity is sent: when the others' extrapolation would be wrong, and once a period in
// any case.
//
// Invariant: at most MaxRate records a second are sent, and a burst of 5 urgent ones. A change that the limit delays is
// sent as soon as possible.
type SendPolicy struct {
	config  SendConfig
	rules   *Rules
	last    Record // as it was sent
	sent    systems.Time
	begun   bool
	repeats int // of a stop, still to send

	tokens  fixed.Num // urgent records that may be sent at once
	updated systems.Time

	heading fixed.Vec3 // velocity at the last update
	turning fixed.Num  // radians per second, smoothed over turnMemory
}

// SendConfig is when records are sent. Its zero value is the article's.
type SendConfig struct {
	// Reading is how a deviation is measured. Zero: LookAhead.
	Reading Reading
	// Threshold is θ, the deviation beyond which a record is sent, in world units, (0, 1000]. Zero: 0.5.
	Threshold fixed.Num
	// Period is the longest time between two records, [0.1 s, 5 s]. Zero: 1 s.
	Period systems.Time
	// Turn is κ, in radians, [0, 100]: records of an entity that turns by w radians a second are sent every κ/w seconds,
	// between 0.1 s and Period. Zero: every Period.
	Turn fixed.Num
	// Near is the distance of the nearest viewer up to which Threshold holds, in world units, [0, 2^20]. Beyond, it grows
	// in proportion to the distance. Zero: it holds at any distance.
	Near fixed.Num
}

// Reading is how a deviation is measured. The article can be read both ways.
type Reading uint8

// The readings.
const (
	// LookAhead compares the positions that the present velocity and the last record lead to, a period after that record. It
	// reacts at the turn itself.
	LookAhead Reading = iota
	// Instant compares the present position with the one that the last record leads to, as in DIS.
	Instant
)

// Reason is why a record is sent.
type Reason uint8

// The reasons.
const (
	NotDue    Reason = iota // it is not sent
	first                   // no record was sent before
	urgent                  // a teleport, a stop, an action, another mode
	deviating               // the deviation exceeds the threshold
	periodic                // the period is over
	repeated                // a stop is repeated, since datagrams may be lost
)

const (
	// MaxRate is the largest rate of records of an entity, per second.
	MaxRate = 10

	urgentBurst = 5 // records that may be sent at once
	stopRepeats = 3
	periodLeast = systems.Second / 10
	turnMemory  = systems.Second / 2
	fullTurn    = fixed.Pi
)

// Validate fills in the defaults, and returns an error that names a field outside its interval.
func (c *SendConfig) Validate() error {
	c.Threshold = cmp.Or(c.Threshold, fixed.Half)
	c.Period = cmp.Or(c.Period, systems.Second)
	switch {
	case c.Reading > Instant:
		return fmt.Errorf("motion: SendConfig.Reading is %d, want 0 or 1", c.Reading)
	case c.Threshold < 0 || c.Threshold > 1000*fixed.One:
		return fmt.Errorf("motion: SendConfig.Threshold is %v, want (0, 1000]", c.Threshold)
	case c.Period < periodLeast || c.Period > 5*systems.Second:
		return fmt.Errorf("motion: SendConfig.Period is %d ns, want [0.1 s, 5 s]", c.Period)
	case c.Turn < 0 || c.Turn > 100*fixed.One:
		return fmt.Errorf("motion: SendConfig.Turn is %v, want [0, 100]", c.Turn)
	case c.Near < 0 || c.Near > fixed.One<<20:
		return fmt.Errorf("motion: SendConfig.Near is %v, want [0, 2^20]", c.Near)
	}
	return nil
}

// NewSendPolicy returns a policy that has sent nothing. It panics if c is not valid. rules must be those that the others
// extrapolate by.
func NewSendPolicy(c SendConfig, rules *Rules) *SendPolicy {
	if err := c.Validate(); err != nil {
		panic(err)
	}
	s := &SendPolicy{config: c, rules: rules}
	s.Reset()
	return s
}

// Update takes the motion of the entity at now, once a tick, as a record, and returns why the record must be sent, or
// NotDue. A record that must be sent counts as sent. The caller sets FlagTeleport and FlagCast until the record is
// sent; Update sets FlagStop and FlagTurn. viewer is the distance of the nearest viewer, 0 if it is unknown.
func (s *SendPolicy) Update(r *Record, now systems.Time, viewer fixed.Num) Reason {
	s.elapse(now, r)
	r.Flags &^= FlagStop | FlagTurn
	if moving(r) {
		s.repeats = 0
	} else {
		r.Flags |= FlagStop
	}
	why := s.choose(r, now, viewer)
	if why == NotDue {
		return NotDue
	}
	if why == deviating {
		r.Flags |= FlagTurn
	}
	switch {
	case why == repeated:
		s.repeats--
	case r.Flags&FlagStop != 0 && s.last.Flags&FlagStop == 0 && s.begun:
		s.repeats = stopRepeats
	}
	s.last, s.sent, s.begun = *r, now, true
	s.tokens = max(s.tokens-fixed.One, 0)
	return why
}

func moving(r *Record) bool {
	if r.Mode == Scripted {
		return r.Speed != 0
	}
	return r.Vel != fixed.Vec3{} || r.Mode == Ballistic
}

// choose returns why a record must be sent. An urgent one needs a token. All others wait until 1/MaxRate after the last.
func (s *SendPolicy) choose(r *Record, now systems.Time, viewer fixed.Num) Reason {
	if !s.begun {
		return first
	}
	must := r.Flags&(FlagTeleport|FlagCast) != 0 || r.Mode != s.last.Mode || r.Flags&FlagStop != 0 && s.last.Flags&FlagStop == 0
	if must && s.tokens >= fixed.One {
		return urgent
	}
	since := now - s.sent
	if since >= 0 && since < systems.Second/MaxRate {
		return NotDue
	}
	switch {
	case s.deviation(r, now) > s.threshold(viewer):
		return deviating
	case s.repeats > 0:
		return repeated
	case since < 0 || since >= s.period(): // also after a clock was set back
		return periodic
	}
	return NotDue
}

// deviation returns the error of the others' extrapolation, in world units.
func (s *SendPolicy) deviation(r *Record, now systems.Time) fixed.Num {
	ahead := systems.Time(0)
	if s.config.Reading == LookAhead {
		ahead = max(s.config.Period-(now-s.sent), 0)
	}
	is, ok1 := s.rules.Predict(r, ahead)
	known, ok2 := s.rules.Predict(&s.last, now-s.sent+ahead)
	if !ok1 || !ok2 {
		return r.Pos.Sub(s.last.Pos).Len()
	}
	return is.Pos.Sub(known.Pos).Len()
}

func (s *SendPolicy) threshold(viewer fixed.Num) fixed.Num {
	if s.config.Near == 0 || viewer <= s.config.Near {
		return s.config.Threshold
	}
	return s.config.Threshold.Mul(viewer.Div(s.config.Near))
}

// period returns the longest time between two records at the rate at which the entity turns.
func (s *SendPolicy) period() systems.Time {
	if s.config.Turn == 0 || s.turning == 0 {
		return s.config.Period
	}
	p := min(s.config.Turn.Div(s.turning), 8*fixed.One)
	ns := systems.Time(p.Mul(fixed.FromInt(1000)).Int()) * (systems.Second / 1000)
	return min(max(ns, periodLeast), s.config.Period)
}

// elapse adds tokens and measures the turning rate.
func (s *SendPolicy) elapse(now systems.Time, r *Record) {
	passed := max(now-s.updated, 0)
	s.updated = now
	if !s.begun {
		s.heading = r.Vel
		return
	}
	dt := Seconds(min(passed, systems.Second))
	s.tokens = min(s.tokens+dt.Mul(fixed.FromInt(MaxRate)), urgentBurst*fixed.One)
	if s.config.Turn == 0 || dt == 0 {
		return
	}
	was, is := fixed.Vec2{X: s.heading.X, Y: s.heading.Y}, fixed.Vec2{X: r.Vel.X, Y: r.Vel.Y}
	s.heading = r.Vel
	turned := fixed.Num(0)
	if (was != fixed.Vec2{}) && (is != fixed.Vec2{}) {
		turned = min(fixed.Atan2(was.Cross(is), was.Dot(is)).Abs(), fullTurn)
	}
	// An exponential mean of the rate, over turnMemory.
	memory := Seconds(turnMemory)
	s.turning += (turned - s.turning.Mul(dt)).Div(memory)
	s.turning = max(s.turning, 0)
}

// Reset starts anew: the next record is a first one.
func (s *SendPolicy) Reset() {
	*s = SendPolicy{config: s.config, rules: s.rules, tokens: urgentBurst * fixed.One}
}

// Last returns the record that was sent last, and when; ok is false if there is none.
func (s *SendPolicy) Last() (r Record, at systems.Time, ok bool) { return s.last, s.sent, s.begun }

// Rests reports whether the entity stands at the position of r, and a stop there was sent and repeated.
func (s *SendPolicy) Rests(r *Record) bool {
	return s.repeats == 0 && s.last.Flags&FlagStop != 0 && r.Flags&FlagStop != 0 && s.last.Pos == r.Pos
}
