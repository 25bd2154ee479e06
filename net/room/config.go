package room

import (
	"cmp"
	"errors"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/systems"
)

// Config describes a room. Zero values select the defaults where a field names one.
type Config struct {
	Game      *ecs.Game        // the game. Required
	Seed      uint64           // starts the random source of the world
	Strategy  systems.Strategy // the sync strategy. Required
	Match     uint64           // identifies the match among all matches. 0: a client that reconnects cannot go on from its state
	MaxPeers  int              // the maximum number of connections, players and spectators; 0: Game.MaxPlayers + 16
	KeepSeat  systems.Time     // how long the seat of a lost connection is kept before its player leaves the match; 0: 5 s
	ImageRate int              // the budget of each peer for images, in bytes per second; 0: the default of net/session
	Timeout   systems.Time     // ends the session of a peer that sends nothing; 0: the default of net/session
	// MintToken returns a sealed reconnect token for a peer. Optional.
	MintToken func(p systems.Peer, id Identity, seat int, now systems.Time) []byte
	Sinks     []Sink         // receive what happens in the room, in this order
	Resume    *Resume        // a match to go on with, whose process has ended. Match should be its number. Optional
	Observer  image.Observer // receives the start and end of the phases and systems. Optional
}

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("room: bad Config")

func (c Config) withDefaults() (Config, error) {
	if c.Game == nil {
		return c, fmt.Errorf("%w: Game is nil", ErrConfig)
	}
	if err := c.Game.Check(); err != nil {
		return c, fmt.Errorf("%w: Game: %w", ErrConfig, err)
	}
	c.MaxPeers = cmp.Or(c.MaxPeers, c.Game.MaxPlayers+16)
	c.KeepSeat = cmp.Or(c.KeepSeat, 5*systems.Second)
	switch {
	case c.Strategy.NewServer == nil:
		return c, fmt.Errorf("%w: Strategy has no NewServer", ErrConfig)
	case len(c.Strategy.Params) > session.MaxParams:
		return c, fmt.Errorf("%w: Strategy.Params has %d bytes, want at most %d", ErrConfig, len(c.Strategy.Params), session.MaxParams)
	case c.MaxPeers < 1 || c.MaxPeers > 1<<15:
		return c, fmt.Errorf("%w: MaxPeers is %d, want 1 to %d", ErrConfig, c.MaxPeers, 1<<15)
	case c.KeepSeat < 0:
		return c, fmt.Errorf("%w: KeepSeat is %v, want more than 0", ErrConfig, c.KeepSeat)
	case c.Resume != nil && (c.Resume.World == nil || c.Resume.World.Game() != c.Game):
		return c, fmt.Errorf("%w: Resume.World is nil or of another game than Game", ErrConfig)
	}
	if err := c.Strategy.Check(c.Game); err != nil {
		return c, fmt.Errorf("%w: Strategy: %w", ErrConfig, err)
	}
	return c, nil
}
