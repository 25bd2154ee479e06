package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/space"
)

// Health is a player's hit points. Damage adds up in Wound during the tick and is applied once, after the kit that the
// player used in the same tick. So the result does not depend on the order of the shots in the tick.
type Health struct {
	HP    int32 // in (0, fullHP] while alive, 0 when dead
	Wound int32 // damage taken in this tick, 0 between ticks
	Kits  uint8 // carried, at most kitsCarried
	By    uint8 // 1 + the player who did the last damage, 0 for none
	_     uint16
}

// Dead marks a player who is out until tick Until. It is added and removed, so rules for the living are queries without
// it. A view shows it only when it is confirmed, so a mispredicted death is never shown.
type Dead struct{ Until ecs.Tick }

// Hit is damage done, for sound and numbers.
type Hit struct {
	Damage int32
	By     ecs.Player
	_      [3]uint8
}

// Death is the death of a player. Killer is Victim for a self-inflicted one.
type Death struct{ Victim, Killer ecs.Player }

var (
	patients = ecs.NewQuery2(ecs.Read(health), ecs.Read(seat), ecs.Without(dead))
	fallen   = ecs.NewQuery3(ecs.Read(dead), ecs.Read(body), ecs.Read(seat))

	health = ecs.NewComponent[Health]("health")
	dead   = ecs.NewComponent("dead", ecs.Roles[Dead]{ConfirmedOnly: true})
	// Hits are the hits of a tick; the entity of the event is the target.
	Hits = ecs.NewEvent[Hit]("hit")
	// Deaths are the deaths of a tick; the entity of the event is the victim.
	Deaths = ecs.NewIrreversibleEvent[Death]("death")
)

const (
	fullHP       = 100
	lowHP        = 35 // shown in red
	kitHP        = 50
	kitsCarried  = 2
	respawnTicks = 120
)

var spawnDistance = fixed.FromInt(12) // metres, the wanted distance of a spawn point from all living players

// hurt adds damage to target for this tick. It does nothing for the zero Entity and for a target that this peer may not
// write, and for another player of the same team.
func hurt(w *ecs.World, target ecs.Entity, damage int32, by ecs.Player) {
	if !w.MayWrite(target) || damage == 0 || dead.Has(w, target) {
		return
	}
	if s, _ := seat.Read(w, target); allied(w, s.Player, by) {
		return
	}
	h := health.Write(w, target)
	h.Wound += damage
	h.By = uint8(by) + 1
	Hits.Emit(w, target, Hit{Damage: damage, By: by})
}

// judge applies kits, then damage, then deaths.
func judge(w *ecs.World) {
	for e := range patients.All(w) {
		heals := pressed(w, e.B.Player).Kit && e.A.Kits > 0 && e.A.HP-e.A.Wound < fullHP
		if e.A.Wound == 0 && !heals || !w.MayWrite(e.Entity()) {
			continue
		}
		h := health.Write(w, e.Entity())
		h.HP, h.Wound = h.HP-h.Wound, 0
		if heals {
			h.Kits--
			h.HP = min(h.HP+kitHP, fullHP)
		}
		if h.HP <= 0 {
			h.HP = 0
			die(w, e.Entity(), e.B.Player, h.By)
		}
	}
}

// die takes a player out of play and enters the death in the score table. by is 1 + the killer, 0 for none.
func die(w *ecs.World, e ecs.Entity, victim ecs.Player, by uint8) {
	killer := victim
	if by > 0 {
		killer = ecs.Player(by - 1)
	}
	dead.Add(w, e, Dead{Until: w.Tick() + respawnTicks})
	Deaths.Emit(w, e, Death{Victim: victim, Killer: killer})
	t := &scores.Write(w).Of
	t[victim].Deaths++
	if killer == victim {
		t[killer].Points--
	} else {
		t[killer].Points++
		t[killer].Kills++
	}
	Points.Emit(w, ecs.Entity{}, Point{Player: killer, Points: t[killer].Points})
}

func respawn(w *ecs.World) {
	for e := range fallen.All(w) {
		if w.Tick() >= e.A.Until {
			dead.Remove(w, e.Entity())
			revive(w, e.Entity(), freeSpawn(w))
		}
	}
}

// revive gives a player's entity the state of a new life.
func revive(w *ecs.World, e ecs.Entity, at fixed.Vec2) {
	if !w.MayWrite(e) {
		return
	}
	toMiddle := metres(level.Columns, level.Rows).Sub(at) // a square is 2 m
	body.Put(w, e, Body{Pos: lifted(at, 0), Radius: bodyRadius})
	look.Put(w, e, Look{Dir: toMiddle.Normalize()})
	health.Put(w, e, Health{HP: fullHP, Kits: 1})
	dash.Put(w, e, Dash{})
	arms.Put(w, e, Arms{})
}

// freeSpawn returns a spawn point away from all living players: the first that is far enough, counted from a random one, or
// else the farthest.
func freeSpawn(w *ecs.World) fixed.Vec2 {
	n := len(level.Spawns)
	start := w.Rand().IntN(n)
	best, bestDist := level.Spawns[start], fixed.Num(-1)
	for i := range n {
		at, dist := level.Spawns[(start+i)%n], fixed.Max
		for _, t := range players.In(w, level.tiles.Bounds()) {
			dist = min(dist, at.Dist(flat(t.Pos)))
		}
		if dist >= spawnDistance {
			return at
		}
		if dist > bestDist {
			best, bestDist = at, dist
		}
	}
	return best
}

// Kit is a med kit on the floor. Its entity belongs to the world and is removed when a player takes it.
type Kit struct{ Place uint8 } // index in the level's kits

// KitTimes holds for each of the level's kit places the tick in which a new kit appears; 0 while one lies there.
type KitTimes struct{ Ready [maxKits]ecs.Tick }

// Pickup is a kit taken.
type Pickup struct{ Place uint8 }

var (
	kit      = ecs.NewComponent[Kit]("kit")
	kitTimes = ecs.NewResource[KitTimes]("shelves")
	lying    = ecs.NewQuery2(ecs.Read(kit), ecs.Read(body))
	kitReach = fixed.FromRatio(9, 10) // between the middles of kit and body, metres
	// Pickups are the kits taken in a tick; the entity of the event is the player's.
	Pickups = ecs.NewEvent[Pickup]("pickup")
)

const kitTicks = 480 // until a new kit lies where one was taken

// takeKits gives kits to those who stand on them and can carry one more.
func takeKits(w *ecs.World) {
	for e := range lying.All(w) {
		at := flat(e.B.Pos)
		for who, t := range players.In(w, space.Around(at, kitReach)) {
			h, ok := health.Read(w, who)
			if !ok || h.HP == 0 || h.Kits >= kitsCarried || at.Dist(flat(t.Pos)) > kitReach {
				continue
			}
			if w.MayWrite(who) {
				health.Write(w, who).Kits++
			}
			kitTimes.Write(w).Ready[e.A.Place] = w.Tick() + kitTicks
			Pickups.Emit(w, who, Pickup{Place: e.A.Place})
			w.Despawn(e.Entity())
			break
		}
	}
}

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
