// Command arena is the example game of Tendon, a top-down shooter for 2 to 16 players. It has rifles, rockets, dashes, jumps,
// moving doors and med kits, all in fixed-point numbers.
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
