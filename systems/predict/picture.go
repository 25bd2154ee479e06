package predict

import (
	"math"

	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/interp"
)

// picture is what a client shows: its own entities between their two last predicted states, all others where they were
// a short while ago, between two states that the server told. It never changes the simulation.
//
// tracks has an entry for each entity that was seen to change lately and is not predicted; what has none is shown as it
// was told. offsets has one for each entity that is shown beside where it is, after it was put right.
type picture struct {
	client   *Client
	playback *interp.Playback
	remote   interp.RemoteConfig
	offset   interp.Offset // a fresh one
	glide    interp.Offset // a fresh one, for who goes from one timeline to another: however far that is
	tracks   []*track
	byRow    map[uint32]int // place in tracks of what is there
	free     []*track
	newest   ecs.Tick // of the states that were told
	changed  ecs.Changed
	offsets  []shifted
	was      []placed // before a replay
	switched []switched
	last     systems.Time // of the last Present
}

// track is where an entity was.
type track struct {
	entity ecs.Entity
	remote *interp.Remote
	moving bool     // it has a velocity now and then, so that curves mean something
	placed bool     // it has a Motion role
	heard  ecs.Tick // of the last sample that differs from the one before
	fresh  bool     // has a sample of the newest state
	gone   ecs.Tick // of the state that told that it is no more; 0: it is there. It goes on to be played until then
}

// shifted is an entity that is shown beside where it is.
type shifted struct {
	entity ecs.Entity
	offset interp.Offset
	speed  float64 // at which the offset goes at most, world units per second; 0: as it fades
}

// placed is where an entity is shown.
type placed struct {
	entity ecs.Entity
	at     interp.Vec
}

func (p *picture) init(c *Client) (err error) {
	p.client, p.byRow = c, map[uint32]int{}
	rate := c.game.TickRate
	if p.playback, err = interp.NewPlayback(interp.PlaybackConfig{TickRate: rate, Interval: c.interval()}); err != nil {
		return err
	}
	p.remote = interp.RemoteConfig{Track: interp.TrackConfig{TickRate: rate, MaxSpeed: c.limits.MaxSpeed.Float()}, Offset: interp.OffsetConfig{NoBlend: c.limits.NoBlend, Unit: c.limits.Unit.Float()},
		Projective: c.limits.Projective}
	if p.offset, err = interp.NewOffset(p.remote.Offset); err != nil {
		return err
	}
	p.glide, err = interp.NewOffset(interp.OffsetConfig{Unit: p.remote.Offset.Unit, Snap: math.MaxFloat64})
	return err
}

// forget drops everything, for a state that was loaded.
func (p *picture) forget() {
	p.playback.Forget()
	for len(p.tracks) > 0 {
		p.release(len(p.tracks) - 1)
	}
	p.newest = p.client.world.Tick()
	p.jumped()
	for len(p.switched) > 0 {
		p.restore(len(p.switched) - 1)
	}
}

// jumped lets everything be shown where it is.
func (p *picture) jumped() { p.offsets = p.offsets[:0] }

// advance lets time go by.
func (p *picture) advance(now systems.Time) { p.playback.Advance(now) }

// arrived notes that the server's state of tick f is here.
func (p *picture) arrived(f ecs.Tick, now systems.Time) { p.playback.Arrived(f, now) }

// delay is by how much the others are shown later than they are known, in ticks.
func (p *picture) delay() uint8 { return uint8(min(p.playback.Delay(), math.MaxUint8)) }

// seen is the moment at which the others were shown last.
func (p *picture) seen() ecs.ViewStamp {
	at := p.playback.Tick()
	if p.client.limits.NoPlayback {
		at = float64(p.client.confirmed)
	}
	if p.client.limits.MaxView < 0 || !p.playback.Started() || at < 1 {
		return ecs.ViewStamp{}
	}
	whole := math.Floor(at)
	return ecs.ViewStamp{Tick: ecs.Tick(whole), Part: uint8((at - whole) * partUnit)}
}

