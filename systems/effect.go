package systems

import (
	"tendon/ecs"
	"tendon/rollback"
)

// Effect is news of an event for a view: see rollback.Effect.
type Effect = rollback.Effect

// Strategy makes the two halves. Its name is what --sync takes.
type Strategy struct {
	// Name is the strategy's name on the command line and in the handshake.
	Name string
	// Needs says what the strategy demands of a game's components.
	Needs Needs
	// NewServer returns the server's half for a world in State(0).
	NewServer func(ServerConfig) (Server, error)
	// NewClient returns a client's half for a world whose state will be loaded.
	NewClient func(ClientConfig) (Client, error)
}

// ServerConfig is what every server half is made of.
type ServerConfig struct {
	// World is the match, in State(0). Required.
	World *ecs.World
	// Peers is the most peers that will be open at once. Required, ≥ 1.
	Peers int
	// Observer is told of the phases; nil: nobody is.
	Observer ecs.Observer
	// Taken is told of every tick that is final, with what it was computed from, before any peer hears of it; nil:
	// nobody is. This is where recordings and journals hang. The slices are valid during the call.
	Taken func(FinalTick)
}

// FinalTick is one tick as it will stay.
type FinalTick struct {
	Tick   ecs.Tick
	Inputs []ecs.InputBytes
	Late   ecs.PlayerSet // whose input was substituted
	Orders []ecs.Order
	World  *ecs.World // in the tick's state
	State  *ecs.Snapshot
}

// ClientConfig is what every client half is made of.
type ClientConfig struct {
	// World is the client's copy of the match. Required.
	World *ecs.World
	// Seat is the local player, −1 for a spectator.
	Seat int
	// InputDelay is the number of ticks between an input and its effect, in [0, 30].
	InputDelay int
	// MaxPrediction is the most ticks to predict; 0: what the strategy has for a default.
	MaxPrediction int
	// Observer is told of the phases; nil: nobody is.
	Observer ecs.Observer
}

// Needs says what a strategy demands of a game.
type Needs struct {
	Motion bool // a component that says where things are and how fast
	Lerp   bool // a component that can be interpolated
	Exact  bool // the same result on every peer: floats need the same build everywhere
}
