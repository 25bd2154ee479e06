package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Arms holds the tick from which each weapon can be used again, and the end of the last rifle shot.
type Arms struct {
	Rifle, Rocket ecs.Tick
	Struck        fixed.Vec2
}

// Shot is a rifle fired, for sound and tracer.
type Shot struct{ From, To fixed.Vec3 }

var (
	arms = ecs.NewComponent[Arms]("arms")
	// Shots are the rifle shots of a tick, about the shooter.
	Shots = ecs.NewEvent[Shot]("shot")
)

const (
	rifleTicks  = 8 // from one shot to the next while the trigger is held
	rifleDamage = 8
)

var (
	rifleRange = fixed.FromInt(40)
	// gunHeight is where shots leave, above the shooter's feet: over low walls, and over heads at a jump's top.
	gunHeight = fixed.FromRatio(12, 10)
)

var gunners = ecs.NewQuery4(ecs.Read(arms), ecs.Read(body), ecs.Read(look), ecs.Read(seat), ecs.Without(dead))

// fire shoots the rifles: at once, straight and level, up to the first obstacle of the scene. Where the server has the
// moment that the shooter saw, it uses the scene of that moment.
func fire(w *ecs.World) {
	if !clock.Read(w).Playing {
		return
	}
	s := scene.Of(w)
	for e := range gunners.All(w) {
		if !pad.Of(w, e.D.Player).Fire || w.Tick() < e.A.Rifle {
			continue
		}
		shooter := e.Entity()
		r := Ray{From: e.B.Pos, Dir: e.C.Dir, Length: rifleRange}
		r.From.Z += gunHeight
		far, hit := fixed.Num(0), ecs.Entity{}
		if _, late := w.Image().ViewOf(e.D.Player); late {
			far, hit = castSeen(w, e.D.Player, r, shooter)
		} else {
			far, hit = s.Cast(r, shooter)
		}
		end := flat(r.From).Add(r.Dir.Scale(far))
		if a := arms.Write(w, shooter); a != nil {
			a.Rifle, a.Struck = w.Tick()+rifleTicks, end
		}
		Shots.Emit(w, shooter, Shot{From: r.From, To: lifted(end, r.From.Z)})
		hurt(w, hit, rifleDamage, e.D.Player)
	}
}
