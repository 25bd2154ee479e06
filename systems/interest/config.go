package interest

import (
	"fmt"

	"tendon/ecs/fixed"
)

// Config describes relevance sets.
type Config struct {
	// Radius is R in world units, in (0, MaxRadius]. A marker enters a watcher's set at a distance of R or less and leaves
	// it beyond 1.25·R. Required.
	Radius fixed.Num
	// Rate is the number of Updates per second, in [1, MaxRate]. A marker leaves after Rate Updates outside. Required.
	Rate int
	// Backend finds the pairs that come near. Backends differ in cost only. The zero value is Grid.
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
	// Grid searches the nine cells of size R around each watcher. Its cost does not depend on how fast markers move.
	Grid Backend = iota
	// Pairs is Cloud Wu's pair list. It compares a marker or watcher that moved by R/2 or more with all others, and in
	// every Update the pairs that might come near without such a move. It is the faster one while markers move slowly.
	// It stores every pair within 2R, in 16 bytes.
	Pairs
	backends
)

// String returns the backend's name.
func (b Backend) String() string {
	if b >= backends {
		return fmt.Sprintf("Backend(%d)", uint8(b))
	}
	return [backends]string{"grid", "pairs"}[b]
}

// ConfigError names the field of a Config that is invalid, with the reason.
type ConfigError struct{ Field, Reason string }

// Error returns the field and the reason.
func (e *ConfigError) Error() string { return "interest: " + e.Field + " " + e.Reason }

func (c Config) validate() error {
	switch {
	case c.Radius <= 0 || c.Radius > MaxRadius:
		return &ConfigError{"Radius", fmt.Sprintf("is %v, must be in (0, %v]", c.Radius, fixed.Num(MaxRadius))}
	case c.Rate < 1 || c.Rate > MaxRate:
		return &ConfigError{"Rate", fmt.Sprintf("is %d, must be in [1, %d]", c.Rate, MaxRate)}
	case c.Backend >= backends:
		return &ConfigError{"Backend", fmt.Sprintf("is %d, must be Grid or Pairs", c.Backend)}
	}
	return nil
}
