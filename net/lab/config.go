package lab

import (
	"errors"
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/net/simnet"
	"tendon/systems"
)

// Config says what is measured: each of the strategies on each of the profiles. Zero values stand for defaults where a
// field names one.
type Config struct {
	// Game is what is played. Required.
	Game *ecs.Game
	// Strategies are measured in this order. Required.
	Strategies []systems.Strategy
	// Profiles are the networks that each is measured on, in this order. Required.
	Profiles []simnet.Profile
	// Players is how many clients play, in [1, Game.MaxPlayers]; 0: 4, or as many as the game takes.
	Players int
	// For is how long is measured, in virtual time, in [1 s, 1 h]; 0: 60 s.
	For time.Duration
	// Settle is how long the match goes on before that, from when all clients are in it; 0: 5 s, negative: not at all.
	Settle time.Duration
	// Seed starts the networks, the worlds and the script.
	Seed uint64
	// Script is what the players do; nil: Record, with the game's bots.
	Script *Script
	// Bots lets Game.Bot play on what each client knows, instead of a script. What strategies do to players becomes part
	// of the comparison then, and no two matches are the same.
	Bots bool
	// Snap is the jump that counts as a snap, in world units; 0: 2.
	Snap float64
	// Teleport is by how much a step in the server's states must exceed what the velocity says to be a teleport, after
	// which nothing is said of where the entity is shown for some seconds, in world units; 0: five times Snap.
	Teleport float64
	// Cap is how old a view may be, when the server uses what was done at it, for a shot to count as one whose hit was to be
	// the shooter's; 0: 250 ms, which is how far back strategies with lag compensation look where nobody says otherwise.
	Cap time.Duration
	// Judged refuses a Config that the gates do not hold for: see Unjudged.
	Judged bool
	// Jobs is how many matches are played side by side; 0: 1. Costs in real time mean less with more.
	Jobs int
	// Clock tells real time since any moment, for the costs; nil: none are measured.
	Clock func() time.Duration
	// Progress is told how much of the work is done, in [0, 1], one call at a time; nil: nobody is.
	Progress func(done float64)
	// Stop is asked now and then, from several goroutines, whether to end early; nil: never.
	Stop func() bool
	// Finished is told of each match that was measured, one call at a time; nil: nobody is.
	Finished func(Result)
}

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("lab: bad Config")

// ErrStopped is returned when Config.Stop said so.
var ErrStopped = errors.New("lab: stopped before the end")

const (
	usualPlayers = 4
	usualTime    = time.Minute
	usualSettle  = 5 * time.Second
	usualSnap    = 2.0
	usualCap     = 250 * time.Millisecond
	// usualTeleport is a teleport by the snap.
	usualTeleport = 5
	mostJobs      = 64
)

func (c Config) withDefaults() (Config, error) {
	if c.Game == nil {
		return c, fmt.Errorf("%w: Game is nil", ErrConfig)
	}
	if err := c.Game.Check(); err != nil {
		return c, fmt.Errorf("%w: Game: %w", ErrConfig, err)
	}
	if c.Players == 0 {
		c.Players = min(usualPlayers, c.Game.MaxPlayers)
	}
	if c.For == 0 {
		c.For = usualTime
	}
	switch {
	case c.Settle == 0:
		c.Settle = usualSettle
	case c.Settle < 0:
		c.Settle = 0
	}
	if c.Snap == 0 {
		c.Snap = usualSnap
	}
	if c.Teleport == 0 {
		c.Teleport = usualTeleport * c.Snap
	}
	if c.Cap == 0 {
		c.Cap = usualCap
	}
	if c.Jobs == 0 {
		c.Jobs = 1
	}
	switch {
	case len(c.Strategies) == 0:
		return c, fmt.Errorf("%w: Strategies is empty: there is nothing to measure", ErrConfig)
	case len(c.Profiles) == 0:
		return c, fmt.Errorf("%w: Profiles is empty: there is nothing to measure on", ErrConfig)
	case c.Players < 1 || c.Players > c.Game.MaxPlayers:
		return c, fmt.Errorf("%w: Players is %d, want 1 to %d", ErrConfig, c.Players, c.Game.MaxPlayers)
	case c.For < time.Second || c.For > time.Hour:
		return c, fmt.Errorf("%w: For is %v, want 1s to 1h", ErrConfig, c.For)
	case c.Settle > time.Hour:
		return c, fmt.Errorf("%w: Settle is %v, want at most 1h", ErrConfig, c.Settle)
	case !(c.Snap > 0):
		return c, fmt.Errorf("%w: Snap is %v world units, want more than 0", ErrConfig, c.Snap)
	case !(c.Teleport > 0):
		return c, fmt.Errorf("%w: Teleport is %v world units, want more than 0", ErrConfig, c.Teleport)
	case c.Cap < 0:
		return c, fmt.Errorf("%w: Cap is %v, want at least 0", ErrConfig, c.Cap)
	case c.Jobs < 1 || c.Jobs > mostJobs:
		return c, fmt.Errorf("%w: Jobs is %d, want 1 to %d", ErrConfig, c.Jobs, mostJobs)
	case c.Bots && c.Game.Bot == nil:
		return c, fmt.Errorf("%w: Bots is set and Game.Bot is nil", ErrConfig)
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
