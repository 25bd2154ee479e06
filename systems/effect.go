package systems

import (
	"iter"

	"tendon/ecs"
	"tendon/rollback"
)

// Effect is news of an event for a view: see rollback.Effect.
type Effect = rollback.Effect

// Strategy makes the two halves. Its name is what --sync takes.
type Strategy struct {
	// Name is the strategy's name on the command line and in the handshake.
	Name string
	// Params are what a client's half must know of how the server's was made: at most 256 bytes, handed to every client
	// in its Welcome. nil: nothing.
	Params []byte
	// Predicts says that clients run ahead of what is final. Where they compute all of it (Needs.Exact), a match in which
	// nobody was ever corrected proves nothing.
	Predicts bool
	// Needs says what the strategy demands of a game: see Check.
	Needs Needs
	// NewServer returns the server's half for a world in State(0).
	NewServer func(ServerConfig) (Server, error)
	// NewClient returns a client's half for a world whose state will be loaded.
	NewClient func(ClientConfig) (Client, error)
}

// ServerConfig is what every server half is made of.
type ServerConfig struct {
	// World is the match, in the state that it begins or goes on with. Required.
	World *ecs.World
	// Peers is the most peers that will be open at once. Required, ≥ 1.
	Peers int
	// Observer is told of the phases; nil: nobody is.
	Observer ecs.Observer
	// Past yields what is known of the ticks up to World's, oldest first and without a gap, so that a peer that holds
	// the state of one of them can be served; nil: nothing. Only Tick, Inputs and Orders of each are there.
	Past iter.Seq[FinalTick]
	// Taken is told of every tick that is final, with what it was computed from, before any peer hears of it; nil:
	// nobody is. This is where recordings and journals hang. The slices are valid during the call.
	Taken func(FinalTick)
	// States says that Taken needs the state of every tick. Otherwise FinalTick.State is nil in most ticks, which
	// saves saving it.
	States bool
	// Decided is told of every match that has a result, nil: nobody is. The slices are valid during the call.
	Decided func(Decision)
}

// FinalTick is one tick as it will stay.
type FinalTick struct {
	Tick   ecs.Tick
	Inputs []ecs.InputBytes
	Late   ecs.PlayerSet // whose input was substituted
	Orders []ecs.Order
	World  *ecs.World    // in the tick's state, or an earlier one: see Server.World. nil on a client
	State  *ecs.Snapshot // nil where it was not saved: see ServerConfig.States
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
	// Params are the Strategy's of the server. nil: those of this program's.
	Params []byte
	// Taken is told of every tick, in turn and once, when what entered it is final here; nil: nobody is. World and State
	// are nil. The slices are valid during the call.
	Taken func(FinalTick)
	// Elapsed tells how long the running Frame has taken, so that catching up leaves time to draw; nil: catching up
	// computes a fixed number of ticks in each Frame.
	Elapsed func() Time
	// Observer is told of the phases; nil: nobody is.
	Observer ecs.Observer
}
