package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Kit is a med kit on the floor. Its entity belongs to the world and is removed when a player takes it.
type Kit struct{ Place uint8 } // index in the level's kits

// KitTimes holds for each of the level's kit places the tick in which a new kit appears; 0 while one lies there.
type KitTimes struct{ Ready [maxKits]ecs.Tick }

// Pickup is a kit taken.
type Pickup struct{ Place uint8 }

var (
	kit      = ecs.NewComponent[Kit]("kit")
	kitTimes = ecs.NewResource[KitTimes]("shelves")
	// Pickups are the kits taken in a tick; the entity of the event is the player's.
	Pickups = ecs.NewEvent[Pickup]("pickup")
)

const kitTicks = 480 // until a new kit lies where one was taken

var kitReach = fixed.FromRatio(9, 10) // between the middles of kit and body, metres

var lying = ecs.NewQuery2(ecs.Read(kit), ecs.Read(body))

// takeKits gives kits to those who stand on them and can carry one more.
func takeKits(w *ecs.World) {
	s := scene.Of(w)
	for e := range lying.All(w) {
		at := flat(e.B.Pos)
		targets := s.Between(at.Y-kitReach, at.Y+kitReach)
		for i := range targets {
			who := targets[i].Entity
			h, ok := health.Read(w, who)
			if !ok || h.HP == 0 || h.Kits >= kitsCarried || at.Dist(flat(targets[i].Pos)) > kitReach {
				continue
			}
			if mine := health.Write(w, who); mine != nil {
				mine.Kits++
			}
			kitTimes.Write(w).Ready[e.A.Place] = w.Tick() + kitTicks
			Pickups.Emit(w, who, Pickup{Place: e.A.Place})
			w.Despawn(e.Entity())
			break
		}
	}
}

// layKits puts new kits where their time has come.
func layKits(w *ecs.World) {
	ready := kitTimes.Read(w).Ready
	for place := range level.Kits {
		if ready[place] != 0 && w.Tick() >= ready[place] {
			kitTimes.Write(w).Ready[place] = 0
			layKit(w, place)
		}
	}
}

func layKit(w *ecs.World, place int) {
	e := w.Spawn(ecs.OwnedByWorld, kit, body)
	kit.Put(w, e, Kit{Place: uint8(place)})
	body.Put(w, e, Body{Pos: lifted(level.Kits[place], 0), Radius: fixed.Half})
}
