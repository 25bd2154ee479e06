package client

import (
	"cmp"
	"errors"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/systems"
)

// Config describes a client. Zero values select the defaults where a field names one.
type Config struct {
	Game       *ecs.Game          // the game. Required; it must be the same as on the server
	Strategies []systems.Strategy // the sync strategies of this client; the server selects one by name. Required
	// Dial opens a connection, or begins to: messages sent meanwhile are queued. An error counts as a failed attempt; one
	// that wraps ErrToken ends the client. Required.
	Dial         func() (session.Transport, error)
	ReceiveToken func(token []byte) // receives the reconnect tokens; each is valid during the call. Optional
	// ReceiveEndpoints receives the servers' addresses for browsers, encoded by web.AppendEndpoints, before the tokens for these servers. A list
	// has at most session.MaxEndpointBytes, and is valid during the call. Optional.
	ReceiveEndpoints func(list []byte)
	Name             string                         // shown to other players, at most session.MaxName bytes
	GiveUp           systems.Time                   // how long the client tries to connect again; 0: as long as Dial has a token, negative: never
	InputDelay       int                            // the number of ticks between an input and its effect, in [0, 30]; 0: as the server suggests
	MaxPrediction    int                            // the most ticks to predict; 0: the default of the strategy
	Bot              bool                           // has Game.Bot play instead of SetInput
	BotSeed          uint64                         // starts the random source of the bot
	Timeout          systems.Time                   // ends a connection on which nothing arrives; 0: 10 s
	Resume           *Resume                        // a match to continue, from the Log of an earlier process. Optional
	Log              Log                            // stores the final ticks for a later process. Optional
	Chat             func(session.ChatLine)         // receives the chat messages of the players. Optional
	Notice           func(seconds int, text string) // receives texts of the server, with the seconds until it stops, or 0. Optional
	// Refused receives the refusals of the player's orders, with the server's reason or an error of Core.Order. Optional.
	Refused  func(Refusal)
	Switched func(strategy string) // receives the name when the strategy changes in the running match. Optional
	Desynced func(Desync)          // receives the differences that a resync finds. Without it nothing is kept for it. Optional
	Observer image.Observer        // receives the start and end of the phases and systems. Optional

	elapsed func() systems.Time // how long the running Frame has taken, so that catching up leaves time to draw; may be nil
}

// Refusal is an order of the player that was refused.
type Refusal struct {
	Number uint64 // as Core.Order returned it; of an order from a queue, 0 if it was not sent
	Order  string // the name of its type, "" for none
	Reason string
}

// String returns a sentence for the player.
func (r Refusal) String() string {
	return fmt.Sprintf("the order %q was refused: %s", r.Order, r.Reason)
}

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("client: bad Config")

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Game == nil:
		return c, fmt.Errorf("%w: Game is nil", ErrConfig)
	case len(c.Strategies) == 0:
		return c, fmt.Errorf("%w: Strategies is empty: list at least the server's", ErrConfig)
	case c.Dial == nil:
		return c, fmt.Errorf("%w: Dial is nil: the client has no way to connect", ErrConfig)
	case c.InputDelay < 0 || c.InputDelay > session.MaxDelay:
		return c, fmt.Errorf("%w: InputDelay is %d, want 0 to %d ticks", ErrConfig, c.InputDelay, session.MaxDelay)
	case c.MaxPrediction < 0:
		return c, fmt.Errorf("%w: MaxPrediction is %d, want 0 or more ticks", ErrConfig, c.MaxPrediction)
	case c.Timeout < 0:
		return c, fmt.Errorf("%w: Timeout is %v, want 0 or more", ErrConfig, c.Timeout)
	case c.Resume != nil && (c.Resume.World == nil || c.Resume.World.Game() != c.Game):
		return c, fmt.Errorf("%w: Resume.World is nil or of another game than Game", ErrConfig)
	case len(c.Name) > session.MaxName:
		return c, fmt.Errorf("%w: Name is %d bytes, want at most %d", ErrConfig, len(c.Name), session.MaxName)
	}
	if err := c.Game.Check(); err != nil {
		return c, fmt.Errorf("%w: Game: %w", ErrConfig, err)
	}
	if c.Bot && c.Game.Bot == nil {
		return c, fmt.Errorf("%w: Bot is set and Game.Bot is nil", ErrConfig)
	}
	c.Timeout = cmp.Or(c.Timeout, session.ClientTimeout)
	return c, nil
}
