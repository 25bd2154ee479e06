package predict

import (
	"math"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems/interp"
)

// presentation shows the client's own entities between their two last predicted states, and all others where they were
// a short while ago, between two states received. It never changes the simulation.
//
// tracks has an entry for each remote entity that changed lately. An entity without one is shown as in the received state.
type presentation struct {
	client   *Client
	playback *interp.Playback
	remote   interp.RemoteConfig
	offset   interp.Offset // an unused one
	glide    interp.Offset // an unused one for a change of timeline, which may be of any distance
	tracks   []*track
	byRow    map[uint32]int // index in tracks of the entity that exists in a row
	free     []*track
	newest   ecs.Tick // of the states received
	changed  image.Changed
	offsets  []shifted
	before   []placed // where entities were shown before a replay
	switched []switched
	playing  float64 // tick of the playback in this frame
}

// track is the motion of a remote entity.
type track struct {
	entity  ecs.Entity
	remote  *interp.Remote
	moving  bool     // it had a velocity, so that curves make sense
	placed  bool     // it has a Motion role
	changed ecs.Tick // of the last sample that differs from the one before
	fresh   bool     // it has a sample of the newest state
	gone    ecs.Tick // of the first state without it, up to which it is played; 0: it exists
}

// shifted is an entity that is shown beside its position, while a visual error is smoothed.
type shifted struct {
	entity ecs.Entity
	offset interp.Offset
	speed  float64 // largest speed of the offset, in world units per second; 0: as it decays
}

// placed is the position at which an entity is shown.
type placed struct {
	entity ecs.Entity
	at     interp.Vec
}

func (p *presentation) init(c *Client) (err error) {
	p.client, p.byRow = c, map[uint32]int{}
	rate := c.Game.TickRate
	if p.playback, err = interp.NewPlayback(interp.PlaybackConfig{TickRate: rate, Interval: c.interval()}); err != nil {
		return err
	}
	p.remote = interp.RemoteConfig{TickRate: rate, MaxSpeed: c.limits.MaxSpeed.Float(), Offset: interp.OffsetConfig{NoBlend: c.limits.NoBlend, Unit: c.limits.Unit.Float()},
		Projective: c.limits.Projective}
	if p.offset, err = interp.NewOffset(p.remote.Offset); err != nil {
		return err
	}
	p.glide, err = interp.NewOffset(interp.OffsetConfig{Unit: p.remote.Offset.Unit, Snap: math.MaxFloat64})
	return err
}

// reset drops everything, for a state that was loaded.
func (p *presentation) reset() {
	p.playback.Forget()
	for len(p.tracks) > 0 {
		p.release(len(p.tracks) - 1)
	}
	p.newest = p.client.World().Tick()
	p.clearOffsets()
	for len(p.switched) > 0 {
		p.restore(len(p.switched) - 1)
	}
}

// clearOffsets ends all error smoothing.
func (p *presentation) clearOffsets() { p.offsets = p.offsets[:0] }

// delay returns how long after their states arrive remote entities are shown, in ticks.
func (p *presentation) delay() uint8 { return uint8(min(p.playback.Delay(), math.MaxUint8)) }

// seen returns the moment at which remote entities were last shown.
func (p *presentation) seen() image.ViewStamp {
	at := p.playback.Tick()
	if p.client.limits.NoPlayback {
		at = float64(p.client.Received)
	}
	if p.client.limits.MaxView < 0 || !p.playback.Started() || at < 1 {
		return image.ViewStamp{}
	}
	whole := math.Floor(at)
	return image.ViewStamp{Tick: ecs.Tick(whole), Part: uint8((at - whole) * partUnit)}
}

// receive adds the newest state received to the tracks. complete says that an entity without a change in it has not
// changed on the server either.
func (p *presentation) receive(replica *image.Snapshot, complete bool) {
	base, _ := p.client.received.At(p.newest)
	p.newest = replica.Tick()
	p.dropSwitched(replica)
	if base.Empty() || base.Tick() >= replica.Tick() {
		return
	}
	p.changed.Find(base, replica)
	for row := range p.changed.Rows {
		if !p.client.Own.Has(row) {
			p.put(row, base, replica)
		}
	}
	playing := p.playback.Tick()
	for i := len(p.tracks) - 1; i >= 0; i-- {
		t := p.tracks[i]
		if !t.fresh && complete && t.gone == 0 {
			t.remote.Rest(p.newest, playing)
		}
		t.fresh = false
		if float64(t.changed)+receivedKept/2 < playing || t.gone > 0 && float64(t.gone) <= playing {
			p.release(i) // it rests, so that the received states suffice, or it is not shown any more
		}
	}
}

// put adds a sample of the entity of a row that changed.
func (p *presentation) put(row uint32, base, replica *image.Snapshot) {
	e := replica.EntityAt(row)
	i, known := p.byRow[row]
	if known && p.tracks[i].entity != e {
		p.tracks[i].gone, known = replica.Tick(), false
		delete(p.byRow, row)
	}
	if e.IsZero() {
		return
	}
	if !known {
		i = len(p.tracks)
		p.tracks = append(p.tracks, p.allocate(e))
		p.byRow[row] = i
		if image.ExistsAt(base, e) {
			p.tracks[i].put(base, p.playback.Tick())
		}
	}
	p.tracks[i].put(replica, p.playback.Tick())
	p.tracks[i].fresh = true
}

// put adds the position of the entity in a state that it exists in.
func (t *track) put(s *image.Snapshot, playing float64) {
	sample := interp.Sample{Tick: s.Tick()}
	m, placed := s.Motion(t.entity)
	if t.placed = placed; placed {
		sample.Motion = interp.MotionOf(m)
		t.moving = t.moving || sample.Vel != interp.Vec{}
	}
	if t.moving {
		sample.Flags = interp.HasVelocity
	}
	t.remote.Put(sample, playing)
	t.changed = s.Tick()
}

// allocate returns an empty track.
func (p *presentation) allocate(e ecs.Entity) *track {
	if n := len(p.free); n > 0 {
		t := p.free[n-1]
		p.free = p.free[:n-1]
		*t = track{entity: e, remote: t.remote}
		return t
	}
	remote, err := interp.NewRemote(p.remote)
	if err != nil {
		panic("predict: a configuration that was valid in init is refused: " + err.Error())
	}
	return &track{entity: e, remote: remote}
}

// release removes track i; the last one takes its place.
func (p *presentation) release(i int) {
	t, last := p.tracks[i], len(p.tracks)-1
	if t.gone == 0 {
		delete(p.byRow, t.entity.Row)
	}
	if i != last {
		p.tracks[i] = p.tracks[last]
		if p.tracks[i].gone == 0 {
			p.byRow[p.tracks[i].entity.Row] = i
		}
	}
	p.tracks[last] = nil
	p.tracks = p.tracks[:last]
	t.remote.Clear()
	p.free = append(p.free, t)
}
