package ecs

import "tendon/ecs/image"

// Names that a game shares with the store of its state.
type (
	// Tick counts simulation steps. State(0) is the state after Setup; tick f ≥ 1 turns State(f−1) into State(f).
	Tick = image.Tick
	// Player is a seat in a match, in [0, Game.MaxPlayers).
	Player = image.Player
	// Card is what a player brings into the match: see image.Card.
	Card = image.Card
	// Entity is a row and the tick in which the row was taken. The zero Entity is no entity.
	Entity = image.Entity
	// InputBytes is one player's input of one tick in its packed form.
	InputBytes = image.InputBytes
	// TickInputs is everything that enters a world in one tick.
	TickInputs = image.TickInputs
	// Motion is a position in world units and a velocity in world units per second.
	Motion = image.Motion
	// Rand is a random source. World.Rand is part of the state.
	Rand = image.Rand
	// Roles describe a component to sync strategies.
	Roles[T any] = image.Roles[T]
	// List is a bounded list that is part of its row: a component may hold it, unlike a slice.
	List[T, A any] = image.List[T, A]
)

// OwnedByWorld is the owner of everything that belongs to no player.
const OwnedByWorld = image.OwnedByWorld

// OwnedBy returns the owner that stands for player p.
func OwnedBy(p Player) image.Owner { return image.OwnedBy(p) }

// Seat ties an entity to the player who steers it.
type Seat struct{ Player Player }
