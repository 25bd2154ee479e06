package reckon

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/wire"
	"tendon/systems"
)

// Config is how the strategy is set up. What clients must know of the server's reaches them in the handshake; functions
// and the fields that concern what is shown are each program's own.
type Config struct {
	// StateRate is how many bodies of state a second a client is sent, in [1, 60]; 0: 5. They bring all that records do
	// not tell. What spawns, goes or cannot be taken back is told at once, whatever the rate.
	StateRate int
	// Interest is the radius in world units within which a client hears of what belongs to others, in [0, 2^29]; 0: it
	// hears of everything. What has no place is told to all. Of events, a client hears of those about what it hears of, about
	// nobody, and of those that cannot be taken back.
	Interest fixed.Num
	// History is how many ticks of states the server keeps, in [128, 4096], rounded up to a power of two; 0: 512. Whoever
	// holds an older one is sent an image, so it must cover a round trip and the way of an image, losses included.
	History int
	// Trusting makes the server believe clients whatever they say of their avatars, as the article has it. What it would
	// have refused is counted.
	Trusting bool
	// MaxSpeed is the fastest that an avatar moves, world units per second, in [0, 32768]; 0: Game.MoveLimit, and where
	// that is 0 too, avatars may move as they like.
	MaxSpeed fixed.Num
	// Allowance is by how much the delays of two records of an honest client may differ: see GuardConfig. 0: 2.5 s.
	Allowance systems.Time
	// Jump is how far the game's systems may move an avatar in a tick before that counts as the server's word, which the
	// client has to follow, world units, in [0, 10000]; 0: the way of half a second at MaxSpeed, at least 2. A respawn must
	// be farther away; a push out of a wall must not. A client whose own systems make such a jump waits for the server's,
	// unless clients may go where they like. Both sides must have the same.
	Jump fixed.Num
	// Assumed makes clients and server do without each other's clocks: every record counts as this old when it arrives,
	// in [0, 3 s]. What is predicted is then wrong by the speed times the difference to the real delay. 0: clocks are
	// exchanged.
	Assumed systems.Time
	// Records is when records leave, of clients' avatars and of everything that the server moves.
	Records SenderConfig
	// Ghosts is how others are shown. A Rules.Parent that is nil becomes a look at where the parent is.
	Remotes RemoteConfig
	// Mode says how an entity is to be continued: it may change the record's Mode, and what that needs. It is asked each
	// tick, on clients for their avatars, on the server for all else that moves. Nil: Ground.
	Mode func(w *ecs.World, r *Record)
	// Allow reports whether an avatar may be in a mode in which its place is not its own: see GuardConfig. Nil: it may not.
	Allow func(r Record) bool
}

// Strategy is dead reckoning as it is configured where nobody says otherwise.
var Strategy = New(Config{})

// New returns dead reckoning with settings of its own. A Config that is not valid is what making a half then fails with.
func New(c Config) systems.Strategy {
	s := systems.Strategy{Name: "reckon", Needs: systems.Needs{Motion: true},
		NewServer: func(sc systems.ServerConfig) (systems.Server, error) { return newServer(sc, c) },
		NewClient: func(cc systems.ClientConfig) (systems.Client, error) { return newClient(cc, c) },
	}
	if full, err := c.withDefaults(nil); err == nil {
		s.Params = full.params()
	}
	return s
}

// Check returns what making a half of the Config fails with, or nil.
func (c Config) Check() error {
	_, err := c.withDefaults(nil)
	return err
}

// The bounds of a Config.
const (
	maxStateRate = 60
	minHistory   = 128
	maxHistory   = 4096
	maxInterest  = fixed.One << 29
	maxJump      = 10_000 * fixed.One
	leastJump    = 2 * fixed.One
)

