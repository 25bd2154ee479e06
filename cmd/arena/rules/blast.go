package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Blast is a visible explosion, until tick Until. It does its damage in the tick in which it appears.
type Blast struct{ Until ecs.Tick }

// Explosion is a rocket going off, for sound and light.
type Explosion struct{ At fixed.Vec3 }

var (
	blast = ecs.NewComponent[Blast]("blast")
	// Explosions are the rockets that exploded in a tick; the entity of the event is the blast.
	Explosions = ecs.NewEvent[Explosion]("explosion")
)

const (
	blastTicks  = 18
	blastDamage = 60 // in the middle; falls to 0 at blastRadius
)

var (
	blastRadius = fixed.FromInt(3)  // metres
	blastPush   = fixed.FromInt(11) // m/s in the middle
	blastLift   = fixed.FromInt(4)  // m/s upwards in the middle
)

var fading = ecs.NewQuery1(ecs.Read(blast))

// explode damages and throws all players within blastRadius who are not behind a wall. The shooter takes half the damage.
func explode(w *ecs.World, s *Scene, at fixed.Vec3, by ecs.Player) {
	flash := w.Spawn(ecs.OwnedBy(by), body, blast)
	body.Put(w, flash, Body{Pos: at, Radius: blastRadius})
	blast.Put(w, flash, Blast{Until: w.Tick() + blastTicks})
	Explosions.Emit(w, flash, Explosion{At: at})

	targets := s.Between(at.Y-blastRadius, at.Y+blastRadius)
	for i := range targets {
		t := &targets[i]
		away := t.Pos.Sub(at)
		away.Z += bodyHeight / 2
		dist := max(away.Len()-bodyRadius, 0)
		if dist >= blastRadius {
			continue
		}
		ray := Ray{From: at, Dir: flat(away).Normalize(), Length: flat(away).Len()}
		if s.Clear(ray) < ray.Length {
			continue
		}
		share := fixed.One - dist.Div(blastRadius)
		if b := body.Write(w, t.Entity); b != nil {
			b.push(flat(b.Vel).Add(ray.Dir.Scale(blastPush.Mul(share))).Limit(dashSpeed))
			b.Vel.Z = max(b.Vel.Z, blastLift.Mul(share))
		}
		damage := (blastDamage * share).Ceil().Int()
		if t.Player == by {
			damage /= 2
		}
		hurt(w, t.Entity, int32(damage), by)
	}
}

// fade removes the blasts whose time is over.
func fade(w *ecs.World) {
	for e := range fading.All(w) {
		if w.Tick() >= e.A.Until {
			w.Despawn(e.Entity())
		}
	}
}
