//go:build race

package ecs_test

import "flag"

// raceEnabled reports that the test runs with the race detector, which allocates.
const raceEnabled = true

// Random histories are a fifth as many: each takes ten times as long.
func init() {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
}
