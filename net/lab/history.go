package lab

import (
	"maps"
	"math"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
)

// history is the server's states of the last seconds: where every entity was, the players' inputs, and checksums.
// Pictures are compared with it some time later, so that one that is ahead of the server can be compared too. Moments
// are in ticks: 2.5 is halfway from State(2) to State(3).
type history struct {
	rate     float64
	teleport float64       // the deviation of a teleport, in world units
	tick     ecs.Tick      // of the newest state
	at       time.Duration // when it was computed
	tracks   map[ecs.Entity]*track
	ticks    rollback.Ring[pastTick]
}

// pastTick is what is kept of a tick.
type pastTick struct {
	inputs []ecs.InputBytes
	sum    image.Checksum
}

const (
	historyTicks = 2048
	// reach is the number of ticks around the shown moment in which the server's entity may have made the shown step. A
	// correction, a playback or a stretched clock shows a step somewhat earlier or later than its neighbours.
	reach = 12
	// tiny is an invisible distance, in world units.
	tiny = 1e-3
	// teleportSnaps is the deviation of a teleport, in snaps.
	teleportSnaps = 5
)

// track is where one entity was: points[i] in State(first + i).
type track struct {
	first      ecs.Tick
	points     []point
	teleported ecs.Tick // the last tick in which it teleported, 0: none
	last       ecs.Tick
}

// point is where an entity was in a state and how fast. deviation is the distance of the step to there from the step that
// its velocity predicts.
type point struct {
	pos, vel  vec
	deviation float64
}

func newHistory(rate int, teleport float64) *history {
	return &history{rate: float64(rate), teleport: teleport, tracks: map[ecs.Entity]*track{}, ticks: rollback.NewRing[pastTick](historyTicks)}
}

// add stores the next tick, with its state.
func (h *history) add(f systems.FinalTick, now time.Duration, sum image.Checksum) {
	h.tick, h.at = f.Tick, now
	m, _ := h.ticks.Slot(f.Tick)
	m.inputs, m.sum = append(m.inputs[:0], f.Inputs...), sum
	if f.Tick%historyTicks == 0 {
		maps.DeleteFunc(h.tracks, func(_ ecs.Entity, k *track) bool { return k.last+historyTicks <= f.Tick })
	}
	for e := range f.State.Entities {
		motion, ok := f.State.Motion(e)
		if !ok {
			continue
		}
		k := h.tracks[e]
		if k == nil {
			k = &track{first: f.Tick}
			h.tracks[e] = k
		}
		k.add(f.Tick, vecOf(motion.Pos), vecOf(motion.Vel), h)
	}
}

// add appends a point. An entity that had no place for a while begins a new track.
func (k *track) add(f ecs.Tick, pos, vel vec, h *history) {
	if len(k.points) > 0 && k.last+1 != f {
		k.first, k.points = f, k.points[:0]
	}
	if len(k.points) >= 2*historyTicks {
		k.points = k.points[:copy(k.points, k.points[historyTicks:])]
		k.first += historyTicks
	}
	p := point{pos: pos, vel: vel}
	if n := len(k.points); n > 0 {
		old := &k.points[n-1]
		step := pos.sub(old.pos)
		p.deviation = min(step.sub(vel.times(1/h.rate)).len(), step.sub(old.vel.times(1/h.rate)).len())
		if p.deviation > h.teleport {
			k.teleported = f
		}
	}
	k.points = append(k.points, p)
	k.last = f
}

// now returns the server's time, in ticks.
func (h *history) now(now time.Duration) float64 {
	return float64(h.tick) + (now-h.at).Seconds()*h.rate
}

// teleportSettles is how many seconds after a teleport of an entity its place in pictures is not judged. Strategies show
// it at its new place at different times, and none is wrong.
const teleportSettles = 3.0

// teleportedNear reports whether the entity teleported recently, for a picture that shows it with that age, or is about to.
func (k *track) teleportedNear(at, age, rate float64) bool {
	return k.teleported != 0 && float64(k.teleported)+age+teleportSettles*rate > at
}

// where returns where the entity was. ok is false if it did not exist, or the moment is not in the history.
func (k *track) where(ticks float64) (pos vec, ok bool) {
	whole := math.Floor(ticks)
	i := int(whole) - int(k.first)
	if i < 0 || i >= len(k.points) || i+1 == len(k.points) && ticks > whole {
		return vec{}, false
	}
	return k.points[i].pos.lerp(k.points[min(i+1, len(k.points)-1)].pos, ticks-whole), true
}

// around returns the points near a moment, at least one. The deviation of the first one is not to be used. ok is false if
// the entity did not exist all the time.
func (k *track) around(ticks float64) (points []point, ok bool) {
	from, to := int(math.Floor(ticks))-reach-int(k.first), int(math.Ceil(ticks))+reach+1-int(k.first)
	if from < 0 || to > len(k.points) {
		return nil, false
	}
	return k.points[from:to], true
}

// vec is a position or a distance, in world units.
type vec [3]float64

func vecOf(v fixed.Vec3) vec { return vec{v.X.Float(), v.Y.Float(), v.Z.Float()} }

func (a vec) sub(b vec) vec       { return vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func (a vec) times(s float64) vec { return vec{a[0] * s, a[1] * s, a[2] * s} }
func (a vec) dot(b vec) float64   { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
func (a vec) len() float64        { return math.Sqrt(a.dot(a)) }
func (a vec) lerp(b vec, t float64) vec {
	return vec{a[0] + t*(b[0]-a[0]), a[1] + t*(b[1]-a[1]), a[2] + t*(b[2]-a[2])}
}
