package rollback

import (
	"errors"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Config describes a timeline.
type Config struct {
	// World is the world to run. Its state, of tick World.Tick(), is taken as confirmed. Required.
	World *ecs.World
	// MaxPrediction is the most ticks that may be predicted: Present − Confirmed. Required, at least 1.
	MaxPrediction int
	// Depth is the number of ticks that the snapshots and the logs hold, rounded up to a power of two. The ticks beyond
	// MaxPrediction bound how rarely ConfirmedOnly and Speculative save, and how far confirmations may run ahead of
	// the present. 0: twice MaxPrediction plus the interval of a Sparse policy, at least 16.
	Depth int
	// History is the number of ticks whose inputs are kept, if that is more than Depth. A strategy needs it whose
	// messages are coded against inputs that are older than any snapshot.
	History int
	// Policy selects the ticks to save. The zero value saves every tick.
	Policy SavePolicy
	// CheckEvery is the interval in ticks of snapshots that are saved whatever the policy, so that their checksum can
	// be compared. 0: none.
	CheckEvery int
	// Local is the player whose inputs SetLocal sets, −1 for none: on a spectator or a server.
	Local int
	// Effects receives the events of every tick. Optional. It must have at least the depth of the snapshots.
	Effects *Effects
	// Confirmed is called for every tick that Confirm accepts. Its slices are valid during the call. Optional.
	Confirmed func(FinalTick)
	// Observer receives the start and end of rewinds and resimulations. It does not receive the sections of the world,
	// which has an observer of its own. Optional.
	Observer image.Observer
}

// Stats counts events since a timeline was made.
type Stats struct {
	Steps       uint64 `json:"-"`            // ticks computed for the first time
	Resimulated uint64 `json:"resimulated"`  // ticks computed again
	Rewinds     uint64 `json:"rewinds"`      // calls of Rewind that went back
	DeepestTick uint64 `json:"deepest"`      // most ticks of one rewind
	WrongInputs uint64 `json:"wrong_inputs"` // confirmed inputs whose prediction was wrong
}

// ErrTooFar is returned for a tick outside the window of the logs, and for an order while too many wait.
var ErrTooFar = errors.New("rollback: tick lies outside the timeline's window")

var (
	errOrdersMissing = errors.New("rollback: orders of the tick are not all here")
	errGap           = errors.New("rollback: confirmed tick does not follow the last one")
)

// check replaces zero fields by their defaults and returns an error for the first field that is wrong.
func (c *Config) check() error {
	if c.World == nil {
		return errors.New("rollback: Config.World is nil")
	}
	if c.MaxPrediction < 1 {
		return fmt.Errorf("rollback: Config.MaxPrediction is %d, want at least 1", c.MaxPrediction)
	}
	interval := int(max(c.Policy.every, 1))
	if c.Depth == 0 {
		c.Depth = max(16, 2*c.MaxPrediction+interval)
	}
	if least := c.MaxPrediction + 1 + interval; c.Depth < least {
		return fmt.Errorf("rollback: Config.Depth is %d, want at least MaxPrediction + 1 plus the saving interval = %d", c.Depth, least)
	}
	c.Depth = powerOfTwo(c.Depth)
	if players := c.World.Game().MaxPlayers; c.Local >= players {
		return fmt.Errorf("rollback: Config.Local is %d in a game of %d players", c.Local, players)
	}
	if c.CheckEvery < 0 {
		return fmt.Errorf("rollback: Config.CheckEvery is %d, want 0 or more", c.CheckEvery)
	}
	if c.Effects != nil && c.Effects.rows.Depth() < c.Depth {
		return fmt.Errorf("rollback: Config.Effects hold %d ticks, want as many as the snapshots, %d", c.Effects.rows.Depth(), c.Depth)
	}
	return nil
}
