package lab

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// corrections finds the replays that changed the present: the state that a client had computed of a tick is held against
// the same client's state of that tick in the next frame. How the picture hides a correction makes no difference here.
type corrections struct {
	truth   *truth
	seat    ecs.Player
	ownOnly bool // what else is in the state is told, not predicted
	tick    ecs.Tick
	places  []thing   // upwards by row, in the state of tick
	sizes   []float64 // the most that anything was moved by, of each correction, in world units
	causes  Causes
	before  systems.ClientStats
	resyncs uint64
}

// Causes counts corrections by what made them necessary.
type Causes struct {
	Substituted int `json:"substituted"` // an own input came too late, and the server made one up
	Resync      int `json:"resync"`      // a state was taken over whole
	Remote      int `json:"remote"`      // somebody else did something else than was predicted
}

// look compares what is held now with what was held a frame ago.
func (c *corrections) look(previous, current *image.Snapshot, now systems.ClientStats, resyncs uint64) {
	for _, s := range [...]*image.Snapshot{previous, current} {
		if s.Empty() || s.Tick() != c.tick || c.ownOnly && !c.counted(&now, resyncs) {
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
			c.places = append(c.places, thing{entity: e, pos: vecOf(m.Pos)})
		}
	}
}

// counted reports whether the client itself says that something was put right. It is asked only where some of the own
// entities may be told too, as shots are by dead reckoning.
func (c *corrections) counted(now *systems.ClientStats, resyncs uint64) bool {
	b := &c.before
	return now.Rollbacks != b.Rollbacks || now.Corrections != b.Corrections || now.Snaps != b.Snaps || resyncs != c.resyncs
}

// moved returns the most by which an entity was moved.
func (c *corrections) moved(s *image.Snapshot) (most float64) {
	for i := range c.places {
		if k := c.truth.tracks[c.places[i].entity]; k != nil && k.jumpedNear(float64(c.truth.tick), 0, c.truth.rate) {
			continue // a teleport that was heard of is no mistake
		}
		if m, ok := s.Motion(c.places[i].entity); ok {
			most = max(most, vecOf(m.Pos).sub(c.places[i].pos).len())
		}
	}
	return most
}
