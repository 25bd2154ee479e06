package rollback

import (
	"errors"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Config describes a timeline.
type Config struct {
	// World is the world to run; it is in the state of tick World.Tick(), which is taken as confirmed. Required.
	World *ecs.World
	// MaxPrediction is the most ticks that may be predicted, Present − Confirmed. Required, ≥ 1.
	MaxPrediction int
	// Depth is how many ticks the ring and the logs hold, rounded up to a power of two; 0: twice MaxPrediction plus the
	// interval of a Sparse policy, at least 16. What exceeds MaxPrediction is how rarely ConfirmedOnly and Speculative
	// may save, and how far confirmations may run ahead of the present.
	Depth int
	// History is how many ticks of inputs are kept, if that is more than Depth: for a strategy whose messages are coded
	// against inputs that are older than any state.
	History int
	// Policy says which ticks are saved. The zero value is EveryTick.
	Policy SavePolicy
	// CheckEvery is the interval in ticks of states that are saved whatever the policy, so that their checksum can be
	// compared; 0: none.
	CheckEvery int
	// Local is the player whose inputs this peer gives, or −1 for none: a spectator, or a server.
	Local int
	// Effects is told of every tick's events; nil: nobody is. It must be as deep as the ring.
	Effects *Effects
	// Confirmed is told of every tick that Confirm took, with its orders; nil: nobody is. The slices are valid during
	// the call.
	Confirmed func(f ecs.Tick, inputs []ecs.InputBytes, late ecs.PlayerSet, orders []image.Order)
	// Observer is told of rewinds and resimulations; of what the world does, the one that World.SetObserver was given. nil:
	// nobody is.
	Observer image.Observer
}

// Stats counts what a timeline did since it was made.
type Stats struct {
	Steps       uint64 // ticks computed for the first time
	Resimulated uint64 // ticks computed again
	Rewinds     uint64 // calls of Rewind that went back
	DeepestTick uint64 // most ticks one rewind went back
	WrongInputs uint64 // confirmed inputs that had been predicted otherwise
	RightInputs uint64 // confirmed inputs that had been predicted right
	Saves       uint64
	Stalls      uint64 // Step calls refused at the prediction limit
}

// Errors of a timeline.
var (
	// ErrStalled is returned by Step at the prediction limit. Confirm more, then go on.
	ErrStalled = errors.New("rollback: prediction limit reached")
	// ErrGap is returned by Confirm for a tick that does not follow the last confirmed one.
	ErrGap = errors.New("rollback: confirmed tick does not follow the last one")
	// ErrOrdersMissing is returned by Confirm while orders of the tick have not arrived.
	ErrOrdersMissing = errors.New("rollback: orders of the tick are not all here")
	// ErrTooFar is returned for a tick outside the window of the logs, and for an order beyond the most that wait.
	ErrTooFar = errors.New("rollback: tick lies outside the timeline's window")
	// ErrConfig is wrapped by every error of New.
	ErrConfig = errors.New("rollback: bad Config")
)

// check fills in what is zero and reports the first field that is wrong.
func (c *Config) check() error {
	if c.World == nil {
		return fmt.Errorf("%w: World is nil", ErrConfig)
	}
	if c.MaxPrediction < 1 {
		return fmt.Errorf("%w: MaxPrediction is %d, want at least 1", ErrConfig, c.MaxPrediction)
	}
	interval := int(max(c.Policy.every, 1))
	if c.Depth == 0 {
		c.Depth = max(16, 2*c.MaxPrediction+interval)
	}
	if least := c.MaxPrediction + 1 + interval; c.Depth < least {
		return fmt.Errorf("%w: Depth is %d, want at least MaxPrediction + 1 plus the saving interval = %d", ErrConfig, c.Depth, least)
	}
	if players := c.World.Game().MaxPlayers; c.Local >= players {
		return fmt.Errorf("%w: Local is %d in a game of %d players", ErrConfig, c.Local, players)
	}
	if c.CheckEvery < 0 {
		return fmt.Errorf("%w: CheckEvery is %d, want 0 or more", ErrConfig, c.CheckEvery)
	}
	if c.Effects != nil && c.Effects.rows.Depth() < powerOfTwo(c.Depth) {
		return fmt.Errorf("%w: Effects hold %d ticks, want as many as the ring, %d", ErrConfig, c.Effects.rows.Depth(), powerOfTwo(c.Depth))
	}
	return nil
}
