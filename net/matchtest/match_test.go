package matchtest

import (
	"errors"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/rollback"
)

// broken returns a copy of the game with one more system.
func broken(system func(*ecs.World)) *ecs.Game {
	g := Dots()
	g.Systems = append(append([]ecs.System(nil), g.Systems...), ecs.Systems(system)...)
	return g
}

// outside is what a system must not read: it is no part of the state.
var outside uint32

// careless counts its calls, not its ticks: it differs as soon as ticks are computed twice.
func careless(w *ecs.World) {
	outside++
	if outside%100 == 0 {
		dotTallies.Write(w).Paid++
	}
}

// The two calls are the whole of a game's own test: both pass for a game that is right.
func TestASoundGamePasses(t *testing.T) {
	SyncTest(t, Dots())
	Match(t, Dots(), "P3")
	if !testing.Short() {
		Match(t, Dots(), "P5")
	}
}

// A game without a Bot is played with noise, and one for a single player has nobody to mispredict.
func TestMatchPlaysGamesWithoutBotsAndForOne(t *testing.T) {
	g := Dots()
	g.Bot = nil
	Match(t, g, "P0")
	one := Dots()
	one.MaxPlayers = 1
	Match(t, one, "P2")
}

// The report has to be of use without a debugger: it names the tick and the place.
func TestSyncTestNamesWhatDiffers(t *testing.T) {
	err := syncTest(broken(careless))
	if err == nil || !strings.Contains(err.Error(), "dot tally") || !strings.Contains(err.Error(), "input of player") {
		t.Errorf("the report of a game that counts its calls: %v", err)
	}
}

// On a target of the other word size such a game is refused; its author finds out here.
func TestSyncTestRefusesALayoutThatDependsOnTheTarget(t *testing.T) {
	type misplaced struct {
		A uint32
		B uint64
	}
	g := Dots()
	g.Resources = ecs.Resources(dotTallies, ecs.NewResource[misplaced]("misplaced"))
	if err := syncTest(g); err == nil || !strings.Contains(err.Error(), "misplaced") {
		t.Errorf("a resource with a gap on one target only: %v", err)
	}
}

// What differs between two peers need not differ between two runs in one process; the match finds it, and says where.
func TestMatchFindsPeersThatDiffer(t *testing.T) {
	err := match(broken(careless), "P3")
	if err == nil || !strings.Contains(err.Error(), "differed from the server") || !strings.Contains(err.Error(), "dot tally") {
		t.Errorf("the report of a game that counts its calls: %v", err)
	}
}

// A run that proves nothing must fail, or it would be believed.
func TestARunThatProvesNothingFails(t *testing.T) {
	still := Dots()
	still.Systems = ecs.Systems(func(*ecs.World) {})
	if err := match(still, "P3"); err == nil || !strings.Contains(err.Error(), "proves nothing: the game's own state") {
		t.Errorf("a game in which nothing happens: %v", err)
	}
	still.Join, still.Leave = nil, nil
	if err := syncTest(still); !errors.Is(err, rollback.ErrProvesNothing) {
		t.Errorf("the sync test of a game in which nothing happens: %v", err)
	}
	idle := Dots()
	idle.Bot = func(*ecs.World, ecs.Player, *ecs.Rand) ecs.InputBytes { return ecs.InputBytes{} }
	if err := match(idle, "P3"); err == nil || !strings.Contains(err.Error(), "nobody rewound") {
		t.Errorf("bots that do nothing: %v", err)
	}
	if err := match(Dots(), "P77"); err == nil || !strings.Contains(err.Error(), "P77") {
		t.Errorf("an unknown profile: %v", err)
	}
}
