package interp

import "tendon/ecs"

// Remote is how one entity that this client does not predict is shown: along its track, at the moment of the playback.
// Where a sample shows that the picture was wrong, an offset keeps it from jumping. While it fades, an entity that moves
// is not seen to move at more than twice its speed, nor backwards.
type Remote struct {
	track   Track
	offset  Offset
	at      float64 // up to where the track is shown, in ticks
	seen    bool    // whether anything was
	snapped bool    // since then
	least   float64 // speed at which the offset may go though the entity stands, world units per second

	projective bool
	leading    bool       // lead is under way
	lead       Projective // from the shown motion to the track
	began      float64    // when lead began, in ticks
}

// RemoteConfig says how to show an entity.
type RemoteConfig struct {
	Track  TrackConfig
	Offset OffsetConfig
	// Projective uses projective velocity blending, in the time between two samples, instead of a decaying offset. It is for
	// vehicles, which must not slide sideways, and for long gaps. It snaps only where the entity has teleported.
	Projective bool
}

// Shown is what to draw of an entity.
type Shown struct {
	Motion          // Pos is with Offset
	Bracket Bracket // the states that other components are blended of
	Offset  Vec     // by how much it is shown beside its track
	Snapped bool    // the view jumps: the entity teleported, or the correction was too large
}

// fading bounds the decay of an offset, as a share of the entity's own motion. Both together stay above zero and below twice
// its speed, also while playback catches up. The motion of a standing entity hides nothing, so the bound always allows the
// offset to decay within standingFade seconds.
const (
	fading       = 0.95
	standingFade = 0.5
)

// NewRemote returns an entity of which nothing is known.
func NewRemote(c RemoteConfig) (*Remote, error) {
	track, err := newTrack(c.Track)
	if err != nil {
		return nil, err
	}
	offset, err := NewOffset(c.Offset)
	if err != nil {
		return nil, err
	}
	return &Remote{track: track, offset: offset, projective: c.Projective}, nil
}

// Put enters a sample, as Track.Put does, while the playback stands at playing.
func (r *Remote) Put(s Sample, playing float64) bool {
	before, was := r.track.Motion(playing)
	if !r.track.Put(s, playing) {
		return false
	}
	r.absorb(before, was, playing)
	return true
}

// Rest notes that in tick c the entity still was as in the last sample before it.
func (r *Remote) Rest(c ecs.Tick, playing float64) {
	before, was := r.track.Motion(playing)
	r.track.Rest(c)
	r.absorb(before, was, playing)
}

// absorb takes into the offset by how much the picture would jump.
func (r *Remote) absorb(before Motion, was Bracket, playing float64) {
	if !r.seen || was.Kind == Unknown || r.track.TeleportedIn(r.at, playing) {
		return
	}
	after, _ := r.track.Motion(playing)
	jump := before.Pos.Sub(after.Pos)
	if jump == (Vec{}) {
		return
	}
	if r.projective {
		r.lead = NewProjective(r.led(before, playing), after, r.track.interval())
		r.leading, r.began, r.at = true, playing, playing
		return
	}
	r.snapped = r.offset.Add(jump) || r.snapped
	r.least = r.offset.Value().Len() / standingFade
	r.at = playing // up to here the picture follows the track as it was
}

// Show returns what to draw when the playback stands at playing. The bracket's Kind is Unknown while there is nothing to
// draw.
func (r *Remote) Show(playing float64) (s Shown) {
	s.Motion, s.Bracket = r.track.Motion(playing)
	if s.Bracket.Kind == Unknown {
		return s
	}
	s.Snapped = r.snapped
	if r.seen && r.track.TeleportedIn(r.at, playing) {
		s.Snapped, r.leading = true, false
		r.offset.Clear()
	}
	if r.leading {
		led := r.led(s.Motion, playing)
		s.Offset, s.Motion = led.Pos.Sub(s.Pos), led
		r.leading = !r.lead.Done(r.track.seconds(playing - r.began))
		r.at, r.seen, r.snapped = playing, true, false
		return s
	}
	if r.offset.Value() != (Vec{}) {
		seconds := max(r.track.seconds(playing-r.at), 0)
		from, _ := r.track.Motion(r.at)
		r.offset.Fade(seconds, max(fading*s.Pos.Sub(from.Pos).Len(), r.least*seconds))
	}
	s.Offset = r.offset.Value()
	s.Pos = s.Pos.Add(s.Offset)
	r.at, r.seen, r.snapped = playing, true, false
	return s
}

// led returns what is shown of an entity whose track is at m while a lead is under way: m itself if none is.
func (r *Remote) led(m Motion, playing float64) Motion {
	if !r.leading {
		return m
	}
	seconds := max(r.track.seconds(playing-r.began), 0)
	r.lead.to = Motion{Pos: m.Pos.Sub(m.Vel.Scale(seconds)), Vel: m.Vel} // so that it leads to m, which bends as it likes
	return r.lead.After(seconds)
}

// Track returns the received samples of the entity, for reading only: a sample added to it directly makes the view jump.
func (r *Remote) Track() *Track { return &r.track }

// Clear drops everything, for another entity or a new connection.
func (r *Remote) Clear() {
	r.track.Clear()
	r.offset.Clear()
	r.at, r.seen, r.snapped, r.least, r.leading = 0, false, false, 0, false
}