// withDefaults fills in zero values, those that follow from the game only if there is one.
func (c Config) withDefaults(g *ecs.Game) (Config, error) {
	if c.StateRate == 0 {
		c.StateRate = 5
	}
	if c.History == 0 {
		c.History = 512
	}
	if c.MaxSpeed == 0 && g != nil {
		c.MaxSpeed = g.MoveLimit
	}
	if c.Jump == 0 {
		c.Jump = max(leastJump, min(c.MaxSpeed, MaxVelocity)/2)
	}
	switch {
	case c.StateRate < 1 || c.StateRate > maxStateRate:
		return c, fmt.Errorf("reckon: Config.StateRate is %d, want [1, %d]", c.StateRate, maxStateRate)
	case c.Interest < 0 || c.Interest > maxInterest:
		return c, fmt.Errorf("reckon: Config.Interest is %v, want [0, %v]", c.Interest, maxInterest)
	case c.History < minHistory || c.History > maxHistory:
		return c, fmt.Errorf("reckon: Config.History is %d, want [%d, %d]", c.History, minHistory, maxHistory)
	case c.MaxSpeed < 0 || c.MaxSpeed > MaxVelocity:
		return c, fmt.Errorf("reckon: Config.MaxSpeed is %v, want [0, 32768]", c.MaxSpeed)
	case c.Jump < 0 || c.Jump > maxJump+MaxVelocity:
		return c, fmt.Errorf("reckon: Config.Jump is %v, want [0, 10000]", c.Jump)
	case c.Assumed < 0 || c.Assumed > oldAge:
		return c, fmt.Errorf("reckon: Config.Assumed is %d ns, want [0, 3 s]", c.Assumed)
	}
	if err := c.Remotes.validate(); err != nil {
		return c, err
	}
	if _, err := newSendPolicy(c.Records, nil); err != nil {
		return c, err
	}
	_, err := NewGuard(c.guard())
	return c, err
}

// guard is how avatars are doubted.
func (c *Config) guard() GuardConfig {
	g := GuardConfig{MaxSpeed: c.MaxSpeed, Allowance: c.Allowance, Trusting: c.Trusting, Allow: c.Allow}
	if c.MaxSpeed == 0 {
		g.MaxSpeed, g.Trusting = MaxVelocity, true
	}
	return g
}

// own is how a client treats what it hears of its own avatars.
func (c *Config) own() echoConfig {
	if c.MaxSpeed == 0 {
		return echoConfig{MaxSpeed: MaxVelocity}
	}
	return echoConfig{MaxSpeed: c.MaxSpeed}
}

// params returns what clients must know.
func (c *Config) params() []byte {
	w := wire.NewWriter(nil, 32)
	w.Uvarint(uint64(c.StateRate))
	w.Uvarint(uint64(c.Assumed / stampUnit))
	w.Bool(c.Trusting)
	w.Uvarint(uint64(steps(c.MaxSpeed, fullBits)))
	return w.Bytes()
}

// ConfigOf returns what a strategy's Params say of the Config that it was made with, for whoever tells a person of it.
func ConfigOf(params []byte) (c Config, err error) {
	err = c.takeParams(params)
	return c, err
}

// takeParams takes over what a server's params say.
func (c *Config) takeParams(params []byte) error {
	r := wire.NewReader(params)
	rate, assumed, trusting, speed := r.Uvarint(), r.Uvarint(), r.Bool(), r.Uvarint()
	if r.Close() != nil || rate < 1 || rate > maxStateRate || assumed > uint64(oldAge/stampUnit) || speed > uint64(steps(MaxVelocity, fullBits)) {
		return fmt.Errorf("reckon: ClientConfig.Params %x are not of this strategy", params)
	}
	c.StateRate, c.Assumed, c.Trusting = int(rate), systems.Time(assumed)*stampUnit, trusting
	if speed > 0 {
		c.MaxSpeed = unsteps(int64(speed), fullBits)
	}
	return nil
}

// doubts reports whether clients are believed only within limits.
func (c *Config) doubts() bool { return !c.Trusting && c.MaxSpeed > 0 }

// seats returns the component that says who steers an entity.
func seats(g *ecs.Game) (*ecs.Component[ecs.Seat], error) {
	for _, c := range g.Components {
		if seat, ok := c.(*ecs.Component[ecs.Seat]); ok {
			return seat, nil
		}
	}
	return nil, fmt.Errorf("reckon: game %q has no component of type ecs.Seat: clients have the authority over what it ties to them, so declare one and give it to avatars", g.Name)
}
