//go:build race && moving

package ecs

import "flag"

const raceEnabled = true

// Random histories are a fifth as many: each takes ten times as long.
func init() {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
}
