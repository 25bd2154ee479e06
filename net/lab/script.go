package lab

import (
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Script is what players do in each tick, whatever happens in the world: matches that play by the same script differ by
// their strategy and their network alone. It repeats when it is over.
type Script struct {
	players int
	inputs  []ecs.InputBytes // of all players of the first tick, then of the second
}

// NewScript returns a script of so many ticks; input says what each player does in each of them, the first being 1.
func NewScript(players, ticks int, input func(f ecs.Tick, p ecs.Player) ecs.InputBytes) *Script {
	s := &Script{players: players}
	for f := range ticks {
		for p := range players {
			s.inputs = append(s.inputs, input(ecs.Tick(f+1), ecs.Player(p)))
		}
	}
	return s
}

// At returns what a player does in a tick.
func (s *Script) At(f ecs.Tick, p ecs.Player) (in ecs.InputBytes) {
	ticks := len(s.inputs) / max(s.players, 1)
	if ticks == 0 || int(p) >= s.players || f == 0 {
		return in
	}
	return s.inputs[int((f-1)%ecs.Tick(ticks))*s.players+int(p)]
}

const (
	scriptTime = time.Minute // of what Record makes
	// noiseHeld is for how many ticks the players of a game without bots do the same thing.
	noiseHeld = 20
)

// Record returns what the game's bots do among themselves in a minute without any network, or if the game has none,
// anything that a program could do, held for a third of a second at 60 ticks a second.
func Record(g *ecs.Game, players int, seed uint64) (*Script, error) {
	ticks := int(scriptTime/time.Second) * g.TickRate
	if g.Bot == nil {
		return noise(g, players, ticks, seed), nil
	}
	w, err := ecs.NewWorld(g, seed)
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	dice := make([]*ecs.Rand, players)
	now := make([]ecs.InputBytes, g.MaxPlayers)
	var orders []image.Order
	for p := range dice {
		dice[p] = image.NewRand(seed<<8 + uint64(p))
		orders = append(orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(p)})
	}
	w.Step(ecs.TickInputs{Players: now, Orders: orders})
	return NewScript(players, ticks, func(_ ecs.Tick, p ecs.Player) ecs.InputBytes {
		if p == 0 {
			for p := range dice {
				now[p] = g.Bot(w, ecs.Player(p), dice[p])
			}
			w.Step(ecs.TickInputs{Players: now})
		}
		return now[p]
	}), nil
}

func noise(g *ecs.Game, players, ticks int, seed uint64) *Script {
	dice := image.NewRand(seed)
	held := make([]ecs.InputBytes, players)
	return NewScript(players, ticks, func(f ecs.Tick, p ecs.Player) ecs.InputBytes {
		if f%noiseHeld == ecs.Tick(p)%noiseHeld { // not all at once
			for i := range g.Input.Size() {
				held[p][i] = byte(dice.Uint64())
			}
			held[p] = g.Input.Clean(held[p])
		}
		return held[p]
	})
}
