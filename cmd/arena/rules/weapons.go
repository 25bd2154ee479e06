package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/space"
)

// Arms holds the tick from which each weapon can be used again, and the end of the last rifle shot.
type Arms struct {
	Rifle, Rocket ecs.Tick
	Struck        fixed.Vec2
}

// Shot is a rifle fired, for sound and tracer.
type Shot struct{ From, To fixed.Vec3 }

var (
	arms    = ecs.NewComponent[Arms]("arms")
	gunners = ecs.NewQuery4(ecs.Read(arms), ecs.Read(body), ecs.Read(look), ecs.Read(seat), ecs.Without(dead))
	// Shots are the rifle shots of a tick; the entity of the event is the shooter.
	Shots = ecs.NewEvent[Shot]("shot")

	rifleRange = fixed.FromInt(40)
	gunHeight  = fixed.FromRatio(12, 10) // above the shooter's feet: over low walls, and over heads at a jump's top
)

const (
	rifleTicks  = 8 // from one shot to the next while the trigger is held
	rifleDamage = 8
)

// fire shoots the rifles: at once, straight and level, up to the first obstacle of the scene. Where the server has the
// moment that the shooter saw, it uses the scene of that moment.
func fire(w *ecs.World) {
	if !clock.Read(w).Playing {
		return
	}
	for e := range gunners.All(w) {
		if !pad.Of(w, e.D.Player).Fire || w.Tick() < e.A.Rifle {
			continue
		}
		shooter := e.Entity()
		r := rayFrom(e.B.Pos, e.C.Dir, rifleRange)
		r.Z += gunHeight
		far, hit := fixed.Num(0), ecs.Entity{}
		if _, late := w.Image().ViewOf(e.D.Player); late {
			far, hit = castSeen(w, e.D.Player, r, shooter)
		} else {
			far, hit = scene.Of(w).Cast(w, r, shooter)
		}
		end := r.At(far)
		if w.MayWrite(shooter) {
			a := arms.Write(w, shooter)
			a.Rifle, a.Struck = w.Tick()+rifleTicks, end
		}
		Shots.Emit(w, shooter, Shot{From: lifted(r.From, r.Z), To: lifted(end, r.Z)})
		hurt(w, hit, rifleDamage, e.D.Player)
	}
}

// Rocket flies straight at its body's velocity until it touches a wall, a door or somebody other than its shooter, or
// until tick Until; then it explodes.
type Rocket struct {
	Until   ecs.Tick
	From    ecs.Entity // whom it passes through
	Shooter ecs.Player
	_       [7]uint8
}

var (
	rocket = ecs.NewComponent[Rocket]("rocket")
	flying = ecs.NewQuery2(ecs.Write(body), ecs.Read(rocket))

	rocketSpeed  = fixed.FromInt(18) // m/s
	rocketRadius = fixed.FromRatio(15, 100)
	rocketHeight = fixed.FromRatio(9, 10) // above the shooter's feet: a jump clears it
)

const (
	rocketTicks    = 180 // longest flight
	rocketCooldown = 48  // ticks
)

// launch spawns the rockets that were asked for. They belong to their shooter, so that one player's mispredicted
// rocket leaves the rows of all others alone.
func launch(w *ecs.World) {
	if !clock.Read(w).Playing {
		return
	}
	for e := range gunners.All(w) {
		p := e.D.Player
		if !pressed(w, p).Rocket || w.Tick() < e.A.Rocket {
			continue
		}
		if w.MayWrite(e.Entity()) {
			arms.Write(w, e.Entity()).Rocket = w.Tick() + rocketCooldown
		}
		at := e.B.Pos
		at.Z += rocketHeight
		shot := w.Spawn(ecs.OwnedBy(p), body, rocket)
		body.Put(w, shot, Body{Pos: at, Vel: lifted(e.C.Dir.Scale(rocketSpeed), 0), Radius: rocketRadius})
		rocket.Put(w, shot, Rocket{Until: w.Tick() + rocketTicks, From: e.Entity(), Shooter: p})
	}
}

// fly moves the rockets. The whole way of a tick is swept, so that none passes through anything.
func fly(w *ecs.World) {
	s := scene.Of(w)
	for e := range flying.All(w) {
		b := e.A
		r := rayFrom(b.Pos, flat(b.Vel).Normalize(), rocketSpeed.Mul(tickTime))
		r.Radius = b.Radius
		far, _ := s.Cast(w, r, e.B.From)
		step := r.Dir.Scale(far)
		b.Pos.X, b.Pos.Y = b.Pos.X+step.X, b.Pos.Y+step.Y
		if far < r.Length || w.Tick() >= e.B.Until {
			explode(w, s, b.Pos, e.B.Shooter)
			w.Despawn(e.Entity())
		}
	}
}

// Blast is a visible explosion, until tick Until. It does its damage in the tick in which it appears.
type Blast struct{ Until ecs.Tick }

// Explosion is a rocket going off, for sound and light.
type Explosion struct{ At fixed.Vec3 }

var (
	blast  = ecs.NewComponent[Blast]("blast")
	fading = ecs.NewQuery2(ecs.Read(blast), ecs.Read(body))
	// Explosions are the rockets that exploded in a tick; the entity of the event is the blast.
	Explosions = ecs.NewEvent[Explosion]("explosion")

	blastRadius = fixed.FromInt(3)  // metres
	blastPush   = fixed.FromInt(11) // m/s in the middle
	blastLift   = fixed.FromInt(4)  // m/s upwards in the middle
)

const (
	blastTicks  = 18
	blastDamage = 60 // in the middle; falls to 0 at blastRadius
)

// explode damages and throws all players within blastRadius who are not behind a wall. The shooter takes half the damage.
func explode(w *ecs.World, s *Scene, at fixed.Vec3, by ecs.Player) {
	flash := w.Spawn(ecs.OwnedBy(by), body, blast)
	body.Put(w, flash, Body{Pos: at, Radius: blastRadius})
	blast.Put(w, flash, Blast{Until: w.Tick() + blastTicks})
	Explosions.Emit(w, flash, Explosion{At: at})

	for target, t := range players.In(w, space.Around(flat(at), blastRadius)) {
		away := t.Pos.Sub(at)
		away.Z += bodyHeight / 2
		dist := max(away.Len()-bodyRadius, 0)
		if dist >= blastRadius {
			continue
		}
		ray := rayFrom(at, flat(away).Normalize(), flat(away).Len())
		if s.Clear(ray) < ray.Length {
			continue
		}
		share := fixed.One - dist.Div(blastRadius)
		if w.MayWrite(target) {
			b := body.Write(w, target)
			b.push(flat(b.Vel).Add(ray.Dir.Scale(blastPush.Mul(share))).Limit(dashSpeed))
			b.Vel.Z = max(b.Vel.Z, blastLift.Mul(share))
		}
		damage := (blastDamage * share).Ceil().Int()
		if who, _ := seat.Read(w, target); who.Player == by {
			damage /= 2
		}
		hurt(w, target, int32(damage), by)
	}
}

func fade(w *ecs.World) {
	for e := range fading.All(w) {
		if w.Tick() >= e.A.Until {
			w.Despawn(e.Entity())
		}
	}
}
