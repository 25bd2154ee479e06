package verify

import (
	"fmt"

	"tendon/net/wire"
	"tendon/systems"
)

// Config is how strict and how patient the strategy is. What clients must know of it reaches them in the handshake.
type Config struct {
	// Timeout is how long a client waits for the answer to a command before it gives the command up and says so; 0: 3 s.
	// At least 1 ms.
	Timeout systems.Time
	// MaxOutstanding is the most commands of a player that are not answered, in [1, 64]; 0: 32. Beyond it, orders are
	// refused where they are given, and changes of the input wait and are merged.
	MaxOutstanding int
	// InputsPerTick is how many changes of a player's input the server takes per tick on average, in [1, 1000]; 0: 2.
	// What is beyond is rejected, and the client states its input again.
	InputsPerTick int
	// InputBurst is how many changes of a player's input it takes at once, in [1, 1000]; 0: 32.
	InputBurst int
	// OrdersPerSecond is how many orders of a player the server takes per second on average, in [1, 1000]; 0: 1. What is
	// beyond is rejected.
	OrdersPerSecond int
	// OrderBurst is how many orders of a player it takes at once, in [1, 1000]; 0: 5.
	OrderBurst int
	// History is how many ticks of states the server keeps, in [2, 4096], rounded up to a power of two; 0: 512. Whoever
	// holds an older one is sent an image, so it must cover two round trips, one for the image and one for the first state
	// after it, and the losses on them. Each tick costs the pages that changed in it.
	History int
	// Reliable sends everything on the reliable channel, and everything once. A lost packet then holds up what is
	// behind it, so it is for connections that have nothing else; on long and lossy ones it wants more History.
	Reliable bool
}

// Strategy is verify sync as it is configured where nobody says otherwise.
var Strategy = New(Config{})

// New returns verify sync with limits of its own. A Config that is not valid is what making a half then fails with.
func New(c Config) systems.Strategy {
	s := systems.Strategy{Name: "verify",
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

func (c *Config) settings() [6]setting {
	return [...]setting{
		{"MaxOutstanding", &c.MaxOutstanding, 1, maxOutstanding, 32},
		{"InputsPerTick", &c.InputsPerTick, 1, 1000, 2},
		{"InputBurst", &c.InputBurst, 1, 1000, 32},
		{"OrdersPerSecond", &c.OrdersPerSecond, 1, 1000, 1},
		{"OrderBurst", &c.OrderBurst, 1, 1000, 5},
		{"History", &c.History, 2, maxHistory, 512},
	}
}

// millisecond is the unit of times in Params.
const millisecond = systems.Second / 1000

// maxTimeout bounds Config.Timeout.
const maxTimeout = 3600 * systems.Second

func (c Config) withDefaults() (Config, error) {
	if c.Timeout == 0 {
		c.Timeout = 3 * systems.Second
	}
	if c.Timeout < millisecond || c.Timeout > maxTimeout {
		return c, fmt.Errorf("verify: Config.Timeout is %d ns, want [%d, %d]", c.Timeout, millisecond, maxTimeout)
	}
	for _, s := range c.settings() {
		if *s.value == 0 {
			*s.value = s.blank
		}
		if *s.value < s.least || *s.value > s.most {
			return c, fmt.Errorf("verify: Config.%s is %d, want [%d, %d]", s.name, *s.value, s.least, s.most)
		}
	}
	return c, nil
}

// params returns what clients must know.
func (c *Config) params() []byte {
	w := wire.NewWriter(nil, 32)
	w.Bool(c.Reliable)
	w.Uvarint(uint64(c.MaxOutstanding))
	w.Uvarint(uint64(c.Timeout / millisecond))
	return w.Bytes()
}

// takeParams takes over what a server's params say.
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
