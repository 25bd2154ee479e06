package lab

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/net/simnet"
	"tendon/systems"
)

// Config describes a measurement of each strategy on each profile. Zero values stand for defaults where a field names one.
type Config struct {
	Game       *ecs.Game          // is played; required
	Strategies []systems.Strategy // are measured in this order; required
	Profiles   []simnet.Profile   // on which each strategy is measured, in this order; required
	Players    int                // number of clients, in [1, Game.MaxPlayers]; 0: 4, or Game.MaxPlayers if that is less
	For        time.Duration      // virtual time that is measured, in [1 s, 1 h]; 0: 60 s
	Settle     time.Duration      // virtual time before that, from when all clients are live; 0: 5 s, negative: none
	Seed       uint64             // of the networks, the worlds and the script
	// Bots lets Game.Bot play on each client's own world, instead of a script. The strategies' effect on players is then
	// part of the comparison, and the inputs of two matches differ.
	Bots bool
	// Snap is the jump that counts as a snap, in world units; 0: 2. A step of the server that deviates from the velocity by
	// five times as much is a teleport.
	Snap   float64
	Judged bool                 // refuse a Config for which the gates do not hold: see Unjudged
	Jobs   int                  // matches that are played in parallel; 0: 1. Costs in real time are most exact with 1
	Clock  func() time.Duration // real time since any fixed moment; nil: costs are 0
	// Progress receives the share of the work that is done, in [0, 1], one call at a time. The Run ends early if it returns
	// false. Optional.
	Progress func(done float64) bool
	Finished func(Result) // receives each result, one call at a time; optional

	script script // instead of a recorded one
}

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("lab: bad Config")

// ErrStopped is returned when Config.Progress returned false.
var ErrStopped = errors.New("lab: stopped before the end")

const (
	usualPlayers = 4
	usualSnap    = 2.0
	usualCap     = 250 * time.Millisecond // up to which age a view counts in Shots.InCap: the default limit of lag compensation
)

func (c Config) withDefaults() (Config, error) {
	if c.Game == nil {
		return c, fmt.Errorf("%w: Game is nil", ErrConfig)
	}
	if err := c.Game.Check(); err != nil {
		return c, fmt.Errorf("%w: Game: %w", ErrConfig, err)
	}
	c.Players = cmp.Or(c.Players, min(usualPlayers, c.Game.MaxPlayers))
	c.For, c.Settle = cmp.Or(c.For, time.Minute), max(cmp.Or(c.Settle, 5*time.Second), 0)
	c.Snap, c.Jobs = cmp.Or(c.Snap, usualSnap), cmp.Or(c.Jobs, 1)
	switch {
	case len(c.Strategies) == 0 || len(c.Profiles) == 0:
		return c, fmt.Errorf("%w: Strategies or Profiles is empty: there is nothing to measure", ErrConfig)
	case !(c.Snap > 0):
		return c, fmt.Errorf("%w: Snap is %v world units, want more than 0", ErrConfig, c.Snap)
	case c.Bots && c.Game.Bot == nil:
		return c, fmt.Errorf("%w: Bots is set and Game.Bot is nil", ErrConfig)
	}
	if err := cmp.Or(within("Players", c.Players, 1, c.Game.MaxPlayers), within("For", c.For, time.Second, time.Hour),
		within("Settle", c.Settle, 0, time.Hour), within("Jobs", c.Jobs, 1, 64)); err != nil {
		return c, err
	}
	if c.Clock == nil {
		c.Clock = func() time.Duration { return 0 }
	}
	for i := range c.Strategies {
		if s := &c.Strategies[i]; s.NewServer == nil || s.NewClient == nil {
			return c, fmt.Errorf("%w: Strategies[%d] (%q) does not make both halves", ErrConfig, i, s.Name)
		}
	}
	for i := range c.Profiles {
		if err := c.Profiles[i].Validate(); err != nil {
			return c, fmt.Errorf("%w: Profiles[%d]: %w", ErrConfig, i, err)
		}
	}
	return c, nil
}

// within returns an error if a field is below low or above high.
func within[T cmp.Ordered](field string, value, low, high T) error {
	if value >= low && value <= high {
		return nil
	}
	return fmt.Errorf("%w: %s is %v, want %v to %v", ErrConfig, field, value, low, high)
}