// told takes in a state that the server told, the newest. complete says that what has not changed in it has not changed on
// the server either.
func (p *picture) told(replica *ecs.Snapshot, complete bool) {
	base, _ := p.client.replicas.At(p.newest)
	p.newest = replica.Tick()
	p.dropSwitched(replica)
	if base.Empty() || base.Tick() >= replica.Tick() {
		return
	}
	p.changed.Find(base, replica)
	for row := range p.changed.Rows {
		if !p.client.own.Has(row) {
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
		if float64(t.heard)+replicasKept/2 < playing || t.gone > 0 && float64(t.gone) <= playing {
			p.release(i) // it stands, and all that is shown of it is as it was told; or it is not shown any more
		}
	}
}

// put enters the entity of a row that changed.
func (p *picture) put(row uint32, base, replica *ecs.Snapshot) {
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
		p.tracks = append(p.tracks, p.take(e))
		p.byRow[row] = i
		if ecs.ExistsAt(base, e) {
			p.tracks[i].put(base, p.playback.Tick())
		}
	}
	p.tracks[i].put(replica, p.playback.Tick())
	p.tracks[i].fresh = true
}

// put enters where the entity is in a state that it is in.
func (t *track) put(s *ecs.Snapshot, playing float64) {
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
	t.heard = s.Tick()
}

// take returns an empty track.
func (p *picture) take(e ecs.Entity) *track {
	if n := len(p.free); n > 0 {
		t := p.free[n-1]
		p.free = p.free[:n-1]
		*t = track{entity: e, remote: t.remote}
		return t
	}
	remote, err := interp.NewRemote(p.remote)
	if err != nil {
		panic("predict: what init took is refused now: " + err.Error())
	}
	return &track{entity: e, remote: remote}
}

// release takes track i out; the last takes its place.
func (p *picture) release(i int) {
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

// before notes where the predicted entities are shown, of which the ticks up to the present are about to be computed
// again.
func (p *picture) before(now systems.Time) {
	p.was = p.was[:0]
	if p.client.limits.NoBlend {
		return
	}
	previous, current, _, alpha := p.client.View(now)
	for e := range current.Entities {
		if p.client.own.Has(e.Row) {
			if at, ok := between(e, previous, current, alpha); ok {
				p.was = append(p.was, placed{e, at})
			}
		}
	}
}

// after lets the entities that were put right be shown where they were, and fade to where they are.
func (p *picture) after(now systems.Time) {
	previous, current, _, alpha := p.client.View(now)
	for i := range p.was {
		w := &p.was[i]
		if at, ok := between(w.entity, previous, current, alpha); ok && at != w.at {
			p.shift(w.entity, w.at.Sub(at), 0)
		}
	}
}

// between is where e is shown between two states, without its offset.
func between(e ecs.Entity, previous, current *ecs.Snapshot, alpha float64) (at interp.Vec, ok bool) {
	m, ok := current.Motion(e)
	if !ok {
		return at, false
	}
	at = interp.VecOf(m.Pos)
	if m, ok = previous.Motion(e); ok {
		at = interp.VecOf(m.Pos).Lerp(at, alpha)
	}
	return at, true
}

// shift adds to the offset of an entity.
func (p *picture) shift(e ecs.Entity, by interp.Vec, speed float64) {
	for i := range p.offsets {
		if o := &p.offsets[i]; o.entity == e {
			o.offset.Add(by)
			o.speed = speed
			return
		}
	}
	o := shifted{entity: e, offset: p.offset, speed: speed}
	if speed > 0 {
		o.offset = p.glide
	}
	if !o.offset.Add(by) {
		p.offsets = append(p.offsets, o)
	}
}

// shiftOf returns by how much an entity is shown beside where it is.
func (p *picture) shiftOf(e ecs.Entity) interp.Vec {
	for i := range p.offsets {
		if p.offsets[i].entity == e {
			return p.offsets[i].offset.Value()
		}
	}
	return interp.Vec{}
}
