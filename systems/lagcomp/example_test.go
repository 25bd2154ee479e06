package lagcomp_test

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/lagcomp"
)

// A client says which tick it drew when its player shot. It is believed near what the server knows of its link, and never
// further back than the cap: here 250 ms, which is 15 ticks.
func ExampleJudge_View() {
	judge, err := lagcomp.NewJudge(lagcomp.Config{TickRate: 60})
	if err != nil {
		fmt.Println(err)
		return
	}
	const oneWay, delay = systems.Second / 20, systems.Second / 10 // 50 ms, and 100 ms of interpolation
	for _, declared := range []ecs.Tick{91, 99, 10} {
		view := judge.View(image.ViewStamp{Tick: declared}, 100, oneWay, delay)
		fmt.Println("drew tick", declared, "judged at", view.Tick)
	}
	fmt.Println("states to keep:", judge.Depth())
	// Output:
	// drew tick 91 judged at 91
	// drew tick 99 judged at 99
	// drew tick 10 judged at 91
	// states to keep: 17
}
