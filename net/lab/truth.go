package lab

import (
	"math"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/systems"
)

// truth is what the server's states of the last seconds were: where everything was, what players did, and checksums.
// What is shown is judged by it, a while later, so that what is shown ahead of the server can be judged too. Moments are
// in ticks: 2.5 is half of the way from State(2) to State(3).
type truth struct {
	rate   float64
	far    float64     // the kink of a teleport, in world units
	tick   ecs.Tick    // of the newest state
	at     simnet.Time // when it was computed
	tracks map[ecs.Entity]*track
	live   []*track // in the order of rows, those of the newest state
	kept   []*track // scratch: the next live
	past   [historyTicks]pastTick
}

// pastTick is what is kept of a tick, in slot tick % historyTicks.
type pastTick struct {
	tick   ecs.Tick
	inputs []ecs.InputBytes
	sum    image.Checksum
	gone   []ecs.Entity // that died in it
}

const (
	historyTicks = 2048
	// reach is how many ticks around the moment that is shown the truth may have done what is seen: a correction, a
	// playback and a stretched clock show a step somewhat sooner or later than its neighbours.
	reach = 12
	// tiny is a distance that nobody sees, in world units.
	tiny = 1e-3
)

// track is where one entity was: points[i] in State(first + i).
type track struct {
	entity   ecs.Entity
	first    ecs.Tick
	points   []point
	jumped   ecs.Tick // the last tick in which it teleported, 0: none
	lastSeen ecs.Tick
}

// point is where an entity was in a state, how fast, and by how much the step to there is not what its velocity says.
type point struct {
	pos, vel vec
	kink     float64
}

func newTruth(rate int, far float64) *truth {
	return &truth{rate: float64(rate), far: far, tracks: map[ecs.Entity]*track{}}
}

// add takes in the next tick, with its state.
func (t *truth) add(f systems.FinalTick, now simnet.Time, sum image.Checksum) {
	t.tick, t.at = f.Tick, now
	m := &t.past[f.Tick%historyTicks]
	for _, e := range m.gone { // half a minute ago, at 60 ticks a second
		if k := t.tracks[e]; k != nil && k.lastSeen+historyTicks <= f.Tick {
			delete(t.tracks, e)
		}
	}
	m.tick, m.inputs, m.sum, m.gone = f.Tick, append(m.inputs[:0], f.Inputs...), sum, m.gone[:0]
	t.kept = t.kept[:0]
	for e := range f.State.Entities {
		motion, ok := f.State.Motion(e)
		if !ok {
			continue
		}
		k := t.tracks[e]
		if k == nil {
			k = &track{entity: e, first: f.Tick}
			t.tracks[e] = k
		}
		k.add(f.Tick, vecOf(motion.Pos), vecOf(motion.Vel), t)
		t.kept = append(t.kept, k)
	}
	for _, k := range t.live {
		if k.lastSeen != f.Tick {
			m.gone = append(m.gone, k.entity)
		}
	}
	t.live, t.kept = t.kept, t.live
}

// add notes a point. An entity that lost its place for a while begins a new track.
func (k *track) add(f ecs.Tick, pos, vel vec, t *truth) {
	if len(k.points) > 0 && k.lastSeen+1 != f {
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
		p.kink = min(step.sub(vel.times(1/t.rate)).len(), step.sub(old.vel.times(1/t.rate)).len())
		if p.kink > t.far {
			k.jumped = f
		}
	}
	k.points = append(k.points, p)
	k.lastSeen = f
}

// now returns the server's time, in ticks.
func (t *truth) now(now simnet.Time) float64 { return float64(t.tick) + (now-t.at).Seconds()*t.rate }

// jumpSettles is for how many seconds after a teleport of an entity nothing is said of where it is shown: some strategies
// show it there sooner, some later, and none is wrong.
const jumpSettles = 3.0

// jumpedNear reports whether the entity teleported lately, as seen by somebody who shows it with that age, or is about to.
func (k *track) jumpedNear(at, age, rate float64) bool {
	return k.jumped != 0 && float64(k.jumped)+age+jumpSettles*rate > at
}

// where returns where the entity was; ok is false if it was not there, or that is not known.
func (k *track) where(ticks float64) (pos vec, ok bool) {
	whole := math.Floor(ticks)
	i := int(whole) - int(k.first)
	if i < 0 || i >= len(k.points) || i+1 == len(k.points) && ticks > whole {
		return vec{}, false
	}
	if ticks == whole {
		return k.points[i].pos, true
	}
	return k.points[i].pos.lerp(k.points[i+1].pos, ticks-whole), true
}

// around returns the points near a moment, at least one; the first one's step is not to be used. ok is false if the entity
// was not there all the time.
func (k *track) around(ticks float64) (points []point, ok bool) {
	from, to := int(math.Floor(ticks))-reach-int(k.first), int(math.Ceil(ticks))+reach+1-int(k.first)
	if from < 0 || to > len(k.points) {
		return nil, false
	}
	return k.points[from:to], true
}

// inputs returns what players did in a tick, nil if that is not known.
func (t *truth) inputs(f ecs.Tick) []ecs.InputBytes {
	if m := &t.past[f%historyTicks]; m.tick == f {
		return m.inputs
	}
	return nil
}

// checksum returns that of a state; ok is false if it is not known.
func (t *truth) checksum(f ecs.Tick) (sum image.Checksum, ok bool) {
	m := &t.past[f%historyTicks]
	return m.sum, f > 0 && m.tick == f
}

// vec is a place or a way, in world units.
type vec [3]float64

func vecOf(v fixed.Vec3) vec { return vec{v.X.Float(), v.Y.Float(), v.Z.Float()} }

func (a vec) sub(b vec) vec       { return vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func (a vec) times(s float64) vec { return vec{a[0] * s, a[1] * s, a[2] * s} }
func (a vec) dot(b vec) float64   { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
func (a vec) len() float64        { return math.Sqrt(a.dot(a)) }
func (a vec) lerp(b vec, t float64) vec {
	return vec{a[0] + t*(b[0]-a[0]), a[1] + t*(b[1]-a[1]), a[2] + t*(b[2]-a[2])}
}
