package predict

import (
	"fmt"

	"tendon/ecs/fixed"
	"tendon/net/wire"
	"tendon/systems"
)

// Config is how the strategy is set up. What clients must know of the server's reaches them in the handshake; the
// fields that concern what is shown are each client's own.
type Config struct {
	// SnapshotRate is how many snapshots a second a client is sent, in [1, 1000]; 0: 20. Above the game's tick rate it is
	// one a tick. Fewer cost less, and show others later by twice the time between two.
	SnapshotRate int
	// Interest is the radius in world units within which a client hears of what belongs to others, ≥ 0; 0: it hears of
	// everything.
	Interest fixed.Num
	// History is how many ticks of states the server keeps, in [128, 4096], rounded up to a power of two; 0: 256. Whoever
	// holds an older one is sent an image, so it must cover a round trip, the losses on it, and the way of an image.
	History int
	// MaxView is how far back a player's view is believed when his input is judged; 0: 250 ms, negative: all is judged
	// as it is on the server. At most 1 s.
	MaxView systems.Time
	// Unconditional makes a client take over every snapshot and compute the ticks since again, whether or not it was
	// right: the simpler mode, which costs the worst case every time.
	Unconditional bool
	// MaxSpeed is the largest speed of an entity, in world units per second, ≥ 0: one that was faster than twice of it has
	// teleported, and nothing is shown between. 0: everything travelled.
	MaxSpeed fixed.Num
	// Unit is how many world units make a metre, ≥ 0; 0: 1. Corrections of more than two metres jump, smaller ones fade:
	// a game in pixels says how many its figures are high for each metre.
	Unit fixed.Num
	// NoBlend shows corrections at once instead of blending them in.
	NoBlend bool
	// Projective leads others whom a client has shown wrong onto their way by projective velocity blending instead of
	// letting an offset fade: for games of vehicles, which would be seen to slide sideways.
	Projective bool
	// NoReconcile leaves what a client predicted as it is from when its player has entered, whatever the server says: to
	// show what reconciliation is for. A client that plays with it goes its own way sooner or later.
	NoReconcile bool
	// NoPlayback shows the others as they are in the newest state that came, instead of between two states a short while
	// ago: to show what interpolation is for.
	NoPlayback bool
}

// Strategy is prediction and reconciliation as it is configured where nobody says otherwise.
var Strategy = New(Config{})

// New returns prediction and reconciliation with settings of its own. A Config that is not valid is what making a half
// then fails with.
func New(c Config) systems.Strategy {
	s := systems.Strategy{Name: "predict", Predicts: true, Needs: systems.Needs{Between: true},
		NewServer: func(sc systems.ServerConfig) (systems.Server, error) { return newServer(sc, c) },
		NewClient: func(cc systems.ClientConfig) (systems.Client, error) { return newClient(cc, c) },
	}
	if full, err := c.withDefaults(); err == nil {
		s.Params = full.params()
	}
	return s
}

// Check returns what making a half of the Config fails with, or nil.
func (c Config) Check() error {
	_, err := c.withDefaults()
	return err
}

// The bounds of a Config.
const (
	maxRate    = 1000
	minHistory = 128
	maxHistory = 4096
	maxView    = systems.Second
)

func (c Config) withDefaults() (Config, error) {
	if c.SnapshotRate == 0 {
		c.SnapshotRate = 20
	}
	if c.History == 0 {
		c.History = 256
	}
	if c.MaxView == 0 {
		c.MaxView = systems.Second / 4
	}
	c.MaxView = max(c.MaxView, -1)
	switch {
	case c.SnapshotRate < 1 || c.SnapshotRate > maxRate:
		return c, fmt.Errorf("predict: Config.SnapshotRate is %d, want [1, %d]", c.SnapshotRate, maxRate)
	case c.Interest < 0:
		return c, fmt.Errorf("predict: Config.Interest is %v, want at least 0", c.Interest)
	case c.Unit < 0:
		return c, fmt.Errorf("predict: Config.Unit is %v, want at least 0", c.Unit)
	case c.MaxSpeed < 0:
		return c, fmt.Errorf("predict: Config.MaxSpeed is %v, want at least 0", c.MaxSpeed)
	case c.History < minHistory || c.History > maxHistory:
		return c, fmt.Errorf("predict: Config.History is %d, want [%d, %d]", c.History, minHistory, maxHistory)
	case c.MaxView > maxView:
		return c, fmt.Errorf("predict: Config.MaxView is %d ns, want at most %d", c.MaxView, maxView)
	}
	return c, nil
}

// params returns what clients must know.
func (c *Config) params() []byte {
	w := wire.NewWriter(nil, 8)
	w.Uvarint(uint64(c.SnapshotRate))
	w.Bool(c.MaxView > 0)
	w.Bool(c.Interest > 0)
	return w.Bytes()
}

// ConfigOf returns what a strategy's Params say of the Config that it was made with, for whoever tells a person of it: an Interest that is
// bounded is 1, whatever it was.
func ConfigOf(params []byte) (c Config, err error) {
	err = c.takeParams(params)
	return c, err
}

// takeParams takes over what a server's params say.
func (c *Config) takeParams(params []byte) error {
	r := wire.NewReader(params)
	rate, views, bounded := r.Uvarint(), r.Bool(), r.Bool()
	if r.Close() != nil || rate < 1 || rate > maxRate {
		return fmt.Errorf("predict: ClientConfig.Params %x are not of this strategy", params)
	}
	if c.SnapshotRate = int(rate); !views {
		c.MaxView = -1
	}
	if c.Interest = 0; bounded {
		c.Interest = fixed.One // by how much is the server's alone
	}
	return nil
}
