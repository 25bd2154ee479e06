package lab

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// corrections finds the resimulations that changed the present. It compares a client's state of a tick with the same
// client's state of that tick one frame later, before any error smoothing.
type corrections struct {
	history *history
	seat    ecs.Player
	ownOnly bool // other entities are received, not predicted
	tick    ecs.Tick
	places  []shownEntity // in the state of tick, by row
	sizes   []float64     // of each correction, the largest distance that an entity was moved, in world units
	causes  Causes
	before  systems.ClientStats
	resyncs uint64
}

// Causes counts corrections by their cause.
type Causes struct {
	Substituted int `json:"substituted"` // an own input was late, and the server substituted another
	Resync      int `json:"resync"`      // a whole state was loaded
	Remote      int `json:"remote"`      // a remote input or entity was mispredicted
}

// look compares the present states with those of the frame before.
func (c *corrections) look(previous, current *image.Snapshot, now systems.ClientStats, resyncs uint64) {
	for _, s := range [...]*image.Snapshot{previous, current} {
		if s.Empty() || s.Tick() != c.tick || c.ownOnly && !c.reported(&now, resyncs) {
			continue
		}
		if size := c.moved(s); size > tiny {
			c.sizes = append(c.sizes, size)
			switch {
			case resyncs > c.resyncs || now.Snaps > c.before.Snaps:
				c.causes.Resync++
			case now.Substituted > c.before.Substituted:
				c.causes.Substituted++
			default:
				c.causes.Remote++
			}
		}
		break
	}
	c.before, c.resyncs = now, resyncs
	c.places = c.places[:0]
	if current.Empty() {
		c.tick = 0
		return
	}
	c.tick = current.Tick()
	for e := range current.Entities {
		if c.ownOnly && e.Owner() != ecs.OwnedBy(c.seat) {
			continue
		}
		if m, ok := current.Motion(e); ok {
			c.places = append(c.places, shownEntity{entity: e, pos: vecOf(m.Pos)})
		}
	}
}

// reported reports whether the client itself counted a correction. It is asked only where some of the own entities may be
// received too, such as shots in dead reckoning.
func (c *corrections) reported(now *systems.ClientStats, resyncs uint64) bool {
	b := &c.before
	return now.Rollbacks != b.Rollbacks || now.Corrections != b.Corrections || now.Snaps != b.Snaps || resyncs != c.resyncs
}

// moved returns the largest distance that an entity was moved.
func (c *corrections) moved(s *image.Snapshot) (most float64) {
	for i := range c.places {
		if k := c.history.tracks[c.places[i].entity]; k != nil && k.teleportedNear(float64(c.history.tick), 0, c.history.rate) {
			continue // a teleport is no misprediction
		}
		if m, ok := s.Motion(c.places[i].entity); ok {
			most = max(most, vecOf(m.Pos).sub(c.places[i].pos).len())
		}
	}
	return most
}
