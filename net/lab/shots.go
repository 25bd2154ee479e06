package lab

import (
	"math"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

// shots are fired by the lab itself, as hitscan weapons would be: when a player's input changes, along lines at everybody
// whom his screen shows and past them. What a line meets on the screen is held against what it meets on the server, in the
// tick that takes this input, in the world as the server has this player see it: see ecs.World.Targets. The game is not
// told of them. Walls stop nothing, since the lab knows none.
type shots struct {
	due   bool    // no tick has sampled the newest press yet
	next  float64 // the server's time, in ticks, before which no more are fired
	shown sight   // by the last picture
	seen  sight   // in the running tick, by the server's word
}

// shot is what a player aimed at in one frame, and what became of it.
type shot struct {
	tick ecs.Tick // that took it, 0: none so far
	past float64  // by how many ticks the view lies back by which the server judged it
	aims []aim    // at whom, and what was met
	by   ecs.Entity
	gone bool // the shooter was not there any more
}

// aim is one line of a shot.
type aim struct {
	at, screen, server ecs.Entity // who is aimed at, who was met on the screen, and on the server; zero: nobody
	dir                vec        // of length 1
}

// sight is what a player's shot could meet, and where it begins.
type sight struct {
	own     ecs.Entity // the shooter, zero if it is not there
	from    vec
	targets []target
	past    float64 // by how many ticks the view lies back
}

// target is what can be hit.
type target struct {
	entity ecs.Entity
	pos    vec
	radius float64
}

// aside is where the lines of a shot pass a target, in radii from its middle: through the middle, and as far inside of
// its rim as outside of it, on both sides.
var aside = [...]float64{0, -0.5, 0.5, -1.5, 1.5}

// look takes in what somebody sees in a world: of each player the first entity that can be hit, which is the one that came
// with him. What he fires comes later, goes soon, and is not shot at.
func (s *sight) look(w *ecs.World, seat ecs.Player) {
	s.own, s.targets, s.past = ecs.Entity{}, s.targets[:0], 0
	of := ecs.OwnedByWorld
	w.Image().Targets(seat, func(e ecs.Entity, at ecs.Motion, radius fixed.Num) bool {
		if e.Owner() == of {
			return true
		}
		if of = e.Owner(); of == ecs.OwnedBy(seat) {
			s.own, s.from = e, vecOf(at.Pos)
		} else {
			s.targets = append(s.targets, target{e, vecOf(at.Pos), radius.Float()})
		}
		return true
	})
}

// meets returns whom a line meets first, zero for nobody.
func (s *sight) meets(dir vec) (e ecs.Entity) {
	first := 0.0
	for i := range s.targets {
		t := &s.targets[i]
		to := t.pos.sub(s.from)
		along := to.dot(dir)
		if off := to.sub(dir.times(along)).len(); along > 0 && off < t.radius && (e.IsZero() || along < first) {
			e, first = t.entity, along
		}
	}
	return e
}

// lines returns the lines of a shot at everybody in sight who is not that near that the shooter stands within.
func (s *sight) lines() (aims []aim) {
	for i := range s.targets {
		t := &s.targets[i]
		to := t.pos.sub(s.from)
		side := vec{-to[1], to[0], 0}
		if side.len() <= 2*t.radius || t.radius <= 0 {
			continue
		}
		side = side.times(t.radius / side.len())
		for _, k := range aside {
			dir := to.sub(side.times(k))
			dir = dir.times(1 / dir.len())
			aims = append(aims, aim{at: t.entity, screen: s.meets(dir), dir: dir})
		}
	}
	return aims
}

// judge notes what the lines of a shot meet in the world that the server has the shooter see.
func (s *shot) judge(by *sight, f ecs.Tick) {
	s.tick, s.past, s.gone = f, by.past, by.own.IsZero()
	for i := range s.aims {
		s.aims[i].server = by.meets(s.aims[i].dir)
	}
}

// shoot fires if the input changed and a tick has sampled it now: at what the last picture showed, from where the
// player's own entity stands in that tick.
func (p *player) shoot(now *image.Snapshot) {
	q, d, list := &p.shots, &p.display, p.presses.list
	if !q.due || now.Empty() || p.core.Stats().Strategy.Present <= p.last.Strategy.Present || len(d.frames) == 0 || len(list) == 0 {
		return
	}
	q.due = false
	f, s := &d.frames[len(d.frames)-1], &q.shown
	m, ok := now.Motion(s.own)
	if !ok || f.at < q.next || f.shot != nil {
		return
	}
	s.from = vecOf(m.Pos)
	if aims := s.lines(); len(aims) > 0 {
		f.shot = &shot{by: s.own, aims: aims}
		list[len(list)-1].shot = f.shot
		q.next = f.at + fitEvery*d.rate/d.hz
	}
}

// watch notes what the players see in the tick that runs in the server's world.
func (m *match) watch(w *ecs.World) {
	if !m.measuring {
		return
	}
	begin, shooters := m.clock(), m.players
	if m.watched != nil {
		shooters = shooters[:1]
	}
	for _, p := range shooters {
		s := &p.shots.seen
		s.look(w, p.seat)
		if v, late := w.Image().ViewOf(p.seat); late {
			s.past = float64(w.Tick()) - float64(v.Tick) - float64(v.Part)/256
		}
	}
	m.noting += m.clock() - begin
}

// judgeShot notes of a shot that was fired at a picture, and whose tick is final, whom the screen and the server agree on.
// Nothing is said of who has teleported around it.
func (d *display) judgeShot(f *frame) {
	s := f.shot
	if s.tick == 0 || s.gone {
		return
	}
	age, ok := d.ages.usual()
	if !ok {
		return
	}
	old := float64(s.tick) - (f.at - age)
	m, within, counted := &d.marks.hits, d.ms(old) <= d.limit, false
	for i := range s.aims {
		a := &s.aims[i]
		if d.jumpy(a.at, f, old) || d.jumpy(a.screen, f, old) || d.jumpy(a.server, f, old) || d.jumpy(s.by, f, old) {
			continue
		}
		counted = true
		m.all.count(a.screen == a.server)
		if within {
			m.near.count(a.screen == a.server)
		}
		if !a.server.IsZero() {
			m.past = append(m.past, d.ms(s.past))
		}
	}
	if counted {
		m.ages = append(m.ages, d.ms(old))
	}
}

// jumpy reports whether an entity has teleported around a frame, or is not known on the server; nobody never has.
func (d *display) jumpy(e ecs.Entity, f *frame, age float64) bool {
	if e.IsZero() {
		return false
	}
	k := d.truth.tracks[e]
	return k == nil || k.jumpedNear(f.at, math.Abs(age), d.rate)
}

// hits are what was found of shots: near of those whose view was not older than the limit.
type hits struct {
	near, all tally
	ages      []float64 // of the views when the server used them, in ms
	past      []float64 // how long ago who was hit was where it was hit, in ms
}

func (h *hits) add(o *hits) {
	h.near, h.all = h.near.plus(o.near), h.all.plus(o.all)
	h.ages, h.past = append(h.ages, o.ages...), append(h.past, o.past...)
}

// tally counts lines, and those of them on which screen and server agree.
type tally struct{ lines, agree int }

func (t *tally) count(agree bool) {
	t.lines++
	if agree {
		t.agree++
	}
}

func (t tally) plus(o tally) tally { return tally{t.lines + o.lines, t.agree + o.agree} }
