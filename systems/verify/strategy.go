package verify

import (
	"cmp"
	"fmt"

	"tendon/net/wire"
	"tendon/systems"
)

// Config is the limits of the strategy. The handshake carries those that a client needs of the server's.
type Config struct {
	// Timeout is the time without an answer after which a client drops a command, in nanoseconds, at least 1 ms; 0: 3 s.
	Timeout systems.Time
	// MaxOutstanding is the most commands of a player without an answer, in [1, 64]; 0: 32. Beyond it, orders are refused,
	// and changes of the input wait and are merged.
	MaxOutstanding int
	// InputsPerTick is the mean number of changes of a player's input that the server accepts per tick, in [1, 1000]; 0: 2.
	// It rejects the others, and the client sends its input again.
	InputsPerTick int
	// History is the maximum number of ticks whose states the server keeps, in [2, 4096], rounded up to a power of two; 0: 512.
	// Within it, the server keeps the states of the last two seconds, and those since the oldest state that a client has
	// acknowledged. The states of images and of States that are being sent are kept longer. A client that reconnects with an
	// older state needs an image. Each tick costs the pages that changed in it, and can be forked: see authority.Server.Fork.
	History int
	// Reliable sends everything once, on the reliable channel, for connections without another one. A lost packet then
	// delays those behind it; on long and lossy connections it needs more History.
	Reliable bool
}

// Strategy is verify sync with the defaults.
var Strategy = New(Config{})

// New returns verify sync with other limits. An invalid Config is an error of NewServer and NewClient.
func New(c Config) systems.Strategy {
	s := systems.Strategy{Name: "verify", Hides: true,
		NewServer: func(sc systems.ServerConfig) (systems.Server, error) { return newServer(sc, c) },
		NewClient: func(cc systems.ClientConfig) (systems.Client, error) { return newClient(cc, c) },
	}
	if full, err := c.withDefaults(); err == nil {
		s.Params = full.params()
	}
	return s
}

// setting is a number of a Config.
type setting struct {
	name               string
	value              *int
	least, most, blank int
}

func (c *Config) settings() [3]setting {
	return [...]setting{
		{"MaxOutstanding", &c.MaxOutstanding, 1, maxOutstanding, 32},
		{"InputsPerTick", &c.InputsPerTick, 1, 1000, 2},
		{"History", &c.History, 2, maxHistory, 512},
	}
}

const (
	millisecond = systems.Second / 1000 // unit of times in Params
	maxTimeout  = 3600 * systems.Second
)

func (c Config) withDefaults() (Config, error) {
	c.Timeout = cmp.Or(c.Timeout, 3*systems.Second)
	if c.Timeout < millisecond || c.Timeout > maxTimeout {
		return c, fmt.Errorf("verify: Config.Timeout is %d ns, want [%d, %d]", c.Timeout, millisecond, maxTimeout)
	}
	for _, s := range c.settings() {
		*s.value = cmp.Or(*s.value, s.blank)
		if *s.value < s.least || *s.value > s.most {
			return c, fmt.Errorf("verify: Config.%s is %d, want [%d, %d]", s.name, *s.value, s.least, s.most)
		}
	}
	return c, nil
}

func (c *Config) params() []byte {
	w := wire.NewWriter(nil, 32)
	w.Bool(c.Reliable)
	w.Uvarint(uint64(c.MaxOutstanding))
	w.Uvarint(uint64(c.Timeout / millisecond))
	return w.Bytes()
}

func (c *Config) takeParams(params []byte) error {
	r := wire.NewReader(params)
	c.Reliable = r.Bool()
	outstanding, timeout := r.Uvarint(), r.Uvarint()
	if r.Close() != nil || outstanding < 1 || outstanding > maxOutstanding || timeout < 1 || timeout > uint64(maxTimeout/millisecond) {
		return fmt.Errorf("verify: ClientConfig.Params %x are not of this strategy", params)
	}
	c.MaxOutstanding, c.Timeout = int(outstanding), systems.Time(timeout)*millisecond
	return nil
}
