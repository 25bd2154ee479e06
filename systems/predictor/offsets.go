package predictor

import (
	"math"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/internal/table"
	"tendon/systems/interp"
)

// Offsets is the error smoothing of a client that resimulates ticks. If a resimulation moves an entity, the view continues to
// show it at its old place, at an offset from its position, and the offset decays. No state contains an offset.
//
// Call Before and After around a resimulation. They compare the pages with positions, and cost time for each entity that was
// moved. Show displays the offsets in every frame.
type Offsets struct {
	OffsetConfig
	entities          table.Table[entityOffset]
	moved             image.Changed
	previous, current image.Snapshot // shown before the resimulation that is under way; empty: none is
	alpha             float64        // of the last frame
}

// OffsetConfig configures Offsets.
type OffsetConfig struct {
	// Smoothing is how corrections are shown: see interp.Offset.
	Smoothing interp.Smoothing
	// Rows are the rows whose entities have offsets. Optional: all have.
	Rows *image.RowSet
	// Bounded limits the motion of an entity with an offset to speeding times its top speed, and interp.Gliding replaces
	// Smoothing. The top speed is the largest of TopSpeed and the speeds that the entity had in its states meanwhile.
	//
	// Teleports jump. A motion at more than twice the top speed is a teleport. So is a correction of more than 2 m that needs
	// more than that speed in the resimulated time. An offset of more than 2 m jumps if it is longer than a second of top
	// speed. So no offset lasts longer than 6 s, and most end in a fraction of a second.
	Bounded bool
	// Shared are components whose entities are treated as with Bounded. Optional.
	Shared image.ComponentSet
	// TopSpeed is the speed that any entity may have, in world units per second, ≥ 0. Only for Bounded.
	TopSpeed float64
}

const (
	speeding  = 1.19 // of the top speed; the rest is for rounding
	hurry     = 4    // Bounded: factor of the decay of interp.Offset. The top speed bounds it, and players aim at the shown place
	jumpAbove = 2.0  // metres: as interp.Offset
)

// entityOffset is an entity that is shown beside its position.
type entityOffset struct {
	entity ecs.Entity
	offset interp.Offset
	speed  float64    // largest speed of the offset, in world units per second; 0: as it decays
	bound  bool       // as OffsetConfig.Bounded says
	top    float64    // bound: largest speed of the entity
	at     interp.Vec // bound: its position in the last frame, without the offset
}

// Before keeps the states that are shown, before a resimulation. A resimulation that is under way continues.
func (o *Offsets) Before(previous, current *image.Snapshot) {
	if !o.Pending() {
		o.previous.Hold(previous)
		o.current.Hold(current)
	}
}

// Pending reports whether After has not been called since Before.
func (o *Offsets) Pending() bool { return !o.current.Empty() }

// Tick returns the tick of the newest state that Before kept.
func (o *Offsets) Tick() ecs.Tick { return o.current.Tick() }

// After adds the offsets of a resimulation. previous and current are the states of the same ticks as those that Before kept.
// alpha ∈ [0, 1] is the fraction of the display between them, and seconds is the resimulated time.
func (o *Offsets) After(previous, current *image.Snapshot, alpha, seconds float64) {
	if !o.Pending() {
		return
	}
	o.moved.FindMoved(&o.current, current)
	for row := range o.moved.Rows {
		e := current.EntityAt(row)
		if o.Rows != nil && !o.Rows.Has(row) {
			continue
		}
		was, existed := Between(e, &o.previous, &o.current, alpha)
		is, exists := Between(e, previous, current, alpha)
		switch by := was.Sub(is); {
		case !existed || !exists:
		case !sameKind(o.current.Components(e), current.Components(e)): // it was mispredicted as another entity
			o.Remove(e)
		case by != interp.Vec{}:
			o.correct(e, by, current, seconds)
		}
	}
	o.previous.Release()
	o.current.Release()
}

// sameKind reports whether one entity may have had both sets of components: one set has all of the other. An entity that gains or
// loses a component remains the same.
func sameKind(a, b image.ComponentSet) bool { return a&b == a || a&b == b }

