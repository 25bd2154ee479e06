package lagcomp

import (
	"errors"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// Config says how far a shot may reach into the past. Times are nanoseconds.
type Config struct {
	TickRate int // of the game, per second, in [1, 1000]; required
	// Cap is the farthest that a view may lie behind the tick that uses it, at most 1 s and image.MaxViewTicks; 0: 250 ms.
	// More is kinder to slow links, and kills more people who have long been behind cover.
	Cap systems.Time
	// Tolerance is the largest difference between a declared view and the server's estimate, at most 1 s; 0 means 200 ms. A
	// view beyond it is replaced by the estimate.
	Tolerance systems.Time
	// MinDelay and MaxDelay bound the interpolation delay that a client declares, in the estimate, in [0, 1 s]; MaxDelay
	// 0: 500 ms.
	MinDelay, MaxDelay systems.Time
	// Past returns older states, as passed to World.SetPast. A view beyond the oldest held state is moved to that state, so
	// that a replay with more states judges the same. Optional: without it, all states of Cap are held.
	Past func(ecs.Tick) (*image.Snapshot, bool)
}

// The defaults. Sources: Overwatch and Battlefield 4 cap at 250 ms, Source replaces views that are 200 ms off.
const (
	defaultCap       = 250 * systems.Second / 1000
	defaultTolerance = 200 * systems.Second / 1000
	defaultMaxDelay  = 500 * systems.Second / 1000
)

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("lagcomp: bad Config")

// complete fills in the defaults and reports what is out of bounds.
func (c *Config) complete() error {
	if c.TickRate < 1 || c.TickRate > 1000 {
		return fmt.Errorf("%w: TickRate is %d, not in [1, 1000]", ErrConfig, c.TickRate)
	}
	for _, f := range []struct {
		name  string
		value *systems.Time
		zero  systems.Time
	}{
		{"Cap", &c.Cap, defaultCap}, {"Tolerance", &c.Tolerance, defaultTolerance},
		{"MinDelay", &c.MinDelay, 0}, {"MaxDelay", &c.MaxDelay, defaultMaxDelay},
	} {
		if *f.value == 0 {
			*f.value = f.zero
		}
		if *f.value < 0 || *f.value > systems.Second {
			return fmt.Errorf("%w: %s is %d ns, not in [0, 1e9]", ErrConfig, f.name, *f.value)
		}
	}
	if c.MinDelay > c.MaxDelay {
		return fmt.Errorf("%w: MinDelay is %d ns, more than MaxDelay, %d", ErrConfig, c.MinDelay, c.MaxDelay)
	}
	return nil
}
