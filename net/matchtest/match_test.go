package matchtest

import (
	"errors"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/net/matchsim/halves"
	"tendon/rollback"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// withSystem returns Dots with one more system.
func withSystem(system func(*ecs.World)) *ecs.Game {
	g := halves.Dots()
	g.Systems = append(append([]ecs.System(nil), g.Systems...), ecs.Systems(system)...)
	return g
}

// calls is no part of the state, so a system must not read it.
var calls uint32

// countCalls differs as soon as a tick is computed twice.
func countCalls(w *ecs.World) {
	calls++
	if calls%100 == 0 {
		halves.Tallies.Write(w).Paid++
	}
}

func TestACorrectGamePasses(t *testing.T) {
	SyncTest(t, halves.Dots())
	Match(t, halves.Dots(), "P3")
	if race.Long {
		Match(t, halves.Dots(), "P5")
	}
}

// The same game passes with every strategy, also with a system that writes what a client may not predict.
func TestAGamePassesWithEveryStrategy(t *testing.T) {
	read := ecs.NewQuery1(ecs.Read(halves.Bodies))
	g := withSystem(func(w *ecs.World) {
		for e := range read.All(w) {
			halves.Bodies.Write(w, e.Entity())
		}
	})
	played, err := match(g, "P3", predict.Strategy)
	discarded := played.discarded
	if err != nil || len(discarded) != 1 || discarded[0].Component != "dot" {
		t.Errorf("predict: %v, discarded writes %v, want some to dot", err, discarded)
	}
	if race.Long {
		Match(t, g, "P3", lockstep.Strategy, verify.Strategy, reckon.Strategy)
	}
}

// A game without a Bot is played with random inputs. A match of one player needs no misprediction.
func TestMatchPlaysGamesWithoutBotsAndForOne(t *testing.T) {
	g := halves.Dots()
	g.Bot = nil
	Match(t, g, "P0")
	one := halves.Dots()
	one.MaxPlayers = 1
	Match(t, one, "P2")
}

// The report names the tick and the place, so that it is of use without a debugger.
func TestSyncTestNamesWhatDiffers(t *testing.T) {
	err := syncTest(withSystem(countCalls))
	if err == nil || !strings.Contains(err.Error(), "dot tally") || !strings.Contains(err.Error(), "input of player") {
		t.Errorf("the report of a game that counts its calls: %v", err)
	}
}

// A target of the other word size refuses such a game; SyncTest finds it on this one.
func TestSyncTestRefusesALayoutThatDependsOnTheTarget(t *testing.T) {
	type misaligned struct {
		A uint32
		B uint64
	}
	g := halves.Dots()
	g.Resources = ecs.Resources(halves.Tallies, ecs.NewResource[misaligned]("misplaced"))
	if err := syncTest(g); err == nil || !strings.Contains(err.Error(), "misplaced") {
		t.Errorf("a resource with a gap on one target only: %v", err)
	}
}

// A difference between two peers need not be one between two runs in one process. The match finds it and names the place.
func TestMatchFindsPeersThatDiffer(t *testing.T) {
	_, err := match(withSystem(countCalls), "P3", relay.Strategy)
	if err == nil || !strings.Contains(err.Error(), "differed from the server") || !strings.Contains(err.Error(), "dot tally") {
		t.Errorf("the report of a game that counts its calls: %v", err)
	}
}

func TestARunThatProvesNothingFails(t *testing.T) {
	static := halves.Dots()
	static.Systems, static.Orders = ecs.Systems(func(*ecs.World) {}), nil
	if _, err := match(static, "P3", relay.Strategy); err == nil || !strings.Contains(err.Error(), "proves nothing: the game's own state") {
		t.Errorf("a game in which nothing happens: %v", err)
	}
	static.Join, static.Leave = nil, nil
	if err := syncTest(static); !errors.Is(err, rollback.ErrProvesNothing) {
		t.Errorf("the sync test of a game in which nothing happens: %v", err)
	}
	idle := halves.Dots()
	idle.Orders = nil
	idle.Bot = func(*ecs.World, ecs.Player, *ecs.Rand) ecs.InputBytes { return ecs.InputBytes{} }
	if _, err := match(idle, "P3", relay.Strategy); err == nil || !strings.Contains(err.Error(), "no client was rewound") {
		t.Errorf("bots that do nothing: %v", err)
	}
	if _, err := match(halves.Dots(), "P77", relay.Strategy); err == nil || !strings.Contains(err.Error(), "P77") {
		t.Errorf("an unknown profile: %v", err)
	}
}
