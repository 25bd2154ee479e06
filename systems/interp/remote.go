package interp

import "tendon/ecs"

// Remote is the display of one entity that this client does not predict: along its track, at the moment of the playback.
// If a sample shows that the view was wrong, an offset prevents a jump. While it fades, an entity that moves is not seen to
// move at more than twice its speed, nor backwards.
type Remote struct {
	track  track
	offset Offset
	at     float64 // up to where the track is shown, in ticks
	seen   bool    // the entity was shown
	least  float64 // speed at which the offset may decay though the entity stands, world units per second

	leading bool       // lead is under way
	lead    projective // from the shown motion to the track
	began   float64    // when lead began, in ticks
}

// RemoteConfig configures the display of an entity.
type RemoteConfig struct {
	// TickRate is the sender's, ticks per second, in [1, 1000].
	TickRate int
	// MaxSpeed is the largest speed of an entity, in world units per second, ≥ 0. An entity faster than twice that has
	// teleported. Zero: only a flag marks a teleport.
	MaxSpeed float64
	// Floor returns the height of the ground below a position, where an extrapolated fall ends. Optional.
	Floor func(Vec) float64
	// Smoothing is how corrections are shown. Projective takes the time between two samples, and jumps only where the entity
	// has teleported.
	Smoothing Smoothing
}

// Shown is what to draw of an entity.
type Shown struct {
	Motion          // Pos is with Offset
	Bracket Bracket // the states that other components are blended of
	Offset  Vec     // distance from its track
}

// extrapolation is the longest time for which an entity is extrapolated, in seconds, as in the Source engine.
const extrapolation = 0.25

// fading bounds the decay of an offset, as a share of the entity's own motion. Both together stay above zero and below twice
// its speed, also while playback catches up. The motion of a standing entity hides nothing, so the bound always allows the
// offset to decay within standingFade seconds.
const (
	fading       = 0.95
	standingFade = 0.5
)

// NewRemote returns the display of an entity without samples.
func NewRemote(c RemoteConfig) *Remote {
	return &Remote{track: track{config: c, ring: make([]held, trackSamples)}, offset: NewOffset(c.Smoothing)}
}

// Put adds a sample while the playback stands at playing, and reports whether it is useful. A sample after a newer one is, if
// it is not older than playing. Duplicates, and samples that contradict a known rest, are not.
func (r *Remote) Put(s Sample, playing float64) bool {
	before, was := r.track.motion(playing)
	if !r.track.put(s, playing) {
		return false
	}
	r.absorb(before, was, playing)
	return true
}

// Rest records that in tick c the entity still was as in the last sample before it.
func (r *Remote) Rest(c ecs.Tick, playing float64) {
	before, was := r.track.motion(playing)
	r.track.rest(c)
	r.absorb(before, was, playing)
}

// absorb adds to the offset the distance by which the view would jump.
func (r *Remote) absorb(before Motion, was Bracket, playing float64) {
	if !r.seen || was.Kind == Unknown || r.track.teleportedIn(r.at, playing) {
		return
	}
	after, _ := r.track.motion(playing)
	jump := before.Pos.Sub(after.Pos)
	if jump == (Vec{}) {
		return
	}
	if r.track.config.Smoothing == Projective {
		r.lead = newProjective(r.led(before, playing), after, r.track.interval())
		r.leading, r.began, r.at = true, playing, playing
		return
	}
	r.offset.Add(jump)
	r.least = r.offset.Value().Len() / standingFade
	r.at = playing // until now the view followed the track without the new sample
}

// Show returns what to draw when the playback stands at playing. The bracket's Kind is Unknown while there is nothing to
// draw.
func (r *Remote) Show(playing float64) (s Shown) {
	s.Motion, s.Bracket = r.track.motion(playing)
	if s.Bracket.Kind == Unknown {
		return s
	}
	if r.seen && r.track.teleportedIn(r.at, playing) {
		r.leading = false
		r.offset.Clear()
	}
	if r.leading {
		led := r.led(s.Motion, playing)
		s.Offset, s.Motion = led.Pos.Sub(s.Pos), led
		r.leading = r.track.seconds(playing-r.began) < r.lead.span
	} else {
		if r.offset.Value() != (Vec{}) {
			seconds := max(r.track.seconds(playing-r.at), 0)
			from, _ := r.track.motion(r.at)
			r.offset.Fade(seconds, max(fading*s.Pos.Sub(from.Pos).Len(), r.least*seconds))
		}
		s.Offset = r.offset.Value()
		s.Pos = s.Pos.Add(s.Offset)
	}
	r.at, r.seen = playing, true
	return s
}

// led returns the shown motion of an entity whose track is at m: m itself if no lead is under way.
func (r *Remote) led(m Motion, playing float64) Motion {
	if !r.leading {
		return m
	}
	seconds := max(r.track.seconds(playing-r.began), 0)
	r.lead.to = Motion{Pos: m.Pos.Sub(m.Vel.Scale(seconds)), Vel: m.Vel} // so that it leads to m, which bends as it likes
	return r.lead.after(seconds)
}

// Motion returns the motion of the track, without an offset, when the playback stands at playing.
func (r *Remote) Motion(playing float64) (Motion, Bracket) { return r.track.motion(playing) }

// Clear drops everything, for another entity or a new connection.
func (r *Remote) Clear() {
	*r = Remote{track: track{config: r.track.config, ring: r.track.ring}, offset: NewOffset(r.track.config.Smoothing)}
}
