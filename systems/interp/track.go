package interp

import (
	"fmt"

	"tendon/ecs"
)

// Track holds the received samples of one entity in the order of their ticks, each at most once. A sample holds until a later
// tick if nothing has changed in between.
type Track struct {
	config TrackConfig
	ring   []held
	oldest int
	count  int
}

// TrackConfig says what the samples of a track are.
type TrackConfig struct {
	// TickRate is the sender's, ticks per second, in [1, 1000].
	TickRate int
	// Samples is how many are kept, in [2, 1024]: enough for the largest delay of the playback, or its oldest state is
	// shown too early. Zero: 32.
	Samples int
	// MaxSpeed is the largest speed of an entity, in world units per second. An entity faster than twice that has
	// teleported. Zero: only a flag marks a teleport.
	MaxSpeed float64
	// Extrapolation is how to go on after the newest sample.
	Extrapolation Extrapolation
}

// Sample is an entity at the end of a tick.
type Sample struct {
	Tick ecs.Tick
	Motion
	Flags Flags
}

// Flags say more of a sample.
type Flags uint8

// The flags.
const (
	HasVelocity Flags = 1 << iota // Vel was sent: curves follow it, and it is extrapolated
	Teleported                    // the entity did not travel here from where it was before
)

// held is a sample that holds from its tick until another.
type held struct {
	Sample
	until ecs.Tick
}

// Kind says what a Bracket found.
type Kind uint8

// The kinds.
const (
	Unknown Kind = iota // there are no samples
	Early               // before the oldest sample, which is shown
	Between             // between two samples
	Resting             // nothing changes: a known rest, or the wait for a teleport
	Beyond              // after the newest sample, as far as it holds
)

// Bracket is which states surround a moment: those of ticks From and To, From ≤ To. They are the same but for Between.
type Bracket struct {
	Kind     Kind
	From, To ecs.Tick
	Part     float64 // of the way from From to To, in [0, 1)
	Past     float64 // Beyond: ticks after the newest sample ceases to hold
}

// NewTrack returns an empty track.
func NewTrack(c TrackConfig) (*Track, error) {
	t, err := newTrack(c)
	return &t, err
}

func newTrack(c TrackConfig) (Track, error) {
	if c.Samples == 0 {
		c.Samples = 32
	}
	switch {
	case c.TickRate < 1 || c.TickRate > 1000:
		return Track{}, fmt.Errorf("interp: TickRate is %d, not in [1, 1000]", c.TickRate)
	case c.Samples < 2 || c.Samples > 1024:
		return Track{}, fmt.Errorf("interp: Samples is %d, not in [2, 1024]", c.Samples)
	case !(c.MaxSpeed >= 0):
		return Track{}, fmt.Errorf("interp: MaxSpeed is %v, must be ≥ 0", c.MaxSpeed)
	case c.Extrapolation.Cap < 0:
		return Track{}, fmt.Errorf("interp: Extrapolation.Cap is %d ns, must be ≥ 0", c.Extrapolation.Cap)
	}
	return Track{config: c, ring: make([]held, c.Samples)}, nil
}

func (t *Track) at(i int) *held { return &t.ring[(t.oldest+i)%len(t.ring)] }

// Put adds a sample and reports whether it is useful. A sample after a newer one is, if it is not older than the shown moment,
// playing. Duplicates, and samples that contradict a known rest, are not.
func (t *Track) Put(s Sample, playing float64) bool {
	i := t.count
	for i > 0 && t.at(i-1).Tick >= s.Tick {
		i--
	}
	switch {
	case i < t.count && (t.at(i).Tick == s.Tick || float64(s.Tick) < playing):
		return false
	case i > 0 && t.at(i-1).until >= s.Tick:
		return false
	case t.count == len(t.ring) && i == 0:
		return false
	case t.count == len(t.ring):
		t.oldest = (t.oldest + 1) % len(t.ring)
		t.count--
		i--
	}
	t.count++
	for j := t.count - 1; j > i; j-- {
		*t.at(j) = *t.at(j - 1)
	}
	*t.at(i) = held{s, s.Tick}
	return true
}

// Rest notes that in tick c the entity still was as in the last sample before it.
func (t *Track) Rest(c ecs.Tick) {
	if i := t.find(float64(c)); i >= 0 {
		t.at(i).until = max(t.at(i).until, c)
	}
}

// find returns the place of the last sample that is not after a moment, or −1.
func (t *Track) find(playing float64) int {
	i := t.count - 1
	for i >= 0 && float64(t.at(i).Tick) > playing {
		i--
	}
	return i
}

// Bracket returns which states surround a moment, in ticks.
func (t *Track) Bracket(playing float64) Bracket {
	b, _ := t.bracket(playing)
	return b
}

// bracket returns the place of From too.
func (t *Track) bracket(playing float64) (b Bracket, i int) {
	if t.count == 0 {
		return Bracket{}, -1
	}
	if i = t.find(playing); i < 0 {
		return Bracket{Kind: Early, From: t.at(0).Tick, To: t.at(0).Tick}, 0
	}
	from := t.at(i)
	b = Bracket{Kind: Resting, From: from.Tick, To: from.Tick}
	after := playing - float64(from.until)
	switch {
	case after <= 0 && from.until > from.Tick:
	case i == t.count-1:
		b.Kind, b.Past = Beyond, after
	case !t.teleports(i + 1):
		to := t.at(i + 1)
		b.Kind, b.To, b.Part = Between, to.Tick, after/float64(to.Tick-from.until)
	}
	return b, i
}

// Motion returns where the entity is to be shown at a moment. Between two samples with velocities it follows a curve,
// otherwise a straight line; after the newest it is extrapolated.
func (t *Track) Motion(playing float64) (Motion, Bracket) {
	b, i := t.bracket(playing)
	if i < 0 {
		return Motion{}, b
	}
	from := t.at(i)
	m, rested := from.Motion, from.until > from.Tick
	if rested || from.Flags&HasVelocity == 0 {
		m.Vel, m.Acc = Vec{}, Vec{}
	}
	switch b.Kind {
	case Between:
		to := t.at(i + 1)
		span := t.seconds(float64(to.Tick - from.until))
		if from.Flags&to.Flags&HasVelocity != 0 {
			return Hermite(m, to.Motion, span, b.Part), b
		}
		return Motion{Pos: m.Pos.Lerp(to.Pos, b.Part), Vel: to.Pos.Sub(m.Pos).Scale(1 / span)}, b
	case Beyond:
		m, _ = t.config.Extrapolation.After(m, t.seconds(b.Past))
		return m, b
	case Early, Resting:
		m.Vel, m.Acc = Vec{}, Vec{}
	}
	return m, b
}

func (t *Track) seconds(ticks float64) float64 { return ticks / float64(t.config.TickRate) }

// interval returns the time between the two newest samples in seconds, 0 for less than two.
func (t *Track) interval() float64 {
	if t.count < 2 {
		return 0
	}
	return t.seconds(float64(t.at(t.count-1).Tick - t.at(t.count-2).Tick))
}

// Newest returns the newest sample; ok is false if there is none.
func (t *Track) Newest() (s Sample, ok bool) {
	if t.count == 0 {
		return Sample{}, false
	}
	return t.at(t.count - 1).Sample, true
}

// Len returns how many samples are kept.
func (t *Track) Len() int { return t.count }

// Clear drops all samples.
func (t *Track) Clear() { t.oldest, t.count = 0, 0 }
