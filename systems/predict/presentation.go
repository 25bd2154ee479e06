package predict

import (
	"math"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems/internal/table"
	"tendon/systems/interp"
	"tendon/systems/predictor"
)

// presentation shows the client's own entities between their two last predicted states, and all others where they were
// a short while ago, between two states received. It never changes the simulation.
//
// tracks has an entry for each remote entity that changed lately. An entity without one is shown as in the received state.
type presentation struct {
	client   *Client
	playback *interp.Playback
	remote   interp.RemoteConfig
	tracks   table.Table[track]
	newest   ecs.Tick          // of the states received
	changed  image.Changed     // rows that differ between the two newest states received
	offsets  predictor.Offsets // of predicted entities, and of those that switch timelines
	switched []timelineSwitch
	shared   image.ComponentSet // components with the role Predicted
}

// track is the motion of a remote entity. Its slot is detached when the entity is gone.
type track struct {
	entity  ecs.Entity
	remote  *interp.Remote
	moving  bool     // it had a velocity, so that curves make sense
	placed  bool     // it has a Motion role
	changed ecs.Tick // of the last sample that differs from the one before
	fresh   bool     // it has a sample of the newest state
	gone    ecs.Tick // of the first state without it, up to which it is played; 0: it exists
}

func (p *presentation) init(c *Client) {
	p.client, p.shared = c, c.Game.Schema().Predicted()
	rate := c.Game.TickRate
	p.playback = interp.NewPlayback(interp.PlaybackConfig{TickRate: rate, Interval: c.interval()})
	p.remote = interp.RemoteConfig{TickRate: rate, MaxSpeed: c.limits.MaxSpeed.Float(), Smoothing: c.limits.Smoothing}
	p.offsets.OffsetConfig = predictor.OffsetConfig{Smoothing: p.remote.Smoothing, Rows: &c.Predicted, Shared: p.shared}
	if floor := c.Game.Physics.Floor; floor != nil {
		p.remote.Floor = func(at interp.Vec) float64 { return floor(fixed.FromFloat(at.X), fixed.FromFloat(at.Y)).Float() }
	}
}

func (p *presentation) reset() {
	p.playback.Forget()
	for slot := range p.tracks.All {
		p.removeTrack(slot)
	}
	p.newest = p.client.Tick
	p.restoreDefaults(func(timelineSwitch) bool { return true })
	p.offsets.Clear()
	if s := p.client.Receiver.State(); p.shared != 0 {
		for e := range s.Entities {
			p.share(s, e.Row)
		}
	}
}

// delay returns how long after their states arrive remote entities are shown, in ticks.
func (p *presentation) delay() uint8 { return uint8(min(p.playback.Delay(), math.MaxUint8)) }

// moment returns the tick at which remote entities are shown.
func (p *presentation) moment() float64 {
	if p.client.limits.NoPlayback {
		return float64(p.client.Received)
	}
	return p.playback.Tick()
}

// seen returns the moment at which remote entities were last shown.
func (p *presentation) seen() image.ViewStamp {
	at := p.moment()
	if p.client.limits.MaxView < 0 || !p.playback.Started() || at < 1 {
		return image.ViewStamp{}
	}
	whole := math.Floor(at)
	return image.ViewStamp{Tick: ecs.Tick(whole), Part: uint8((at - whole) * partUnit)}
}

// receive adds the newest state received to the tracks. complete says that an entity without a change in it has not
// changed on the server either.
func (p *presentation) receive(replica *image.Snapshot, complete bool) {
	base, _ := p.client.states.At(p.newest)
	p.newest = replica.Tick()
	p.restoreDefaults(func(s timelineSwitch) bool { return !image.ExistsAt(replica, s.entity) }) // its row may be in use again
	if base.Empty() || base.Tick() >= replica.Tick() {
		return
	}
	p.changed.Find(base, replica)
	for row := range p.changed.Rows {
		p.share(replica, row)
		if !p.client.Predicted.Has(row) {
			p.updateTrack(row, base, replica)
		}
	}
	playing := p.playback.Tick()
	for slot, t := range p.tracks.All {
		if !t.fresh && complete && t.gone == 0 {
			t.remote.Rest(p.newest, playing)
		}
		t.fresh = false
		if float64(t.changed)+receivedKept/2 < playing || t.gone > 0 && float64(t.gone) <= playing {
			p.removeTrack(slot) // it rests, so that the received states suffice, or it is not shown any more
		}
	}
}

// updateTrack adds a sample of the entity of a row that changed.
func (p *presentation) updateTrack(row uint32, base, replica *image.Snapshot) {
	e, t := replica.EntityAt(row), p.tracks.Get(row)
	if t != nil && t.entity != e {
		t.gone = replica.Tick()
		slot, _ := p.tracks.Slot(row)
		p.tracks.Detach(slot)
		t = nil
	}
	if e.IsZero() {
		return
	}
	if t == nil {
		t = p.addTrack(e)
		if image.ExistsAt(base, e) {
			p.addSample(t, base)
		}
	}
	p.addSample(t, replica)
	t.fresh = true
}

// addSample adds the position of a track's entity in a state that it exists in.
func (p *presentation) addSample(t *track, s *image.Snapshot) {
	sample := interp.Sample{Tick: s.Tick()}
	m, placed := s.Motion(t.entity)
	t.placed = placed
	if placed {
		sample.Motion = p.client.motionOf(m)
		t.moving = t.moving || sample.Vel != interp.Vec{}
	}
	if t.moving {
		sample.Flags = interp.HasVelocity
	}
	t.remote.Put(sample, p.playback.Tick())
	t.changed = s.Tick()
}

// motionOf returns m for drawing, with the gravity of an entity that rises or sinks.
func (c *Client) motionOf(m ecs.Motion) interp.Motion {
	drawn := interp.MotionOf(m)
	if m.Vel.Z != 0 {
		drawn.Acc.Z = -c.Game.Physics.Gravity.Float()
	}
	return drawn
}

// addTrack adds an empty track of an entity.
func (p *presentation) addTrack(e ecs.Entity) *track {
	t := p.tracks.At(p.tracks.Add(e.Row))
	if t.remote == nil {
		t.remote = interp.NewRemote(p.remote)
	}
	*t = track{entity: e, remote: t.remote}
	return t
}

func (p *presentation) removeTrack(slot int) {
	p.tracks.At(slot).remote.Clear()
	p.tracks.Remove(slot)
}

// floor returns the newest state received of a tick not after the moment, or the oldest that is kept.
func (p *presentation) floor(playing float64) *image.Snapshot {
	f, received := ecs.Tick(max(playing, 0)), p.client.states
	if s, ok := received.Floor(f); ok {
		return s
	}
	s, ok := received.At(f)
	for ; !ok && f < p.client.Received; s, ok = received.At(f) {
		f++
	}
	return s
}
