package bench

import (
	"fmt"
	"testing"

	"tendon/bench/internal/measure"
	"tendon/ecs"
)

// roles are the functions of the processes that benchmarks start. Other processes are started on Unix only.
var roles map[string]func()

func TestMain(m *testing.M) { measure.Main(m, "core", "README.md", roles) }

// newWorld returns a world of a valid game.
func newWorld(g *ecs.Game) *ecs.World { return measure.Must(ecs.NewWorld(g, 1)) }

// sizes are the numbers of entities that rows are measured with.
var sizes = []int{10_000, 100_000}

// thousands formats one of sizes.
func thousands(n int) string { return fmt.Sprintf("%dk", n/1000) }
