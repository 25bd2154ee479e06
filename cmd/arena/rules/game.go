package rules

import "tendon/ecs"

const maxPlayers = 16

var seats = ecs.NewQuery1(ecs.Read(seat))

// Game returns the game for any host: a server, a client, a test, a benchmark.
func Game() *ecs.Game {
	return &ecs.Game{
		Name: "arena", TickRate: tickRate, MaxPlayers: maxPlayers,
		Physics: ecs.Physics{MoveLimit: runSpeed, BurstLimit: dashSpeed, MoveCost: moveCost, Gravity: gravity, Floor: floorAt,
			Blocked: wallBetween},
		Components: ecs.Components(seat, body, look, dash, arms, health, dead, rocket, blast, kit, door),
		Resources:  ecs.Resources(clock, scores, kitTimes, teams),
		Events:     ecs.Events(Shots, Hits, Explosions, Pickups, Deaths, Points, Results),
		Input:      pad,
		Derived:    []ecs.AnyDerived{scene, players.Derived(), reach.Derived()},
		Assets:     []ecs.Asset{{Name: "level", Data: levelText}},
		Systems: ecs.Systems(
			face, fire, launch, fly, fade, takeKits, layKits, // actions, in the scene that the players saw
			judge, respawn, // their results
			startDashes, slideDoors, move, // motion; doors open for the players of the state before
			keepTime,
		),
		Setup: setup, Join: join, Leave: leave, Result: result,
		Orders: ecs.Orders(Surrender.Do(surrender).If(maySurrender), NextTeam.Do(changeTeam).If(mayChangeTeam)),
		Bot:    bot, Screen: ecs.Screen{History: history, Controls: controls, Keys: keyHelp, Touch: touchKeys, Score: scoreText, Chat: true, Draw: draw, Effect: showEffect, Dress: dress},
	}
}

func setup(w *ecs.World) {
	for place := range level.Doors {
		door.Put(w, w.Spawn(ecs.OwnedByWorld, door), Door{Place: uint8(place)})
	}
	for place := range level.Kits {
		layKit(w, place)
	}
	*clock.Write(w) = Clock{Ends: playTicks, Round: 1, Playing: true}
}

// join lets a player in, in the team that their card names: "red" or "blue".
func join(w *ecs.World, p ecs.Player, card ecs.Card) {
	e := w.Spawn(ecs.OwnedBy(p), seat, body, look, dash, arms, health)
	seat.Put(w, e, ecs.Seat{Player: p})
	revive(w, e, freeSpawn(w))
	scores.Write(w).Of[p] = Score{}
	teams.Write(w).Of[p] = teamOf(card)
}

// leave removes the player's entity. Rockets on their way fly on.
func leave(w *ecs.World, p ecs.Player) { w.Despawn(avatar(w, p)) }

// Surrender is an order: the player dies at once and loses a point.
var Surrender = ecs.NewOrder[struct{}]("surrender")

// maySurrender refuses the surrender of a player who is not alive.
func maySurrender(w *ecs.World, p ecs.Player, _ ecs.Entity, _ struct{}) string {
	if who := avatar(w, p); who.IsZero() || dead.Has(w, who) {
		return "only the living can surrender"
	}
	return ""
}

func surrender(w *ecs.World, p ecs.Player, _ ecs.Entity, _ struct{}) {
	hurt(w, avatar(w, p), 2*fullHP, p) // more than a kit can mend
}

// avatar returns the entity that p steers, or the zero Entity.
func avatar(w *ecs.World, p ecs.Player) ecs.Entity {
	for e := range seats.All(w) {
		if e.A.Player == p {
			return e.Entity()
		}
	}
	return ecs.Entity{}
}
