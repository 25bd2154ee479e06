package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tendon/cmd/cli/durable"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/broadcast"
	"tendon/rollback"
	"tendon/rollback/record"
)

// broadcasting writes the broadcast of a match that is over into a directory.
func broadcasting(t *testing.T, seconds int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "main")
	store, err := broadcast.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	g := crumbs.Game()
	w, err := broadcast.NewWriter(broadcast.Config{Game: g, Header: record.HeaderOf(g, 1, "build 7"), Run: "run-1", Store: store}, nil)
	if err != nil {
		t.Fatal(err)
	}
	world, err := ecs.NewWorld(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	random := image.NewRand(2)
	var state image.Snapshot
	for f := ecs.Tick(1); f <= ecs.Tick(seconds*g.TickRate); f++ {
		tick := rollback.FinalTick{Tick: f, Inputs: []ecs.InputBytes{g.Bot(world, 0, random)}}
		if f == 1 {
			tick.Orders = []image.Order{{Kind: image.OrderJoin}}
		}
		world.Step(ecs.TickInputs{Players: tick.Inputs, Orders: tick.Orders})
		world.Image().Save(&state)
		tick.Checksum = state.Checksum()
		w.Tick(tick, &state, world)
	}
	w.Close(true)()
	return dir
}

// Watch verifies a broadcast to its end. The exit code is 1 if a tick differs, and 2 if there is no broadcast.
func TestWatchVerifiesABroadcast(t *testing.T) {
	dir := broadcasting(t, 10)
	r := do(t, crumbs.Game(), "watch", dir, "--headless")
	if r.code != app.ExitFine || !strings.HasPrefix(r.out, "240 ticks verified, up to tick 600, with ") || !strings.HasSuffix(r.out, " and 0 gaps; the match is over\n") {
		t.Errorf("exit code %d, %q, %q", r.code, r.out, r.note)
	}
	r = do(t, crumbs.Game(), "watch", "file://"+dir, "--headless", "--json")
	if r.code != app.ExitFine || !strings.Contains(r.out, `"event":"watched"`) || !strings.Contains(r.out, `"verified":240`) || !strings.Contains(r.out, `"kb_per_minute":`) {
		t.Errorf("exit code %d, %q, %q", r.code, r.out, r.note)
	}
	r = do(t, fasterGame(), "watch", dir, "--headless")
	if r.code != app.ExitFailed || !strings.Contains(r.note, "differs from the broadcast") || !strings.Contains(r.note, "build 7") || !strings.Contains(r.out, "tick 3") {
		t.Errorf("other rules: exit code %d, %q, %q", r.code, r.out, r.note)
	}
	for address, want := range map[string]string{t.TempDir(): "--broadcast", filepath.Join(dir, "none"): "is no directory", "ftp://host/x": "https://host/path", "http://127.0.0.1:1/x": "refused"} {
		if address == "http://127.0.0.1:1/x" && os.Getenv("TENDON_LONG") == "" {
			continue // it asks several times
		}
		if r := do(t, crumbs.Game(), "watch", address, "--headless"); r.code != app.ExitUsage || !strings.Contains(r.note, want) {
			t.Errorf("%s: exit code %d, %q", address, r.code, r.note)
		}
	}
	if r := do(t, widerGame(), "watch", dir, "--headless"); r.code != app.ExitUsage || !strings.Contains(r.note, "start the build that wrote it") {
		t.Errorf("another version: exit code %d, %q", r.code, r.note)
	}
}

// The flags of a broadcast are refused where they would have no effect, and where private data would be shown by mistake.
func TestTheFlagsOfABroadcastAreChecked(t *testing.T) {
	dir := t.TempDir()
	used := t.TempDir()
	unlock, err := durable.Lock(filepath.Join(used, ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	hidden := crumbs.Game()
	hidden.Components = append(hidden.Components, secretType)
	for _, c := range []struct {
		game *ecs.Game
		args string
		want string
	}{
		{crumbs.Game(), "--broadcast-delay 5s", "go with --broadcast"},
		{crumbs.Game(), "--broadcast " + dir + " --broadcast-delay 16m", "0s to 15m"},
		{crumbs.Game(), "--broadcast " + dir + " --broadcast-private", "leave --broadcast-private out"},
		{crumbs.Game(), "--broadcast " + used, "give each server its own"},
		{crumbs.Game(), "--broadcast " + dir + " --sync lockstep --relay-only", "do not go together"},
		{hidden, "--broadcast " + dir, "--broadcast-private with a --broadcast-delay"},
		{hidden, "--broadcast " + dir + " --broadcast-private", "--broadcast-private with a --broadcast-delay"},
	} {
		r := do(t, c.game, append([]string{"serve", "--listen", "127.0.0.1:0"}, strings.Fields(c.args)...)...)
		if r.code != app.ExitUsage || !strings.Contains(r.note, c.want) {
			t.Errorf("%s: exit code %d, %q", c.args, r.code, r.note)
		}
	}
}

// secretType is a component with private values.
var secretType = ecs.NewComponent("secret", ecs.Roles[crumbs.Wear]{Private: true})
