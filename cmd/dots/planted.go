//go:build planted

package main

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// The exercise of rollback/DESYNCS.md: a rule that looks right and is not. With -tags planted it is part of the game.
func init() { game.Systems = append(game.Systems, ecs.Systems(tire)...) }

// held is for how many ticks each player has gone the same way.
var held [8]int32

// tire slows down whoever goes the same way for more than half a second.
func tire(w *ecs.World) {
	for e := range steered.All(w) {
		now, before := pad.Of(w, e.B.Player), pad.Last(w, e.B.Player)
		if now.DX != before.DX || now.DY != before.DY {
			held[e.B.Player] = 0
		}
		held[e.B.Player]++
		if held[e.B.Player] > 30 {
			e.A.Vel = e.A.Vel.Scale(fixed.FromRatio(9, 10))
		}
	}
}
