package rules

import (
	"math/rand/v2"

	"tendon/ecs"
)

// scriptHold is for how many ticks a scripted player keeps walking and aiming the same way.
const scriptHold = 20

// script returns the input of a scripted player: always the same for a tick and player, and no matter what happens in
// the world. Runs that must be comparable between targets and builds are fed with it.
func script(tick ecs.Tick, p ecs.Player) ecs.InputBytes {
	var held, fresh rand.PCG
	held.Seed(uint64(tick)/scriptHold, uint64(p))
	fresh.Seed(uint64(tick), uint64(p)+maxPlayers)
	h, f := held.Uint64(), fresh.Uint64()
	in := Pad{
		X: int8(h), Y: int8(h >> 8),
		Fire:   h>>16&3 != 0,
		Rocket: f&15 == 0, Dash: f>>4&31 == 0, Jump: f>>9&31 == 0, Kit: f>>14&31 == 0,
	}
	return pad.Pack(in.WithPoint(metres(int(h>>24%uint64(level.Columns*squareSize)), int(h>>40%uint64(level.Rows*squareSize)))))
}
