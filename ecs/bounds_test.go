package ecs_test

import (
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
)

// The bounds of this file stand in the README's table of limits.

// bounded returns a complete game, which each test changes in one place.
func bounded() *ecs.Game {
	return &ecs.Game{Name: "bounded", TickRate: 60, MaxPlayers: 1, Input: pad}
}

func TestAMatchHas64PlayersAndNoMore(t *testing.T) {
	g := bounded()
	for players, fine := range map[int]bool{0: false, 1: true, 64: true, 65: false} {
		g.MaxPlayers = players
		if err := g.Check(); (err == nil) != fine || err != nil && !strings.Contains(err.Error(), "MaxPlayers") {
			t.Errorf("%d players: %v", players, err)
		}
	}
}

func TestAnInputHas32BytesAndNoMore(t *testing.T) {
	g := bounded()
	g.Input = ecs.NewInput[[32]byte]()
	if err := g.Check(); err != nil {
		t.Error(err)
	}
	g.Input = ecs.NewInput[[33]byte]()
	if err := g.Check(); err == nil || !strings.Contains(err.Error(), "33 bytes") {
		t.Errorf("33 bytes: %v", err)
	}
}

func TestAComponentHas16KiBAndNoMore(t *testing.T) {
	g := bounded()
	g.Components = ecs.Components(ecs.NewComponent[[16 << 10]byte]("most"))
	if err := g.Check(); err != nil {
		t.Error(err)
	}
	g.Components = ecs.Components(ecs.NewComponent[[16<<10 + 1]byte]("more"))
	if err := g.Check(); err == nil || !strings.Contains(err.Error(), "16385 bytes") {
		t.Errorf("16 KiB and a byte: %v", err)
	}
}

// Row 0 is no entity, so the world has one entity fewer than a player.
func TestAnOwnerHasAMillionEntitiesAndNoMore(t *testing.T) {
	race.OneGoroutine(t)
	for owner, most := range map[image.Owner]int{ecs.OwnedByWorld: 1<<20 - 1, ecs.OwnedBy(0): 1 << 20} {
		g := bounded()
		spawned := 0
		g.Setup = func(w *ecs.World) {
			for ; spawned <= most; spawned++ {
				w.Spawn(owner)
			}
		}
		func() {
			defer func() {
				if message, ok := recover().(string); !ok || !strings.Contains(message, "all its rows") {
					t.Errorf("owner %d: %q", owner, message)
				}
			}()
			_, err := ecs.NewWorld(g, 1)
			t.Errorf("owner %d takes %d entities: %v", owner, spawned, err)
		}()
		if spawned != most {
			t.Errorf("owner %d took %d entities, want %d", owner, spawned, most)
		}
	}
}
