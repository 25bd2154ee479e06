package lab

import (
	"fmt"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
)

// script is the players' inputs of each tick, independent of the world. Matches with the same script differ only by their
// strategy and their network. It repeats from its end.
type script [][]ecs.InputBytes // from tick 1, by player

// at returns a player's input of a tick, the zero input in tick 0 and for players without a script.
func (s script) at(f ecs.Tick, p ecs.Player) (in ecs.InputBytes) {
	if f == 0 || int(p) >= len(s[0]) {
		return in
	}
	return s[int((f-1)%ecs.Tick(len(s)))][p]
}

const (
	scriptTime = time.Minute // of a recorded script
	// noiseHeld is the number of ticks for which random inputs are held.
	noiseHeld = 20
)

// record returns the inputs of the game's bots in a minute without a network. For a game without bots it returns random
// inputs, each held for noiseHeld ticks.
func record(g *ecs.Game, players int, seed uint64) (script, error) {
	s, now := make(script, int(scriptTime/time.Second)*g.TickRate), make([]ecs.InputBytes, g.MaxPlayers)
	w, err := ecs.NewWorld(g, seed)
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	noise, random := image.NewRand(seed), make([]*ecs.Rand, players)
	var orders []image.Order
	for p := range random {
		random[p] = image.NewRand(seed<<8 + uint64(p))
		orders = append(orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(p)})
	}
	w.Step(ecs.TickInputs{Players: now, Orders: orders})
	orders = orders[:0]
	given := ecs.NewOrderQueue(g)
	for f := range s {
		for p := range random {
			switch {
			case g.Bot != nil:
				now[p] = g.Think(w, ecs.Player(p), random[p], given)
				given.Drain(func(target ecs.Entity, payload []byte) {
					orders = append(orders, image.Order{Kind: image.OrderGame, Player: ecs.Player(p), Entity: target, Payload: payload})
				})
			case (f+1)%noiseHeld == p%noiseHeld: // players change in different ticks
				for i := range g.Input.Size() {
					now[p][i] = byte(noise.Uint64())
				}
				now[p] = g.Input.Clean(now[p])
			}
		}
		if g.Bot != nil {
			w.Step(ecs.TickInputs{Players: now, Orders: orders})
			orders = orders[:0]
		}
		s[f] = slices.Clone(now[:players])
	}
	return s, nil
}
