package rules

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

var nextTeam = NextTeam.Pack(Game(), struct{}{})

// teamed is a duel of two players with the data of their cards.
func teamed(t *testing.T, cards ...string) *arena {
	a := newArena(t, 0, 1)
	a.in, a.dice = make([]ecs.InputBytes, len(cards)), []*ecs.Rand{image.NewRand(7)}
	var orders []image.Order
	for p, data := range cards {
		orders = append(orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(p), Payload: image.AppendCard(nil, image.Card{Data: []byte(data)})})
	}
	a.step(orders...)
	a.put(0, roomX, roomY)
	a.put(1, "9", roomY)
	return a
}

// Players of one team do not hurt each other with rifles and rockets. All others do.
func TestATeamDoesNotHurtItself(t *testing.T) {
	for _, c := range []struct {
		cards [2]string
		hurts bool
	}{{[2]string{"red", "red"}, false}, {[2]string{"blue", "blue"}, false}, {[2]string{"red", "blue"}, true}, {[2]string{"red", ""}, true},
		{[2]string{"", ""}, true}, {[2]string{"green", "green"}, true}} {
		a := teamed(t, c.cards[:]...)
		a.hold(0, Pad{Fire: true, Rocket: true}.WithPoint(point("9", roomY)))
		a.run(40)
		if a.happened.shots == 0 || a.happened.explosions == 0 || (a.health(1).HP < fullHP) != c.hurts {
			t.Errorf("%q: %+v, health %d", c.cards, a.happened, a.health(1).HP)
		}
	}
}

// Bots do not shoot at their own team.
func TestBotsSpareTheirTeam(t *testing.T) {
	for second, want := range map[string]bool{"red": false, "blue": true} {
		a := teamed(t, "red", second)
		for range 60 {
			a.in[0] = a.w.Game().Bot(a.w, 0, a.dice[0])
			a.step()
		}
		if (a.happened.shots > 0) != want {
			t.Errorf("red against %s: %d shots", second, a.happened.shots)
		}
	}
}

// A player changes the team in the break or while out of play, and not in a fight.
func TestATeamIsChangedOutsideOfAFight(t *testing.T) {
	a := teamed(t, "", "")
	team := func() Team { return teams.Read(a.w).Of[0] }
	change := func() { a.step(image.Order{Player: 0, Payload: nextTeam}) }
	if change(); team() != NoTeam || len(a.w.Refusals()) != 1 {
		t.Errorf("a living player changed to team %d", team())
	}
	a.step(image.Order{Player: 0, Payload: surrendering})
	for _, want := range []Team{Red, Blue, NoTeam, Red} {
		if change(); team() != want {
			t.Errorf("team %d, want %d", team(), want)
		}
	}
	a.run(respawnTicks)
	if change(); team() != Red {
		t.Errorf("after the respawn: team %d", team())
	}
	for clock.Read(a.w).Playing {
		a.step()
	}
	if change(); team() != Blue {
		t.Errorf("in the break: team %d", team())
	}
}
