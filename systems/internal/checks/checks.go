package checks

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// MaxInputDelay bounds ClientConfig.InputDelay, in ticks.
const MaxInputDelay = 30

// Server returns what is wrong with a server half's configuration. A strategy is named as its package is.
func Server(strategy string, c *systems.ServerConfig) error {
	switch {
	case c.World == nil:
		return fmt.Errorf("%s: ServerConfig.World is nil", strategy)
	case c.Peers < 1:
		return fmt.Errorf("%s: ServerConfig.Peers is %d, want at least 1", strategy, c.Peers)
	}
	return nil
}

// Client returns what is wrong with a client half's world and seat.
func Client(strategy string, c *systems.ClientConfig) error {
	switch {
	case c.World == nil:
		return fmt.Errorf("%s: ClientConfig.World is nil", strategy)
	case c.Seat < -1 || c.Seat >= c.World.Game().MaxPlayers:
		return fmt.Errorf("%s: ClientConfig.Seat is %d in a game of %d players", strategy, c.Seat, c.World.Game().MaxPlayers)
	}
	return nil
}

// InputDelay returns what is wrong with the input delay of a client half that has one.
func InputDelay(strategy string, c *systems.ClientConfig) error {
	if c.InputDelay < 0 || c.InputDelay > MaxInputDelay {
		return fmt.Errorf("%s: ClientConfig.InputDelay is %d, want [0, %d]", strategy, c.InputDelay, MaxInputDelay)
	}
	return nil
}

// Prediction returns what is wrong with the input delay and the prediction window of a client half that predicts at most
// most ticks.
func Prediction(strategy string, c *systems.ClientConfig, most int) error {
	if c.MaxPrediction < 1 || c.MaxPrediction > most {
		return fmt.Errorf("%s: ClientConfig.MaxPrediction is %d, want [1, %d]", strategy, c.MaxPrediction, most)
	}
	return InputDelay(strategy, c)
}

// Order returns why the player of a seat cannot ask for an order.
func Order(strategy string, seat int, payload []byte) error {
	switch {
	case len(payload) > image.MaxOrderBytes:
		return fmt.Errorf("%s: an order of %d bytes: at most %d", strategy, len(payload), image.MaxOrderBytes)
	case seat < 0:
		return fmt.Errorf("%s: a spectator gives no orders", strategy)
	}
	return nil
}

// Seat panics if a peer is opened in a seat that a game of so many players has not.
func Seat(strategy string, seat, players int) {
	if seat < -1 || seat >= players {
		panic(fmt.Sprintf("%s: Open with seat %d in a game of %d players: a spectator's is -1", strategy, seat, players))
	}
}

// Held panics if a peer is opened that holds a state which a server half cannot go on from.
func Held(strategy string, have, oldest, done ecs.Tick) {
	if have > done || have < oldest {
		panic(fmt.Sprintf("%s: Open of a peer that holds tick %d: ask OldestServable (%d) and Done (%d) first", strategy, have, oldest, done))
	}
}

// Stamp panics on an order that no peer would take.
func Stamp(strategy string, o *image.Order, game *ecs.Game) {
	if !o.Kind.Shared() || int(o.Player) >= game.MaxPlayers || len(o.Payload) > image.MaxOrderBytes {
		panic(fmt.Sprintf("%s: Stamp of an order of kind %d for player %d with %d bytes: check what comes from outside first", strategy, o.Kind, o.Player, len(o.Payload)))
	}
}

// Adopt panics if a tick does not follow the last one.
func Adopt(strategy string, f, done ecs.Tick) {
	if f != done+1 {
		panic(fmt.Sprintf("%s: Adopt of tick %d after tick %d: adopt ticks in turn", strategy, f, done))
	}
}
