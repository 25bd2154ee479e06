package reckon

import (
	"testing"

	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/motion"
)

const (
	ms  = systems.Second / 1000
	sec = systems.Second
)

func num(s string) fixed.Num { return fixed.MustParse(s) }

func vec(x, y, z string) fixed.Vec3 { return fixed.Vec3{X: num(x), Y: num(y), Z: num(z)} }

func configured(t testing.TB, c motion.RemoteConfig) *motion.RemoteConfig {
	t.Helper()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return &c
}

// top is the speed of an avatar, in world units per second.
const top = 5

// guard returns a guard of entities with the top speed.
func guard() *motion.Guard { return motion.NewGuard(motion.GuardConfig{MaxSpeed: top * fixed.One}) }
