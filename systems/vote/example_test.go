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
	ballot, err := vote.NewBallot(vote.Config{})
	if err != nil {
		panic(err)
	}
	const everybody, now = image.PlayerSet(0b1111), systems.Time(0)
	ballot.Open(everybody, everybody, now)
	for p, digest := range []uint64{7, 7, 8, 7} {
		if err := ballot.Cast(ecs.Player(p), vote.Result{End: 3600, Digest: digest}, now); err != nil {
			fmt.Println(err)
		}
		fmt.Println(ballot.Step(now))
	}
	v, _ := ballot.Verdict()
	fmt.Println(v.Result.Digest, "by", v.How)
	for p := range v.Dissented.All() {
		fmt.Println("player", p, "said something else")
	}
	// Output:
	// voting
	// voting
	// voting
	// closed
	// 7 by majority
	// player 2 said something else
}

// Two players claim different states; the server computes the tick and passes the true checksum.
func ExampleHashes() {
	hashes, err := vote.NewHashes(vote.HashesConfig{})
	if err != nil {
		panic(err)
	}
	const both, now = image.PlayerSet(0b11), systems.Time(0)
	hashes.Open(60, both, now)
	hashes.Cast(0, 60, 0xABCD, now)
	hashes.Cast(1, 60, 0x1234, now)
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
