package systems_test

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

type spot struct{ Pos, Vel fixed.Vec3 }

// spotGame returns a game with one component that has these roles.
func spotGame(roles ecs.Roles[spot]) *ecs.Game {
	return &ecs.Game{Name: "spots", TickRate: 60, MaxPlayers: 2, Input: ecs.NewInput[uint8](),
		Components: ecs.Components(ecs.NewComponent[ecs.Seat]("seat"), ecs.NewComponent("spot", roles))}
}

// With a strategy that does not suit the game, entities would jump. The error says what to do.
func TestAStrategyRefusesAGameThatLacksARoleAndNamesIt(t *testing.T) {
	lerp := func(_, b spot, _ float64) spot { return b }
	motion := func(s *spot) ecs.Motion { return ecs.Motion{Pos: s.Pos, Vel: s.Vel} }
	set := func(s *spot, m ecs.Motion) { *s = spot{m.Pos, m.Vel} }
	const elseChoose = ", or choose another strategy"
	const (
		noLerp = `predict: no component of the game "spots" has a Lerp role: give one to the component that holds positions, or Motion and SetMotion` + elseChoose
		noMove = `reckon: no component of the game "spots" has a Motion role: give one to the component that holds positions, with Roles.Motion and SetMotion` + elseChoose
		noSet  = `reckon: no component of the game "spots" has a SetMotion role: give one to the component that has a Motion role` + elseChoose
	)
	for _, test := range []struct {
		has     string
		roles   ecs.Roles[spot]
		refused map[string]string // by strategies
	}{
		{"no role", ecs.Roles[spot]{}, map[string]string{"predict": noLerp, "reckon": noMove}},
		{"Lerp", ecs.Roles[spot]{Lerp: lerp}, map[string]string{"reckon": noMove}},
		{"Motion", ecs.Roles[spot]{Motion: motion}, map[string]string{"predict": noLerp, "reckon": noSet}},
		{"Lerp, Motion", ecs.Roles[spot]{Lerp: lerp, Motion: motion}, map[string]string{"reckon": noSet}},
		{"Motion, SetMotion", ecs.Roles[spot]{Motion: motion, SetMotion: set}, nil},
		{"all three", ecs.Roles[spot]{Lerp: lerp, Motion: motion, SetMotion: set}, nil},
	} {
		g := spotGame(test.roles)
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, reckon.Strategy, verify.Strategy} {
			text, err := "", s.Check(g)
			if err != nil {
				text = err.Error()
			}
			if text != test.refused[s.Name] {
				t.Errorf("%s and a game with %s: %q, want %q", s.Name, test.has, text, test.refused[s.Name])
			}
		}
	}
}