// correct adds the correction of an entity.
func (o *Offsets) correct(e ecs.Entity, by interp.Vec, current *image.Snapshot, seconds float64) {
	if !o.Bounded && current.Components(e)&o.Shared == 0 {
		o.Add(e, by)
		return
	}
	old, _ := o.current.Motion(e)
	now, _ := current.Motion(e)
	top := max(o.TopSpeed, interp.VecOf(old.Vel).Len(), interp.VecOf(now.Vel).Len())
	x := o.of(e)
	if x == nil {
		shown, _ := Between(e, &o.previous, &o.current, o.alpha)
		x = o.put(e, interp.Gliding)
		x.at, x.bound = shown, true
	}
	x.top, x.at = max(x.top, top), x.at.Sub(by)
	x.offset.Add(by)
	if by.Len() > max(jumpAbove, 2*x.top*seconds) || x.offset.Value().Len() > max(jumpAbove, x.top) {
		o.Remove(e)
	}
}

// Between returns the position of an entity at the fraction alpha ∈ [0, 1] between two states.
func Between(e ecs.Entity, previous, current *image.Snapshot, alpha float64) (at interp.Vec, ok bool) {
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

// Add adds a correction to the offset of an entity: shown − corrected.
func (o *Offsets) Add(e ecs.Entity, by interp.Vec) {
	x := o.of(e)
	if x == nil {
		x = o.put(e, o.Smoothing)
	}
	x.offset.Add(by)
	x.speed = 0
}

// Glide replaces the offset of an entity by one of any size that lasts at least the given seconds.
func (o *Offsets) Glide(e ecs.Entity, by interp.Vec, seconds float64) {
	o.Remove(e)
	x := o.put(e, interp.Gliding)
	x.offset.Add(by)
	x.speed = by.Len() / seconds
}

// Of returns the offset of an entity, zero if it has none.
func (o *Offsets) Of(e ecs.Entity) interp.Vec {
	if x := o.of(e); x != nil {
		return x.offset.Value()
	}
	return interp.Vec{}
}

// Len returns the number of entities with an offset.
func (o *Offsets) Len() int { return o.entities.Len() }

// Remove ends the offset of an entity.
func (o *Offsets) Remove(e ecs.Entity) {
	if o.of(e) != nil {
		slot, _ := o.entities.Slot(e.Row)
		o.entities.Remove(slot)
	}
}

// Clear ends all offsets, and the resimulation that is under way.
func (o *Offsets) Clear() {
	o.entities.Clear()
	o.previous.Release()
	o.current.Release()
}

func (o *Offsets) of(e ecs.Entity) *entityOffset {
	if x := o.entities.Get(e.Row); x != nil && x.entity == e {
		return x
	}
	return nil
}

// put adds an offset of zero for an entity that has none. It replaces the offset of an earlier entity of the row.
func (o *Offsets) put(e ecs.Entity, s interp.Smoothing) *entityOffset {
	slot, ok := o.entities.Slot(e.Row)
	if !ok {
		slot = o.entities.Add(e.Row)
	}
	x := o.entities.At(slot)
	*x = entityOffset{entity: e, offset: interp.NewOffset(s)}
	return x
}

// Show lets the offsets decay for the time since the last frame, and displays them in a composed view. The offset of an entity
// that is not shown any more ends.
func (o *Offsets) Show(v *ecs.View, since systems.Time) {
	seconds := float64(since) / float64(systems.Second)
	o.alpha = v.Alpha
	for slot, x := range o.entities.All {
		m, ok := v.Sim.Image().Motion(x.entity)
		if ok && x.bound {
			x.glide(m, seconds)
		} else if ok {
			x.offset.Fade(seconds, x.speed*seconds)
		}
		if value := x.offset.Value(); ok && value != (interp.Vec{}) {
			v.Picture.Shift(x.entity, value.Fixed())
		} else {
			o.entities.Remove(slot)
		}
	}
}

// glide decays a bounded offset while the entity moves to m, so that the sum of both motions stays within the limit.
func (x *entityOffset) glide(m ecs.Motion, seconds float64) {
	at := interp.VecOf(m.Pos)
	moved := at.Sub(x.at)
	x.at, x.top = at, max(x.top, interp.VecOf(m.Vel).Len())
	size, limit := x.offset.Value().Len(), speeding*x.top*seconds
	switch far := moved.Len(); {
	case x.top == 0:
		x.offset.Fade(hurry*seconds, 0)
	case far > max(2*x.top*seconds, jumpAbove/10):
		x.offset.Clear()
	default:
		// The offset shrinks by most: |moved − most · direction| ≤ limit.
		along := moved.Dot(x.offset.Value()) / size
		if most := along + math.Sqrt(max(along*along+limit*limit-far*far, 0)); most > 0 {
			x.offset.Fade(hurry*seconds, most)
		}
	}
}
