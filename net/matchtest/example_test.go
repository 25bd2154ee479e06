package matchtest_test

import (
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/net/matchtest"
	"tendon/net/simnet"
	"tendon/systems/relay"
)

// A match of one's own: who joins when, over which network, and what goes wrong in it. Here a client's copy is changed
// behind its back; it is found out, and put right.
func Example() {
	m, err := matchtest.New(matchtest.Config{Game: matchtest.Dots(), Strategy: relay.Strategy, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	typical, _ := simnet.ByName("P3")
	sound, wrong := m.Join(matchtest.Plan{Profile: typical}), m.Join(matchtest.Plan{Profile: typical, At: time.Second})
	m.Run(3 * time.Second)
	wrong.Fault(wrong.Core.World().Tick(), func(w *ecs.World) { w.Rand().Uint64() })
	m.Run(5 * time.Second)
	fmt.Println("sound:", sound.Live(), sound.Mismatches)
	fmt.Println("wrong:", wrong.Live(), wrong.Mismatches > 0, "put right", wrong.Core.Stats().Resyncs)
	// Output:
	// sound: true 0
	// wrong: true true put right 1
}
