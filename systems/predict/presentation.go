package predict

import (
	"fmt"
	"math"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
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
	offset   interp.Offset // an unused one
	glide    interp.Offset // an unused one for a change of timeline, which may be of any distance
	tracks   table.Table[track]
	newest   ecs.Tick // of the states received
	changed  image.Changed
	offsets  []shifted
	before   []placed // where entities were shown before a replay
	switched []switched
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
	p.client = c
	rate := c.Game.TickRate
	p.playback = interp.NewPlayback(interp.PlaybackConfig{TickRate: rate, Interval: c.interval()})
	p.remote = interp.RemoteConfig{TickRate: rate, MaxSpeed: c.limits.MaxSpeed.Float(), Projective: c.limits.Projective,
		Offset: interp.OffsetConfig{NoBlend: c.limits.NoBlend}}
	p.offset = interp.NewOffset(p.remote.Offset)
	p.glide = interp.NewOffset(interp.OffsetConfig{Snap: math.MaxFloat64})
}

func (p *presentation) reset() {
	p.playback.Forget()
	for slot := range p.tracks.All {
		p.release(slot)
	}
	p.newest = p.client.Tick
	p.offsets = p.offsets[:0]
	p.restore(func(switched) bool { return true })
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
	base, _ := p.client.received.At(p.newest)
	p.newest = replica.Tick()
	p.restore(func(s switched) bool { return !image.ExistsAt(replica, s.entity) }) // its row may be in use again
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
	for slot, t := range p.tracks.All {
		if !t.fresh && complete && t.gone == 0 {
			t.remote.Rest(p.newest, playing)
		}
		t.fresh = false
		if float64(t.changed)+receivedKept/2 < playing || t.gone > 0 && float64(t.gone) <= playing {
			p.release(slot) // it rests, so that the received states suffice, or it is not shown any more
		}
	}
}

// put adds a sample of the entity of a row that changed.
func (p *presentation) put(row uint32, base, replica *image.Snapshot) {
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
		t = p.track(e)
		if image.ExistsAt(base, e) {
			t.put(base, p.playback.Tick())
		}
	}
	t.put(replica, p.playback.Tick())
	t.fresh = true
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

func (p *presentation) track(e ecs.Entity) *track {
	t := p.tracks.At(p.tracks.Add(e.Row))
	if t.remote == nil {
		t.remote = interp.NewRemote(p.remote)
	}
	*t = track{entity: e, remote: t.remote}
	return t
}

func (p *presentation) release(slot int) {
	p.tracks.At(slot).remote.Clear()
	p.tracks.Remove(slot)
}

// switched is an entity on another timeline than its owner's default.
type switched struct {
	entity ecs.Entity
	to     systems.Timeline
}

// Switch puts an entity on another timeline from now on. A vehicle that the player enters is predicted, for example, and
// a ball that another player has caught is interpolated. blend is the shortest time in which the shown position moves to
// the new timeline, in nanoseconds; 0: it jumps. The default timeline is Predicted for the player's own entities, and
// Interpolated for all others.
func (c *Client) Switch(e ecs.Entity, to systems.Timeline, blend systems.Time) error {
	p, now, from := &c.show, c.Showing.Now, c.Timeline(e)
	switch {
	case to > systems.Confirmed:
		return fmt.Errorf("predict: Switch to timeline %d, want 0 to 3", uint8(to))
	case blend < 0:
		return fmt.Errorf("predict: Switch in %d ns, want at least 0", blend)
	case c.Phase <= predictor.Waiting || c.Spectates() && to == systems.Predicted:
		return fmt.Errorf("predict: Switch to the %v timeline of a client that predicts nothing", to)
	case !c.World().Exists(e):
		return fmt.Errorf("predict: Switch of entity %d, born in tick %d, which does not exist", e.Row, e.Born)
	case from == to:
		return nil
	}
	before, shown := c.where(e, now)
	before = before.Add(p.shiftOf(e))
	p.restore(func(s switched) bool { return s.entity == e })
	if c.Timeline(e) != to {
		p.switched = append(p.switched, switched{e, to})
		p.predict(e, to == systems.Predicted)
	}
	if from == systems.Predicted || to == systems.Predicted {
		p.retrace(e)
		c.repredict(now)
	}
	p.offsets = slices.DeleteFunc(p.offsets, func(o shifted) bool { return o.entity == e })
	if after, ok := c.where(e, now); ok && shown && blend > 0 && after != before {
		by := before.Sub(after)
		p.shift(e, by, by.Len()*float64(systems.Second)/float64(blend))
	}
	return nil
}

