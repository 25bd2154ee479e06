package lab

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/fixed"
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

// set returns a copy of the game that the trap sits in.
func (t *trap) set(g *ecs.Game) *ecs.Game {
	if len(g.Systems) == 0 {
		return g
	}
	copied := *g
	copied.Systems = slices.Clone(g.Systems)
	last := &copied.Systems[len(copied.Systems)-1]
	run := last.Run
	last.Run = func(w *ecs.World) {
		run(w)
		if t.tick != 0 && w.Tick() == t.tick {
			t.sprung = w.Displace(t.entity, t.way) || t.sprung
		}
	}
	return &copied
}

// arm lets the avatar be moved in tick f, towards where most of what has a place is; it reports whether there is one in s.
func (t *trap) arm(s *ecs.Snapshot, seat ecs.Player, f ecs.Tick) bool {
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
