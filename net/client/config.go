package client

import (
	"errors"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/systems"
)

// Config describes a client. Zero values stand for defaults where a field names one.
type Config struct {
	// Game is what is played. Required; the same as the server's.
	Game *ecs.Game
	// Strategies are those this client knows; the server chooses one by name. Required.
	Strategies []systems.Strategy
	// Dial opens a connection, or begins to: what is sent on it waits until it is there. token is the newest reconnect
	// token, nil for the first connection. An error counts as a failed attempt. Required.
	Dial func(token []byte) (session.Transport, error)
	// Name is shown to others, at most session.MaxName bytes.
	Name string
	// Attempts is how often in a row connecting again is tried before the client gives up; 0: 8, negative: never.
	Attempts int
	// InputDelay is in ticks, in [0, 30]; 0: what the server suggests.
	InputDelay int
	// MaxPrediction is the most ticks to predict; 0: the strategy's default.
	MaxPrediction int
	// Bot lets Game.Bot play instead of SetInput.
	Bot bool
	// BotSeed starts the bot's own random source.
	BotSeed uint64
	// Timeout ends a connection on which nothing was heard, in nanoseconds; 0: 10 s.
	Timeout systems.Time
	// Resume is a match to go on with, as a Log of a former process left it. nil: none. If the server does not know it any
	// more, a state comes from the server as always.
	Resume *Resume
	// Log is told of what is final; nil: nobody is.
	Log Log
	// Elapsed tells how long the running Frame has taken, so that catching up leaves time to draw; nil: catching up
	// computes a fixed number of ticks in each Frame.
	Elapsed func() systems.Time
	// Build and Target are told to the server if the game uses floats. Both empty: those of this program.
	Build, Target string
	// Chat receives the chat messages of the players. Optional.
	Chat func(session.ChatLine)
	// Notice is told what the server says to players, such as that it stops in so many seconds; nil: nobody is.
	Notice func(seconds int, text string)
	// Desynced is told what is known when a state that the server put right turns out to have differed. It is called on the
	// client's goroutine. nil: nobody is, and nothing is kept for it.
	Desynced func(Desync)
	// Observer is told of the phases and systems; nil: nobody is.
	Observer image.Observer
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
	if c.Attempts == 0 {
		c.Attempts = 8
	}
	if !c.Game.Schema().HasFloats() {
		c.Build, c.Target = "", ""
	} else if c.Build == "" && c.Target == "" {
		c.Build, c.Target = session.ThisBuild()
	}
	return c, nil
}
