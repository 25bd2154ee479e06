package reckon

import (
	"fmt"

	"tendon/ecs/fixed"
	"tendon/systems"
)

// Sender decides when an entity's own client tells of it: when what the others believe would be wrong, and once a period
// in any case.
//
// Invariant: of one entity no more than MaxRate records a second leave, but for a burst of 5 that must not wait; a change
// that the cap held back leaves as soon as it may.
type Sender struct {
	config  SenderConfig
	rules   *Rules
	last    Record // as it was sent
	sent    systems.Time
	begun   bool
	repeats int // of a stop, that are owed

	tokens  fixed.Num // records that may leave at once
	updated systems.Time

	heading fixed.Vec3 // velocity at the last update
	turning fixed.Num  // radians per second, smoothed over turnMemory
}

// SenderConfig is the send policy. Its zero value is the article's.
type SenderConfig struct {
	// Reading says what a deviation is. Zero: LookAhead.
	Reading Reading
	// Threshold is θ, the deviation that is not to be exceeded, world units, (0, 1000]. Zero: 0.5.
	Threshold fixed.Num
	// Period is the longest time between two records, [0.1 s, 5 s]. Zero: 1 s.
	Period systems.Time
	// Turn is κ: an entity that turns by w radians a second is told of every κ/w seconds, but not more often than every
	// 0.1 s and not more seldom than every Period. In radians, [0, 100]. Zero: always every Period.
	Turn fixed.Num
	// Near is the distance of the nearest viewer, in world units, up to which Threshold holds; beyond, it grows in
	// proportion to the distance. [0, 2^20]. Zero: it holds at any distance.
	Near fixed.Num
	// MaxRate is the cap, in records per second, [1, 60]. Zero: 10.
	MaxRate int
}

// Reading says how a deviation is measured. The article can be read both ways.
type Reading uint8

// The readings.
const (
	// LookAhead compares where the present velocity leads, a period after the last record, with where the record leads. It
	// reacts at the turn itself.
	LookAhead Reading = iota
	// Instant compares where the entity is with where the record puts it now, as in DIS.
	Instant
)

// Why says why a record leaves.
type Why uint8

// The reasons.
const (
	Not       Why = iota // it does not
	First                // nothing was sent before
	Urgent               // a teleport, a stop, an action, another mode
	Deviating            // the others would be wrong by more than the threshold
	Due                  // the period is over
	Repeated             // a stop is told again, as datagrams may be lost
)

const (
	urgentBurst = 5 // records that may leave at once
	stopRepeats = 3
	periodLeast = systems.Second / 10
	turnMemory  = systems.Second / 2
	fullTurn    = fixed.Pi
)

// NewSender returns a sender that has sent nothing. rules must be those that the others continue records by.
func NewSender(c SenderConfig, rules *Rules) (*Sender, error) {
	if c.Threshold == 0 {
		c.Threshold = fixed.Half
	}
	if c.Period == 0 {
		c.Period = systems.Second
	}
	if c.MaxRate == 0 {
		c.MaxRate = 10
	}
	switch {
	case c.Reading > Instant:
		return nil, fmt.Errorf("reckon: SenderConfig.Reading is %d, which is none", c.Reading)
	case c.Threshold < 0 || c.Threshold > 1000*fixed.One:
		return nil, fmt.Errorf("reckon: SenderConfig.Threshold is %v, not in (0, 1000]", c.Threshold)
	case c.Period < periodLeast || c.Period > 5*systems.Second:
		return nil, fmt.Errorf("reckon: SenderConfig.Period is %d ns, not in [0.1 s, 5 s]", c.Period)
	case c.Turn < 0 || c.Turn > 100*fixed.One:
		return nil, fmt.Errorf("reckon: SenderConfig.Turn is %v, not in [0, 100]", c.Turn)
	case c.Near < 0 || c.Near > fixed.One<<20:
		return nil, fmt.Errorf("reckon: SenderConfig.Near is %v, not in [0, 2^20]", c.Near)
	case c.MaxRate < 1 || c.MaxRate > 60:
		return nil, fmt.Errorf("reckon: SenderConfig.MaxRate is %d, not in [1, 60]", c.MaxRate)
	}
	return &Sender{config: c, rules: rules, tokens: urgentBurst * fixed.One}, nil
}

