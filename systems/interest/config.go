package interest

import (
	"fmt"

	"tendon/ecs/fixed"
)

// Config says how far watchers hear, and how that is found out.
type Config struct {
	// Radius is R in world units, in (0, MaxRadius]: a marker enters a watcher's set at a distance of R or less and
	// leaves it beyond 1.25·R. There is no default.
	Radius fixed.Num
	// Rate is the number of Updates per second, in [1, MaxRate]: a marker that is outside leaves after Rate Updates.
	// There is no default.
	Rate int
	// Backend finds the pairs that come near. The zero value is Grid. Only the cost differs, never the sets.
	Backend Backend
}

// Bounds of a Config.
const (
	MaxRadius = fixed.One << 29 // twice the radius squared still fits 128 bits in three dimensions
	MaxRate   = 1000
)

// MaxID bounds the ids of watchers and markers, which index slices.
const MaxID = 1<<24 - 1

// Backend is a way to find the pairs of a watcher and a marker that come near.
type Backend uint8

// The backends.
const (
	// Grid looks into the nine cells of size R around each watcher. It costs the same however fast things move, and is
	// the best choice when many of them do.
	Grid Backend = iota
	// Pairs is Cloud Wu's pair list: what moved by R/2 or more is compared with everything, and pairs that might come
	// near before that are compared in every Update. It is the best choice when little moves. It remembers every pair
	// within 2R, in 16 bytes.
	Pairs
	// Brute compares every pair in every Update. It is the oracle of the other two.
	Brute
	backends
)

// String returns the backend's name.
func (b Backend) String() string {
	if b >= backends {
		return fmt.Sprintf("Backend(%d)", uint8(b))
	}
	return [backends]string{"grid", "pairs", "brute"}[b]
}

// ConfigError names the field of a Config that cannot be used, and why.
type ConfigError struct{ Field, Reason string }

// Error names the field, and says what is wrong.
func (e *ConfigError) Error() string { return "interest: " + e.Field + " " + e.Reason }

func (c Config) validate() error {
	switch {
	case c.Radius <= 0 || c.Radius > MaxRadius:
		return &ConfigError{"Radius", fmt.Sprintf("is %v, must be in (0, %v]", c.Radius, fixed.Num(MaxRadius))}
	case c.Rate < 1 || c.Rate > MaxRate:
		return &ConfigError{"Rate", fmt.Sprintf("is %d, must be in [1, %d]", c.Rate, MaxRate)}
	case c.Backend >= backends:
		return &ConfigError{"Backend", fmt.Sprintf("is %d, must be Grid, Pairs or Brute", c.Backend)}
	}
	return nil
}
