package main

import (
	"testing"

	"tendon/ecs/race"
	"tendon/net/matchtest"
	"tendon/systems/predict"
	"tendon/systems/relay"
)

// The port is deterministic, and all copies of it stay equal over a bad network.
func TestBunnymark(t *testing.T) {
	if !race.Long {
		t.Skip("it moves thousands of bunnies")
	}
	matchtest.SyncTest(t, &game)
	matchtest.Match(t, &game, "P3", relay.Strategy, predict.Strategy)
}
