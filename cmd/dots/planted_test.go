package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/race"
	"tendon/net/matchtest"
)

// Tired counts the ticks for which a dot has moved in the same direction.
type Tired struct{ Held int32 }

var (
	tired   = ecs.NewComponent[Tired]("tired")
	walking = ecs.NewQuery3(ecs.Write(body), ecs.Read(seat), ecs.Write(tired))
)

// wear is the rule of planted.go with its count in a component.
func wear(w *ecs.World) {
	for e := range walking.All(w) {
		now, before := pad.Of(w, e.B.Player), pad.Last(w, e.B.Player)
		if now.DX != before.DX || now.DY != before.DY {
			e.C.Held = 0
		}
		if e.C.Held++; e.C.Held > 30 {
			e.A.Vel = e.A.Vel.Scale(fixed.FromRatio(9, 10))
		}
	}
}

// This is the solution of the exercise in rollback/DESYNCS.md.
func TestStateOfARuleBelongsInAComponent(t *testing.T) {
	g := game
	g.Components = ecs.Components(body, seat, seed, tired)
	g.Systems = ecs.Systems(steer, fade, wear)
	g.Join = func(w *ecs.World, p ecs.Player, _ ecs.Card) {
		seat.Put(w, w.Spawn(ecs.OwnedBy(p), body, seat, tired), ecs.Seat{Player: p})
	}
	matchtest.SyncTest(t, &g)
}

// The exercise finds the planted bug, whatever the seed. It needs enough ticks: the bug shows when a player holds one direction
// for half a second, and the next input is late.
func TestThePlantedBugIsFound(t *testing.T) {
	if !race.Long {
		t.Skip("it links a second binary")
	}
	binary := filepath.Join(t.TempDir(), "planted")
	if output, err := exec.Command("go", "build", "-tags", "planted headless", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for seed := range 4 {
		output, err := exec.Command(binary, "synctest", "--ticks", "100000", "--seed", strconv.Itoa(seed+1)).CombinedOutput()
		exit, failed := err.(*exec.ExitError)
		if !failed || exit.ExitCode() != 1 || !regexp.MustCompile(`desync in tick \d+: body of entity 0 of player \d`).Match(output) {
			t.Errorf("seed %d: %v\n%s", seed+1, err, output)
		}
	}
}
