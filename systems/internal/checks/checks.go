// Package checks holds the errors of halves for configurations, orders and games that are not valid. They name the field.
//
// # Tasks
//
//   - check a configuration: [Client], [InputDelay], [Prediction]
//   - check an order of the local player: [Order]
//   - check that a tick fits a datagram: [Datagram]
package checks

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// MaxInputDelay bounds ClientConfig.InputDelay, in ticks.
const MaxInputDelay = 30

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

// Datagram returns what is wrong with a game of which the inputs of one tick may need so many bytes of a datagram.
func Datagram(strategy string, g *ecs.Game, need int) error {
	if need > systems.MaxDatagram {
		return fmt.Errorf("%s: %d players with inputs of %d bytes need %d bytes for one tick: a datagram holds %d",
			strategy, g.MaxPlayers, g.Input.Size(), need, systems.MaxDatagram)
	}
	return nil
}
