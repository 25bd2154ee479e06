//go:build planted

package main

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// This file is the exercise of rollback/DESYNCS.md: a rule with a hidden error. The build tag planted adds it to the game.
func init() { game.Systems = append(game.Systems, ecs.Systems(tire)...) }

// held counts the ticks for which each player has moved in the same direction.
var held [8]int32

// tire slows down a player who moves in the same direction for more than half a second.
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
