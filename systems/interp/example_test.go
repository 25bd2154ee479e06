package interp_test

import (
	"fmt"

	"tendon/ecs"
	"tendon/systems/interp"
)

// Between two samples an entity follows the curve of their positions and velocities. After the last it is extrapolated.
func ExampleRemote() {
	ship := interp.NewRemote(interp.RemoteConfig{TickRate: 60})
	for tick, x := range []float64{0, 1, 2} { // every sixth tick, ten units a second
		motion := interp.Motion{Pos: interp.Vec{X: x}, Vel: interp.Vec{X: 10}}
		ship.Put(interp.Sample{Tick: 6 * ecs.Tick(tick), Motion: motion, Flags: interp.HasVelocity}, 0)
	}
	for _, playing := range []float64{3, 9, 14} {
		at, _ := ship.Motion(playing)
		fmt.Printf("tick %.0f: %.2f\n", playing, at.Pos.X)
	}
	// Output:
	// tick 3: 0.50
	// tick 9: 1.50
	// tick 14: 2.33
}
