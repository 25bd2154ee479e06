package lab

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

// trap makes one client compute one tick otherwise than everybody else, each time that it computes it: what a mistake in
// a game does, such as a random number of one's own. It sits behind the last system of that client's copy of the game.
type trap struct {
	tick   ecs.Tick // 0: none
	entity ecs.Entity
	way    fixed.Vec3
	sprung bool // the tick was computed
}

// trapWay is how far the avatar is moved, in world units.
const trapWay = 3

// look springs in the tick that it was set for.
func (t *trap) look(w *ecs.World) {
	if t.tick != 0 && w.Tick() == t.tick {
		t.sprung = w.Image().Displace(t.entity, t.way) || t.sprung
	}
}

// arm lets the avatar be moved in tick f, towards where most of what has a place is; it reports whether there is one in s.
func (t *trap) arm(s *image.Snapshot, seat ecs.Player, f ecs.Tick) bool {
	*t = trap{tick: f, way: fixed.Vec3{X: fixed.FromInt(trapWay)}}
	mean, count, at := 0.0, 0.0, 0.0
	for e := range s.Entities {
		m, ok := s.Motion(e)
		if !ok {
			continue
		}
		mean, count = mean+m.Pos.X.Float(), count+1
		if t.entity.IsZero() && e.Owner() == ecs.OwnedBy(seat) {
			t.entity, at = e, m.Pos.X.Float()
		}
	}
	if t.entity.IsZero() {
		*t = trap{}
		return false
	}
	if at*count > mean {
		t.way.X = -t.way.X
	}
	return true
}
