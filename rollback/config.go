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
	// Depth is the number of ticks up to the furthest one whose states, inputs and orders are kept, rounded up to a power of
	// two. Each saved state costs the pages that changed since: see image.Image.PageBytes. If Policy saves every tick, only every
	// fourth state more than 32 ticks before Confirmed is kept. Oldest is then up to three ticks later. 0: twice MaxPrediction
	// plus the interval of a Sparse policy, at least 16.
	Depth int
	// History is the number of ticks whose inputs are kept, if that is more than twice Depth. It bounds how far ahead
	// of the oldest tick ticks are confirmed. A strategy also needs it whose messages are coded against older inputs.
	History int
	// Policy selects the ticks to save. The zero value saves every tick.
	Policy SavePolicy
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
	Saved       uint64 `json:"saved"`        // states saved
	Rewinds     uint64 `json:"rewinds"`      // calls of Rewind that went back
	DeepestTick uint64 `json:"deepest"`      // most ticks of one rewind
	WrongInputs uint64 `json:"wrong_inputs"` // confirmed inputs whose prediction was wrong
}

// ErrTooFar is returned for a tick outside the window of the logs, and for an order while too many wait.
var ErrTooFar = errors.New("rollback: tick lies outside the timeline's window")

var (
	errOrdersMissing = errors.New("rollback: not all orders of the tick have been added")
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
	if c.Effects != nil && c.Effects.rows.Depth() < c.Depth {
		return fmt.Errorf("rollback: Config.Effects hold %d ticks, want as many as the snapshots, %d", c.Effects.rows.Depth(), c.Depth)
	}
	return nil
}

// SavePolicy selects the ticks that a timeline saves. Every policy gives the same states. A policy trades the cost of
// saving against the length of resimulations. The zero value saves every tick: no rewind resimulates a tick that was right.
//
// Under every policy, every tick in [Oldest, Confirmed] can be reached: Rewind and Fork start from the newest saved tick
// before it. The present is saved before the last snapshot that a rewind could need leaves the ring. NetherRealm's engine
// rewinds there and saves the confirmed tick; saving the present costs no resimulation.
type SavePolicy struct {
	rare     bool     // not every tick, but always the newest confirmed one
	every    ecs.Tick // and each such tick; 0: none
	midpoint bool     // and the two others of Speculative
}

// Sparse saves each k-th tick, and confirmed ticks that are computed again. A rewind resimulates up to k−1 ticks that
// were right.
func Sparse(k int) SavePolicy { return SavePolicy{every: ecs.Tick(max(k, 1)), rare: true} }

// ConfirmedOnly saves the newest confirmed tick whenever a resimulation computes it. It saves least and resimulates most.
var ConfirmedOnly = SavePolicy{rare: true}

// Speculative saves in each resimulation the newest confirmed tick, the tick a third of the way to the present, and the
// present. It saves no predicted tick while no input was wrong. NetherRealm measured 30 % fewer resimulated ticks with
// such saves than with ConfirmedOnly ("8 Frames in 16ms", GDC 2018).
var Speculative = SavePolicy{rare: true, midpoint: true}

// wants reports whether to save tick f, which was just computed. received is the newest tick whose inputs are final.
// until is the last tick of a running resimulation, 0 if there is none.
func (p SavePolicy) wants(f, received, until ecs.Tick) bool {
	if !p.rare || f == received || p.every > 0 && f%p.every == 0 {
		return true
	}
	return p.midpoint && until > received && (f == received+(until-received)/3 || f == until)
}
