package rollback_test

import (
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/rollback"
)

type vault struct {
	Open   uint32
	Closed uint32 `tendon:"private"`
}

// guarded returns a game whose system calls each with the private value of a resource in every tick that it computes.
func guarded(each func(closed uint32)) *ecs.Game {
	safe := ecs.NewResource[vault]("safe")
	chest := ecs.NewComponent("chest", ecs.Roles[vault]{Private: true})
	chests := ecs.NewQuery1(ecs.Write(chest))
	return &ecs.Game{Name: "guarded", TickRate: 30, MaxPlayers: 2, Input: ecs.NewInput[uint8](), Components: ecs.Components(chest), Resources: ecs.Resources(safe),
		Setup: func(w *ecs.World) { safe.Write(w).Closed = 12 },
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			chest.Put(w, w.Spawn(ecs.OwnedBy(p), chest), vault{1, 2})
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range chests.All(w) {
				if e.Entity().Owner() == ecs.OwnedBy(p) {
					w.Despawn(e.Entity())
				}
			}
		},
		Systems: ecs.Systems(func(w *ecs.World) {
			each(safe.Read(w).Closed)
			safe.Write(w).Open++
			for e := range chests.All(w) {
				e.A.Open += uint32(w.Image().Input(0)[0])
			}
		})}
}

func TestSyncTestComputesTicksWithZerosForWhatAPlayerMustNotKnow(t *testing.T) {
	zeros, all := 0, 0
	report, err := rollback.SyncTest(rollback.SyncTestConfig{Game: guarded(func(closed uint32) {
		if all++; closed == 0 {
			zeros++
		}
	}), Ticks: 120, AllowStatic: true, SkipDeclarations: true})
	if err != nil {
		t.Fatal(err)
	}
	if zeros != report.LimitedTicks || zeros == 0 {
		t.Errorf("%d of %d ticks had zero for the private value, want the %d limited ones", zeros, all, report.LimitedTicks)
	}
}

func TestSyncTestFindsASeeThatWrites(t *testing.T) {
	g := guarded(func(uint32) {})
	g.See = func(w *ecs.World, viewer ecs.Player, e ecs.Entity) bool {
		w.Rand().Uint64()
		return true
	}
	_, err := rollback.SyncTest(rollback.SyncTestConfig{Game: g, Ticks: 120, AllowStatic: true})
	if err == nil || !strings.Contains(err.Error(), "tick") {
		t.Errorf("got %v, want a report", err)
	}
}
