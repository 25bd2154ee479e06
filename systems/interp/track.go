package interp

import "tendon/ecs"

// track holds the received samples of one entity in the order of their ticks, each at most once. A sample holds until a later
// tick if nothing has changed in between.
type track struct {
	config RemoteConfig
	ring   []held
	oldest int
	count  int
}

// trackSamples is the number of samples that a track stores: enough for the largest delay of the playback.
const trackSamples = 32

// Sample is an entity at the end of a tick.
type Sample struct {
	Tick ecs.Tick
	Motion
	Flags Flags
}

// Flags are properties of a sample.
type Flags uint8

// The flags.
const (
	HasVelocity Flags = 1 << iota // Vel was sent: curves follow it, and it is extrapolated
	Teleported                    // the entity did not travel here from where it was before
)

type held struct {
	Sample
	until ecs.Tick
}

// Kind is the kind of a Bracket.
type Kind uint8

// The kinds.
const (
	Unknown Kind = iota // there are no samples
	Early               // before the oldest sample, which is shown
	Between             // between two samples
	Resting             // nothing changes: a known rest, or the wait for a teleport
	Beyond              // after the newest sample, as far as it holds
)

// Bracket names the states that surround a moment: those of ticks From and To, From ≤ To. They differ only for Between.
type Bracket struct {
	Kind     Kind
	From, To ecs.Tick
	Part     float64 // of the way from From to To, in [0, 1)
	Past     float64 // Beyond: ticks after the newest sample ceases to hold
}

func (t *track) at(i int) *held { return &t.ring[(t.oldest+i)%len(t.ring)] }

// put adds a sample and reports whether it is useful. A sample after a newer one is, if it is not older than the shown moment,
// playing. Duplicates, and samples that contradict a known rest, are not.
func (t *track) put(s Sample, playing float64) bool {
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

// rest records that in tick c the entity still was as in the last sample before it.
func (t *track) rest(c ecs.Tick) {
	if i := t.find(float64(c)); i >= 0 {
		t.at(i).until = max(t.at(i).until, c)
	}
}

// find returns the place of the last sample that is not after a moment, or −1.
func (t *track) find(playing float64) int {
	i := t.count - 1
	for i >= 0 && float64(t.at(i).Tick) > playing {
		i--
	}
	return i
}

// bracket returns the states that surround a moment, in ticks, and the place of From.
func (t *track) bracket(playing float64) (b Bracket, i int) {
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

// motion returns the motion to show at a moment. Between two samples with velocities it follows a curve,
// otherwise a straight line; after the newest it is extrapolated.
func (t *track) motion(playing float64) (Motion, Bracket) {
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
			return hermite(m, to.Motion, span, b.Part), b
		}
		return Motion{Pos: m.Pos.Lerp(to.Pos, b.Part), Vel: to.Pos.Sub(m.Pos).Scale(1 / span)}, b
	case Beyond:
		return Extrapolate(m, t.seconds(b.Past), extrapolation, t.config.Floor), b
	case Early, Resting:
		m.Vel, m.Acc = Vec{}, Vec{}
	}
	return m, b
}

func (t *track) seconds(ticks float64) float64 { return ticks / float64(t.config.TickRate) }

// interval returns the time between the two newest samples in seconds, 0 for less than two.
func (t *track) interval() float64 {
	if t.count < 2 {
		return 0
	}
	return t.seconds(float64(t.at(t.count-1).Tick - t.at(t.count-2).Tick))
}

// teleports reports whether the entity jumped from the sample before i to sample i: the sample is flagged, or the speed would
// exceed twice the largest one. Nothing is shown between such two: the entity stays until the tick of the second. Only
// neighbours are compared, so a late sample between two may change the result.
func (t *track) teleports(i int) bool {
	from, to := t.at(i-1), t.at(i)
	if to.Flags&Teleported != 0 {
		return true
	}
	reach := 2 * t.config.MaxSpeed * t.seconds(float64(to.Tick-from.until))
	return t.config.MaxSpeed > 0 && to.Pos.Sub(from.Pos).Len() > reach
}

// teleportedIn reports whether the entity teleports at a moment after from, up to and including to, in ticks.
func (t *track) teleportedIn(from, to float64) bool {
	for i := t.count - 1; i > 0 && float64(t.at(i).Tick) > from; i-- {
		if float64(t.at(i).Tick) <= to && t.teleports(i) {
			return true
		}
	}
	return false
}