// Timeline returns the timeline of an entity.
func (c *Client) Timeline(e ecs.Entity) systems.Timeline {
	for _, s := range c.show.switched {
		if s.entity == e {
			return s.to
		}
	}
	if c.Own.Has(e.Row) {
		return systems.Predicted
	}
	return systems.Interpolated
}

func (p *presentation) predict(e ecs.Entity, yes bool) {
	if yes {
		p.client.Own.Add(e.Row)
	} else {
		p.client.Own.Remove(e.Row)
	}
}

// restore puts the switched entities that which selects back on their default timelines.
func (p *presentation) restore(which func(switched) bool) {
	p.switched = slices.DeleteFunc(p.switched, func(s switched) bool {
		yes := which(s)
		if yes {
			player, ok := s.entity.Owner().Player()
			p.predict(s.entity, ok && int(player) == p.client.Config.Seat)
		}
		return yes
	})
}

// retrace makes the track of an entity that was predicted until now from the states received.
func (p *presentation) retrace(e ecs.Entity) {
	if slot, known := p.tracks.Slot(e.Row); known {
		p.release(slot)
	}
	c, playing := p.client, p.playback.Tick()
	oldest, ok := c.received.Floor(ecs.Tick(max(playing, 0)))
	if !ok {
		return
	}
	t := p.track(e)
	for f := oldest.Tick(); f <= c.Received; f++ {
		if s, ok := c.received.At(f); ok && image.ExistsAt(s, e) {
			t.put(s, playing)
		}
	}
}

// repredict resimulates from the newest state received, after a change of the predicted rows.
func (c *Client) repredict(now systems.Time) {
	if !c.Spectates() {
		c.World().Image().Restore(c.Receiver.State())
		c.replay(c.Received, now)
	}
}

// where returns where an entity is shown at now, without its offset.
func (c *Client) where(e ecs.Entity, now systems.Time) (at interp.Vec, ok bool) {
	s := c.Receiver.State()
	switch c.Timeline(e) {
	case systems.Predicted:
		previous, current, _, alpha := c.View(now)
		return between(e, previous, current, alpha)
	case systems.Interpolated:
		playing := c.show.playback.Tick()
		if t := c.show.tracks.Get(e.Row); t != nil && t.entity == e {
			m, b := t.remote.Motion(playing)
			return m.Pos, b.Kind != interp.Unknown
		}
		s = c.show.floor(playing)
	case systems.Reckoned:
		m, ok := c.reckon(e, now)
		return m.Pos, ok
	}
	return between(e, s, s, 0)
}

// reckoning is the longest extrapolation on the reckoned timeline, as in dead reckoning.
const reckoning = systems.Second

// reckon extrapolates an entity from the newest state received to the present.
func (c *Client) reckon(e ecs.Entity, now systems.Time) (m interp.Motion, ok bool) {
	received, ok := c.Receiver.State().Motion(e)
	if !ok {
		return m, false
	}
	ahead := max(c.line.Pacer.At(now)-float64(c.line.Delay.Ticks())-float64(c.Received), 0) / float64(c.Game.TickRate)
	return interp.Extrapolate(interp.MotionOf(received), ahead, reckoning.Seconds(), c.show.remote.Floor), true
}

// presentSwitched shows the entities that are neither predicted nor interpolated.
func (c *Client) presentSwitched() {
	picture, newest := c.Showing.View.Picture, c.Receiver.State()
	for _, s := range c.show.switched {
		if s.to != systems.Reckoned && s.to != systems.Confirmed {
			continue
		}
		picture.Blend(s.entity, newest, newest, 1)
		if m, ok := c.reckon(s.entity, c.Showing.Now); ok && s.to == systems.Reckoned {
			picture.Move(s.entity, m.Fixed())
		}
	}
}