// Update takes how the entity moves at now, once a tick, as the record that would be sent, and says why it is to be sent,
// if it is. It is then taken as sent. FlagTeleport and FlagCast are the caller's, who keeps them set until the record
// leaves; FlagStop and FlagTurn are set here. viewer is the distance of the nearest viewer, 0 if that is not known.
func (s *Sender) Update(r *Record, now systems.Time, viewer fixed.Num) Why {
	s.elapse(now, r)
	r.Flags &^= FlagStop | FlagTurn
	if moving(r) {
		s.repeats = 0
	} else {
		r.Flags |= FlagStop
	}
	why := s.why(r, now, viewer)
	if why == Not {
		return Not
	}
	if why == Deviating {
		r.Flags |= FlagTurn
	}
	switch {
	case why == Repeated:
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

// why decides. What is urgent needs a token, of which there is one when that time has passed since the last record;
// everything else has to wait for that time.
func (s *Sender) why(r *Record, now systems.Time, viewer fixed.Num) Why {
	if !s.begun {
		return First
	}
	urgent := r.Flags&(FlagTeleport|FlagCast) != 0 || r.Mode != s.last.Mode || r.Flags&FlagStop != 0 && s.last.Flags&FlagStop == 0
	if urgent && s.tokens >= fixed.One {
		return Urgent
	}
	since := now - s.sent
	if since >= 0 && since < systems.Second/systems.Time(s.config.MaxRate) {
		return Not
	}
	switch {
	case s.Deviation(r, now) > s.threshold(viewer):
		return Deviating
	case s.repeats > 0:
		return Repeated
	case since < 0 || since >= s.period(): // a clock that was set back must not silence an entity
		return Due
	}
	return Not
}

// Deviation returns by how much the others would be wrong of the entity, in world units.
func (s *Sender) Deviation(r *Record, now systems.Time) fixed.Num {
	ahead := systems.Time(0)
	if s.config.Reading == LookAhead {
		ahead = max(s.config.Period-(now-s.sent), 0)
	}
	is, ok1 := s.rules.Predict(r, ahead)
	believed, ok2 := s.rules.Predict(&s.last, now-s.sent+ahead)
	if !ok1 || !ok2 {
		return r.Pos.Sub(s.last.Pos).Len()
	}
	return is.Pos.Sub(believed.Pos).Len()
}

// threshold returns θ for a viewer at a distance.
func (s *Sender) threshold(viewer fixed.Num) fixed.Num {
	if s.config.Near == 0 || viewer <= s.config.Near {
		return s.config.Threshold
	}
	return s.config.Threshold.Mul(viewer.Div(s.config.Near))
}

// period returns the longest time between two records at the rate at which the entity turns.
func (s *Sender) period() systems.Time {
	if s.config.Turn == 0 || s.turning == 0 {
		return s.config.Period
	}
	p := s.config.Turn.Div(s.turning).Min(8 * fixed.One)
	ns := systems.Time(p.Mul(fixed.FromInt(1000)).Int()) * (systems.Second / 1000)
	return min(max(ns, periodLeast), s.config.Period)
}

// elapse fills up the tokens and measures the turning.
func (s *Sender) elapse(now systems.Time, r *Record) {
	passed := max(now-s.updated, 0)
	s.updated = now
	if !s.begun {
		s.heading = r.Vel
		return
	}
	dt := seconds(min(passed, systems.Second))
	s.tokens = min(s.tokens+dt.Mul(fixed.FromInt(s.config.MaxRate)), urgentBurst*fixed.One)
	if s.config.Turn == 0 || dt == 0 {
		return
	}
	was, is := fixed.Vec2{X: s.heading.X, Y: s.heading.Y}, fixed.Vec2{X: r.Vel.X, Y: r.Vel.Y}
	s.heading = r.Vel
	turned := fixed.Num(0)
	if (was != fixed.Vec2{}) && (is != fixed.Vec2{}) {
		turned = fixed.Atan2(was.Cross(is), was.Dot(is)).Abs().Min(fullTurn)
	}
	// An exponential mean of the rate: what turned since the last update counts turned/turnMemory.
	memory := seconds(turnMemory)
	s.turning += (turned - s.turning.Mul(dt)).Div(memory)
	s.turning = s.turning.Max(0)
}

// Reset forgets what was sent: the next record is a first one, for a new connection.
func (s *Sender) Reset() {
	*s = Sender{config: s.config, rules: s.rules, tokens: urgentBurst * fixed.One}
}
