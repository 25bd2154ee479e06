package cursor

import (
	"slices"
	"strconv"
	"strings"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

// Everyone is the viewer of a Cursor that describes whole states. Other viewers are a seat, or Spectator.
const (
	Everyone  = -2
	Spectator = -1
)

// As restricts State, StateBefore, Frame, Entity, Find, Series and Lifetime to the data that a viewer may know:
//   - Private values that Game.See hides are zero.
//   - In a game with private values, private events and the inputs and orders of other players are omitted.
//   - In a match with a radius of interest, entities farther than that from all of the player's own entities are omitted.
//
// Checksums, comparisons and World still describe the whole state.
func (c *Cursor) As(viewer int) {
	c.viewer, c.radius, c.knownAt[0].of, c.knownAt[1].of = viewer, 0, nil, nil
	if viewer != Everyone {
		c.radius = interest(c.record.Header().Flags)
	}
}

// Viewer returns the viewer of As. It is Everyone for a new Cursor.
func (c *Cursor) Viewer() int { return c.viewer }

// Hides reports whether players know less than the whole state.
func (c *Cursor) Hides() bool { return c.private || interest(c.record.Header().Flags) > 0 }

// interest returns the radius of relevance sets in the flags of a record, or 0 without one.
func interest(flags string) fixed.Num {
	list := strings.FieldsFunc(flags, func(r rune) bool { return r == ' ' || r == '=' })
	i := slices.Index(list, "--interest")
	if i < 0 || i+1 == len(list) {
		return 0
	}
	r, err := strconv.ParseFloat(list[i+1], 64)
	if err != nil || !(r > 0 && r < 1<<20) {
		return 0
	}
	return fixed.FromFloat(r)
}

// hides reports whether values are private to players who are not the viewer.
func (c *Cursor) hides() bool { return c.private && c.viewer != Everyone }

// knows reports whether the viewer receives an event. to are the receivers of a private event.
func (c *Cursor) knows(e *image.EmittedEvent, to image.PlayerSet) bool {
	return c.viewer == Everyone || !e.Private || c.viewer >= 0 && to.Has(ecs.Player(c.viewer))
}

// knownState is the part of a state that the viewer may know.
type knownState struct {
	of    *image.Snapshot // the whole state; nil if absent
	state image.Snapshot
}

// known returns the part of a state of the current segment that the viewer may know. It is valid until the next seek.
func (c *Cursor) known(whole *image.Snapshot, slot int) *image.Snapshot {
	if c.viewer == Everyone || !c.hides() && c.radius == 0 {
		return whole
	}
	k := &c.knownAt[slot]
	if k.of == whole {
		return &k.state
	}
	k.of = whole
	seen := whole
	if c.hides() {
		c.world.Image().Restore(whole)
		k.state.Redact(whole, nil, c.viewer, func(e ecs.Entity) bool { return c.world.Sees(c.viewer, e) })
		c.world.Image().Restore(c.whole())
		seen = &k.state
	}
	if c.radius > 0 {
		c.leaveOut(seen, whole)
		c.eyes.Image().Save(&k.state)
	}
	return &k.state
}

// leaveOut removes the entities that are not relevant to the viewer from a state.
func (c *Cursor) leaveOut(seen, whole *image.Snapshot) {
	if c.eyes == nil {
		c.eyes, _ = ecs.NewWorld(c.game, 0) // New has made one of this game
	}
	_ = c.eyes.Image().Copy(seen) // of the same game
	var own []fixed.Vec3
	for e := range whole.Entities {
		if m, ok := whole.Motion(e); ok && c.viewer >= 0 && e.Owner() == ecs.OwnedBy(ecs.Player(c.viewer)) {
			own = append(own, m.Pos)
		}
	}
	if len(own) == 0 {
		return // spectators, and players without a place, receive all entities
	}
	for e := range whole.Entities {
		m, ok := whole.Motion(e)
		near := func(p fixed.Vec3) bool { return p.Sub(m.Pos).Len() <= c.radius }
		if ok && !slices.ContainsFunc(own, near) {
			c.eyes.Despawn(e)
		}
	}
	c.eyes.Image().Flush()
}
