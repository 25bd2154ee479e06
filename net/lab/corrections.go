package lab

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
)

// corrections finds the resimulations that changed the present. It compares a client's state of a tick with the same
// client's state of that tick one frame later, before any error smoothing.
type corrections struct {
	*display
	tick   ecs.Tick
	places []shownEntity // in the state of tick, by row
}

// look compares the present states with those of the frame before.
func (c *corrections) look(previous, current *image.Snapshot, now, before *client.Stats) {
	resynced := now.Resyncs != before.Resyncs || now.Strategy.Snaps != before.Strategy.Snaps
	// Where other entities are received, some of the own ones may be received too, such as shots in dead reckoning. The
	// client must then have counted a correction itself.
	if !c.ownOnly || resynced || now.Strategy.Rollbacks != before.Strategy.Rollbacks ||
		now.Strategy.Corrections != before.Strategy.Corrections {
		for _, s := range [...]*image.Snapshot{previous, current} {
			if s.Empty() || s.Tick() != c.tick {
				continue
			}
			if size := c.moved(s); size > tiny {
				c.sizes = append(c.sizes, size)
				switch {
				case resynced:
					c.causes.Resync++
				case now.Strategy.Substituted > before.Strategy.Substituted:
					c.causes.Substituted++
				default:
					c.causes.Remote++
				}
			}
			break
		}
	}
	c.tick, c.places = 0, c.places[:0]
	if current.Empty() {
		return
	}
	c.tick = current.Tick()
	for e := range current.Entities {
		if m, ok := current.Motion(e); ok && (!c.ownOnly || e.Owner() == ecs.OwnedBy(c.seat)) {
			c.places = append(c.places, shownEntity{entity: e, pos: vecOf(m.Pos)})
		}
	}
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
