package lab

import (
	"math"
	"slices"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/client"
)

// shots are hitscan shots that the lab fires itself, without the game. When a player's input changes, it fires rays at
// every other player in the picture and past them. The hit of a ray in the picture is compared with its hit on the server,
// in the tick that uses this input. There the world is as the server shows it to this player: see image.Image.Targets.
// Walls stop no ray, since the lab knows none.
type shots struct {
	due    bool    // no tick has sampled the newest change yet
	next   float64 // the server's time, in ticks, before which no more are fired
	client sight   // in the last picture
	server sight   // in the current tick of the server
}

// shot is the rays of one frame.
type shot struct {
	tick ecs.Tick // that used the input, 0: none yet
	past float64  // by how many ticks the server looked back
	rays []ray
	by   ecs.Entity
	gone bool // the shooter did not exist any more
}

// ray is one ray of a shot, with its hits, zero for none.
type ray struct {
	at, client, server ecs.Entity
	dir                vec // of length 1
}

// sight is what a player's shot can hit, and where it begins.
type sight struct {
	own     ecs.Entity // the shooter, zero if it does not exist
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

// rayOffsets are the distances of rays from the middle of a target, in radii. One ray goes through the middle, the others
// on both sides half a radius inside and outside of the rim.
var rayOffsets = [...]float64{0, -0.5, 0.5, -1.5, 1.5}

// look finds the targets that a player sees in a world: the first entity of each other player that can be hit. That is the
// one that was spawned on join, and not a projectile.
func (s *sight) look(w *ecs.World, seat ecs.Player) {
	s.own, s.targets, s.past = ecs.Entity{}, s.targets[:0], 0
	owner := ecs.OwnedByWorld
	w.Image().Targets(seat, func(e ecs.Entity, at ecs.Motion, radius fixed.Num) bool {
		if e.Owner() == owner {
			return true
		}
		if owner = e.Owner(); owner == ecs.OwnedBy(seat) {
			s.own, s.from = e, vecOf(at.Pos)
		} else {
			s.targets = append(s.targets, target{e, vecOf(at.Pos), radius.Float()})
		}
		return true
	})
}

// hit returns the first entity on a ray, zero for none.
func (s *sight) hit(dir vec) (e ecs.Entity) {
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

// rays returns the rays of a shot at every target that is not so near that it contains the shooter.
func (s *sight) rays() (rays []ray) {
	for i := range s.targets {
		t := &s.targets[i]
		to := t.pos.sub(s.from)
		side := vec{-to[1], to[0], 0}
		if side.len() <= 2*t.radius || t.radius <= 0 {
			continue
		}
		side = side.times(t.radius / side.len())
		for _, k := range rayOffsets {
			dir := to.sub(side.times(k))
			dir = dir.times(1 / dir.len())
			rays = append(rays, ray{at: t.entity, client: s.hit(dir), dir: dir})
		}
	}
	return rays
}

// resolve stores what the rays of a shot hit on the server.
func (s *shot) resolve(by *sight, f ecs.Tick) {
	s.tick, s.past, s.gone = f, by.past, by.own.IsZero()
	for i := range s.rays {
		s.rays[i].server = by.hit(s.rays[i].dir)
	}
}

// shoot fires if the input changed and a tick has sampled it. It fires at the targets of the last picture, from the
// position of the player's own entity in that tick.
func (p *player) shoot(now *image.Snapshot, stats *client.Stats) {
	q, d, list := &p.shots, &p.display, p.inputs.list
	if !q.due || now.Empty() || stats.Strategy.Present <= p.last.Strategy.Present || len(d.frames) < 2 || len(list) == 0 {
		return
	}
	q.due = false
	f, s := &d.frames[len(d.frames)-1], &q.client
	m, ok := now.Motion(s.own)
	if !ok || f.at < q.next || f.shot != nil {
		return
	}
	s.from = vecOf(m.Pos)
	if rays := s.rays(); len(rays) > 0 {
		f.shot = &shot{by: s.own, rays: rays}
		list[len(list)-1].shot = f.shot
		q.next = f.at + fitEvery*d.history.rate/displayHz
	}
}

// observe stores what the players see in the server's world, after the systems of each tick.
func (m *match) observe(w *ecs.World) {
	if !m.measuring {
		return
	}
	begin := m.clock()
	for _, p := range m.players {
		if !p.measured() {
			continue
		}
		s := &p.shots.server
		s.look(w, p.seat)
		if v, late := w.Image().ViewOf(p.seat); late {
			s.past = float64(w.Tick()) - float64(v.Tick) - float64(v.Part)/256
		}
	}
	m.overhead += m.clock() - begin
}

// judgeShot counts the rays of a shot on which picture and server agree. Entities that teleported around it do not count.
func (d *display) judgeShot(f *frame) {
	s := f.shot
	if s.tick == 0 || s.gone || d.ages.n == 0 {
		return
	}
	old := float64(s.tick) - (f.at - d.ages.median)
	within, counted := d.ms(old) <= d.limit, false
	for i := range s.rays {
		a := &s.rays[i]
		if slices.ContainsFunc([]ecs.Entity{a.at, a.client, a.server, s.by}, func(e ecs.Entity) bool { return d.uncertain(e, f, old) }) {
			continue
		}
		counted = true
		agreed := 0
		if a.client == a.server {
			agreed = 1
		}
		d.rays, d.agreed = d.rays+1, d.agreed+agreed
		if within {
			d.raysInCap, d.agreedInCap = d.raysInCap+1, d.agreedInCap+agreed
		}
		if !a.server.IsZero() {
			d.past = append(d.past, d.ms(s.past))
		}
	}
	if counted {
		d.viewAges = append(d.viewAges, d.ms(old))
	}
}

// uncertain reports whether an entity teleported around a frame or never was on the server. The zero entity is certain.
func (d *display) uncertain(e ecs.Entity, f *frame, age float64) bool {
	k := d.history.tracks[e]
	return !e.IsZero() && (k == nil || k.teleportedNear(f.at, math.Abs(age), d.history.rate))
}
