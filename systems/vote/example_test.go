package vote_test

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/vote"
)

// Three agree and one does not.
func ExampleBallot() {
	ballot := vote.NewBallot(vote.Config{})
	const all, now = image.PlayerSet(0b1111), systems.Time(0)
	ballot.Open(all, now)
	for p, result := range []string{"7", "7", "8", "7"} {
		ballot.Cast(ecs.Player(p), vote.Result{End: 3600, Value: result}, now)
		fmt.Println("closed:", ballot.Step(now, 0) == vote.Closed)
	}
	v, _ := ballot.Verdict()
	fmt.Println(v.Result.Value, v.How)
	for p := range v.Dissented.All() {
		fmt.Println("player", p, "claims another result")
	}
	// Output:
	// closed: false
	// closed: false
	// closed: false
	// closed: true
	// 7 disputed
	// player 2 claims another result
}

// Two players claim different states; the server computes the tick and passes the true checksum.
func ExampleHashes() {
	hashes := vote.NewHashes()
	hashes.Open(60, image.PlayerSet(0b11))
	hashes.Cast(0, 60, 0xABCD)
	hashes.Cast(1, 60, 0x1234)
	hashes.Contested(func(tick ecs.Tick) {
		fmt.Println("replay up to tick", tick)
		hashes.Truth(tick, 0x1234)
	})
	hashes.Blamed(func(p ecs.Player, tick ecs.Tick, strikes int) {
		fmt.Println("player", p, "was wrong at tick", tick, "- strike", strikes, "of", vote.MaxStrikes)
	})
	// Output:
	// replay up to tick 60
	// player 0 was wrong at tick 60 - strike 1 of 3
}
