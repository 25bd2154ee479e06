package room_test

import (
	"fmt"

	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/relay"
)

// A room's time is an argument: a second of match takes as long as it takes to compute.
func Example() {
	r, err := room.New(room.Config{Game: halves.Dots(), Seed: 1, Strategy: relay.Strategy}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for now := systems.Time(0); now <= systems.Second; now += systems.Second / 100 {
		r.Frame(now)
	}
	s := r.Stats()
	fmt.Println("tick", s.Tick, "peers", s.Peers, "late", s.Late)
	// Output:
	// tick 60 peers 0 late 0
}
