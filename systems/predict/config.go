package predict

import (
	"cmp"
	"fmt"
	"math"

	"tendon/ecs/fixed"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/authority"
	"tendon/systems/interp"
)

// Config is the settings of the strategy. The handshake carries those of the server that a client needs. Where
// Unconditional, MaxSpeed and Smoothing of the server have their defaults, a client uses its own.
type Config struct {
	// SnapshotRate is the number of snapshots per second for a client, in [1, 1000], at most one a tick; 0: 20. Fewer show
	// remote entities later, by twice the time between two.
	SnapshotRate int
	// Interest is the radius in world units within which a client receives the entities of others, ≥ 0; 0: all of them.
	Interest fixed.Num
	// PairList finds near entities by a pair list instead of a grid: see interest.Config.
	PairList bool
	// MaxView is the limit of lag compensation: how far back the view of a player counts, at most 1 s; 0: 250 ms. Negative:
	// there is no lag compensation.
	MaxView systems.Time
	// History is the number of ticks of states that the server keeps, in [2, 4096], rounded up to a power of two; 0: 128. A
	// client that reconnects with an older state needs an image. The state of an image that is being sent is kept longer. Each
	// tick costs the pages that changed in it, and can be forked: see authority.Server.Fork.
	History int
	// Unconditional makes a client restore every snapshot and resimulate, after a misprediction or not.
	Unconditional bool
	// MaxSpeed is the largest speed of an entity, in world units per second, ≥ 0. An entity that was faster than twice of it
	// has teleported: no motion is shown in between. 0: no entity teleports.
	MaxSpeed fixed.Num
	// Smoothing is how corrections are shown.
	Smoothing interp.Smoothing
	// NoReconcile keeps a client's prediction after its player has entered, to demonstrate reconciliation. The client
	// diverges sooner or later.
	NoReconcile bool
	// NoPlayback shows remote entities as in the newest state received, to demonstrate interpolation.
	NoPlayback bool
}

// Strategy is prediction and reconciliation with the defaults.
var Strategy = New(Config{})

// New returns prediction and reconciliation with other settings. An invalid Config is an error of NewServer and NewClient.
func New(c Config) systems.Strategy {
	c, err := c.withDefaults()
	s := systems.Strategy{Name: "predict", Predicts: true, Hides: true, Needs: systems.Needs{Between: true}}
	s.NewServer = func(sc systems.ServerConfig) (systems.Server, error) { return nil, err }
	s.NewClient = func(cc systems.ClientConfig) (systems.Client, error) { return nil, err }
	if err == nil {
		s.Params = c.params()
		s.NewServer = func(sc systems.ServerConfig) (systems.Server, error) { return newServer(sc, c) }
		s.NewClient = func(cc systems.ClientConfig) (systems.Client, error) { return newClient(cc, c) }
	}
	return s
}

// The bounds of a Config.
const (
	maxRate = 1000
	maxView = systems.Second

	maxHistory = 4096
)

// paramUnconditional is the bit of the params that says Unconditional. The bits below it are Smoothing.
const paramUnconditional = 4

func (c Config) withDefaults() (Config, error) {
	c.SnapshotRate, c.History = cmp.Or(c.SnapshotRate, 20), cmp.Or(c.History, authority.DefaultHistory)
	c.MaxView = max(cmp.Or(c.MaxView, systems.Second/4), -1)
	switch {
	case c.SnapshotRate < 1 || c.SnapshotRate > maxRate:
		return c, fmt.Errorf("predict: Config.SnapshotRate is %d, want [1, %d]", c.SnapshotRate, maxRate)
	case c.History < 2 || c.History > maxHistory:
		return c, fmt.Errorf("predict: Config.History is %d, want [2, %d]", c.History, maxHistory)
	case c.Interest < 0:
		return c, fmt.Errorf("predict: Config.Interest is %v, want at least 0", c.Interest)
	case c.MaxSpeed < 0:
		return c, fmt.Errorf("predict: Config.MaxSpeed is %v, want at least 0", c.MaxSpeed)
	case c.Smoothing > interp.Jumping:
		return c, fmt.Errorf("predict: Config.Smoothing is %d, want 0 to %d", c.Smoothing, interp.Jumping)
	case c.MaxView > maxView:
		return c, fmt.Errorf("predict: Config.MaxView is %d ns, want at most %d", c.MaxView, maxView)
	}
	return c, nil
}

func (c *Config) params() []byte {
	w := wire.NewWriter(nil, 16)
	w.Uvarint(uint64(c.SnapshotRate))
	w.Bool(c.MaxView > 0)
	w.Bool(c.Interest > 0)
	options := uint8(c.Smoothing)
	if c.Unconditional {
		options |= paramUnconditional
	}
	if options != 0 || c.MaxSpeed > 0 {
		w.U8(options)
		w.Uvarint(uint64(c.MaxSpeed))
	}
	return w.Bytes()
}

func (c *Config) takeParams(params []byte) error {
	r := wire.NewReader(params)
	rate, views, bounded := r.Uvarint(), r.Bool(), r.Bool()
	var options uint8
	var speed uint64
	given := r.Len() > 0
	if given {
		options, speed = r.U8(), r.Uvarint()
	}
	if r.Close() != nil || rate < 1 || rate > maxRate || options >= 2*paramUnconditional || speed > math.MaxInt64 ||
		given && options == 0 && speed == 0 {
		return fmt.Errorf("predict: ClientConfig.Params %x are not of this strategy", params)
	}
	c.SnapshotRate = int(rate)
	if !views {
		c.MaxView = -1
	}
	c.Interest = 0
	if bounded {
		c.Interest = fixed.One // only the server needs the radius
	}
	if given {
		c.Smoothing, c.Unconditional = interp.Smoothing(options%paramUnconditional), options >= paramUnconditional
		c.MaxSpeed = fixed.Num(speed)
	}
	return nil
}
