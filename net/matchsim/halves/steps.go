package halves

import (
	"slices"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Steps measures how far the entities of a client's view move from frame to frame. It leaves out steps near a teleport of the
// entity on the server.
type Steps struct {
	// Top returns the top speed of an entity, in world units per second.
	Top func(e ecs.Entity) float64

	N      int     // steps measured
	Worst  float64 // largest step, as a share of the distance at top speed
	shown  map[ecs.Entity]stepPlace
	frame  int
	beyond []stepBeyond
}

type stepPlace struct {
	pos   fixed.Vec3
	frame int
	at    time.Duration
	kind  any // its set of components: with another one, a correction has put another entity into the row
}

// stepBeyond is a step that is longer than the top speed covers. far is in world units.
type stepBeyond struct {
	entity     ecs.Entity
	tick       ecs.Tick
	share, far float64
}

// Teleports are the teleports of a server: see Watch.
type Teleports struct {
	last map[ecs.Entity]fixed.Vec3
	at   map[ecs.Entity][]ecs.Tick
}

const (
	teleportStep = 3   // times the top speed: more is a teleport
	teleportNear = 120 // ticks around a teleport on the server in which views may show one
	snapStep     = 2.0 // world units: a longer jump is a snap, as in package lab
)

// Watch notes the teleports of the server's newest tick.
func (t *Teleports) Watch(w *ecs.World, top func(e ecs.Entity) float64) {
	if t.last == nil {
		t.last, t.at = map[ecs.Entity]fixed.Vec3{}, map[ecs.Entity][]ecs.Tick{}
	}
	for e, m := range w.Image().Motions {
		if was, ok := t.last[e]; ok && was.Sub(m.Pos).Len().Float() > teleportStep*top(e)/float64(w.Game().TickRate) {
			t.at[e] = append(t.at[e], w.Tick())
		}
		t.last[e] = m.Pos
	}
}

// Look measures the steps from the last frame to this one.
func (s *Steps) Look(v *ecs.View, now time.Duration) {
	if s.shown == nil {
		s.shown = map[ecs.Entity]stepPlace{}
	}
	s.frame++
	for e, m := range v.Sim.Image().Motions {
		is := stepPlace{m.Pos, s.frame, now, v.Sim.Entry(e).Archetype()}
		was, ok := s.shown[e]
		s.shown[e] = is
		if !ok || was.frame != s.frame-1 || was.kind != is.kind || now <= was.at {
			continue
		}
		s.N++
		reach, step := s.Top(e)*(now-was.at).Seconds(), was.pos.Sub(is.pos).Len().Float()
		if step > reach {
			s.beyond = append(s.beyond, stepBeyond{e, v.Tick, step / reach, step - reach})
		} else {
			s.Worst = max(s.Worst, step/reach)
		}
	}
}

// Judge returns the number of steps longer than this share of the way at top speed, and the number of snaps. It sets Worst.
// Call it once, at the end.
func (s *Steps) Judge(t *Teleports, share float64) (beyond, snaps int) {
	for _, b := range s.beyond {
		if slices.ContainsFunc(t.at[b.entity], func(f ecs.Tick) bool { return max(f, b.tick)-min(f, b.tick) <= teleportNear }) {
			continue
		}
		s.Worst = max(s.Worst, b.share)
		if b.share > share {
			beyond++
		}
		if b.far > snapStep {
			snaps++
		}
	}
	return beyond, snaps
}
