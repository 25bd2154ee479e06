package rules

import (
	"testing"

	"tendon/ecs"
)

// arena is a match driven by bots or by the script, and what happened in it.
type arena struct {
	t        testing.TB
	w        *ecs.World
	dice     []*ecs.Rand
	in       []ecs.InputBytes
	happened tallies
}

type tallies struct{ shots, hits, explosions, pickups, deaths, kills, points, results, respawns int }

func newArena(t testing.TB, players int, seed uint64) *arena {
	w, err := ecs.NewWorld(Game(), seed)
	if err != nil {
		t.Fatal(err)
	}
	a := &arena{t: t, w: w, in: make([]ecs.InputBytes, players)}
	var joins []ecs.Order
	for p := range players {
		a.dice = append(a.dice, ecs.NewRand(seed*100+uint64(p)))
		joins = append(joins, ecs.Order{Kind: ecs.OrderJoin, Player: ecs.Player(p)})
	}
	w.Step(ecs.TickInputs{Orders: joins})
	return a
}

func (a *arena) botTick() {
	for p := range a.in {
		a.in[p] = a.w.Game().Bot(a.w, ecs.Player(p), a.dice[p])
	}
	a.w.Step(ecs.TickInputs{Players: a.in})
	a.count()
}

func (a *arena) count() {
	g := a.w.Game()
	for _, e := range a.w.Events() {
		if _, ok := Shots.Decode(g, e); ok {
			a.happened.shots++
		}
		if _, ok := Hits.Decode(g, e); ok {
			a.happened.hits++
		}
		if _, ok := Explosions.Decode(g, e); ok {
			a.happened.explosions++
		}
		if _, ok := Pickups.Decode(g, e); ok {
			a.happened.pickups++
		}
		if d, ok := Deaths.Decode(g, e); ok {
			a.happened.deaths++
			if d.Killer != d.Victim {
				a.happened.kills++
			}
		}
		if _, ok := Points.Decode(g, e); ok {
			a.happened.points++
		}
		if _, ok := Results.Decode(g, e); ok {
			a.happened.results++
		}
	}
}

func TestTry(t *testing.T) {
	for _, n := range []int{2, 4, 8, 16} {
		for seed := range uint64(3) {
			a := newArena(t, n, seed)
			for range 3600 {
				a.botTick()
			}
			t.Logf("%d %+v", n, a.happened)
			if err := a.w.CheckDerived(); err != nil {
				t.Error(err)
			}
		}
	}
}
