package cli

import (
	"tendon/cmd/cli/backend/queue"
	"tendon/ecs"
	"tendon/net/lab"
)

// Program is a game with its command line.
type Program struct {
	Game ecs.Game
	// Gates are the bounds that the verb lab compares the game with. Default: lab.Gates.
	Gates []lab.Gate
	// Match decides which waiting players play together, in the verb backend. Default: queue.Fill.
	Match queue.Match
}

// Main runs the command line of a game and exits: see Program.Run. The gates are Program.Gates.
func Main(game ecs.Game, gates ...lab.Gate) { Program{Game: game, Gates: gates}.Run() }
