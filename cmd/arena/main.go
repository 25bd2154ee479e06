// Command arena is a top-down shooter for 2 to 16 players, the example game of Tendon: rifles, rockets, dashes,
// jumps, moving doors and med kits, in fixed-point numbers throughout.
//
//	go run ./cmd/arena demo --for 20s
//	go run ./cmd/arena play
//
// Its rules are in the package rules; everything else is cli.Main.
package main

import (
	"tendon/cmd/arena/rules"
	"tendon/cmd/cli"
)

func main() { cli.Main(*rules.Game()) }
