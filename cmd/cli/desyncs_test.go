package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/host"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/rollback/record"
	"tendon/rollback/record/bundle"
	"tendon/systems/relay"
)

// A desync in a match leaves a bundle of the server and one of the client, and replay names the field.
func TestADesyncInAMatchLeavesBundlesThatReplayOpens(t *testing.T) {
	slow(t)
	dir := t.TempDir()
	r := do(t, desyncingGame(), "demo", "--for", "20s", "--bots", "2", "--desync-dir", dir)
	if r.code != app.ExitFailed {
		t.Fatalf("exit code %d:\n%s", r.code, r.note)
	}
	for _, by := range []string{"server", "client"} {
		found, err := filepath.Glob(filepath.Join(dir, "desync-"+by+"-*"+".tendondesync"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%d bundles of the %s: %v\n%s", len(found), by, err, r.note)
		}
		if !strings.Contains(r.note, "the desync bundle is "+found[0]) {
			t.Errorf("%s is not named:\n%s", found[0], r.note)
		}
		opened := do(t, desyncingGame(), "replay", found[0])
		if opened.code != app.ExitFine || !strings.Contains(opened.out, "written by the "+by) || !strings.Contains(opened.out, "sync: relay") {
			t.Errorf("exit code %d:\n%s%s", opened.code, opened.out, opened.note)
		}
		if by == "client" && !strings.Contains(opened.out, ": body of entity ") && !strings.Contains(opened.out, ": wear of entity ") {
			t.Errorf("no field is named:\n%s", opened.out)
		}
	}
}

// desynced returns the desync of a client whose state differs in one field.
func desynced(t *testing.T, g *ecs.Game) client.Desync {
	t.Helper()
	r, err := record.Open(recorded(t, g, 120), g)
	if err != nil {
		t.Fatal(err)
	}
	var images [3]record.Image
	for i, f := range []ecs.Tick{100, 120, 120} {
		w, err := r.WorldAt(f)
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			for e := range crumbs.Walkers.All(w) {
				e.A.Pos.X += 1 << 32
				break
			}
		}
		var s image.Snapshot
		w.Image().Save(&s)
		images[i] = record.ImageOf(&s)
	}
	var ticks []record.Tick
	for e := range r.Ticks(101, 120) {
		tick := *e
		tick.Inputs = append([]ecs.InputBytes(nil), e.Inputs...)
		ticks = append(ticks, tick)
	}
	mine, err := record.Collect(g, r.Header(), images[:2], ticks)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := record.Collect(g, r.Header(), images[2:], nil)
	if err != nil {
		t.Fatal(err)
	}
	return client.Desync{Difference: image.Difference{Tick: 120, Component: "body"}, Strategy: "relay", Seat: 1, Mine: mine, Theirs: theirs}
}

// replay shows a client's bundle: the field with both values, the side that followed the rules, and the ticks.
func TestReplayOfABundleNamesTheFieldWithBothValues(t *testing.T) {
	g, dir := crumbs.Game(), t.TempDir()
	note := newPipe()
	a := app.New(t.Context(), g, newPipe(), note)
	d, err := host.DiagnosticFlags{DesyncDir: dir}.Diagnostics(a, relay.Strategy)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // the second and the third come too soon
		d.Desynced(desynced(t, g))
	}
	d.Close()
	files, _ := os.ReadDir(dir)
	if len(files) != 1 {
		t.Fatalf("%d bundles were written in a moment, want 1", len(files))
	}
	path := filepath.Join(dir, files[0].Name())
	r := do(t, g, "replay", path)
	for _, want := range []string{"desync of seat 1 in tick 120, written by the client", "tick 120: body of entity 0 of player 0 born in tick 1: Pos.X is ", "differs",
		"simulated from tick 100 with this build, the match comes to the state there", "sync: relay"} {
		if r.code != app.ExitFine || !strings.Contains(r.out, want) {
			t.Errorf("exit code %d, %q is missing:\n%s%s", r.code, want, r.out, r.note)
		}
	}
	r = do(t, g, "replay", path, "--json")
	var object struct {
		Event  string             `json:"event"`
		Bundle bundle.Examination `json:"bundle"`
	}
	if err := json.Unmarshal([]byte(r.out), &object); err != nil || object.Event != "bundle" || object.Bundle.Differences[0].Field != "Pos.X" || object.Bundle.Differences[0].Entity != "p0:0@1" {
		t.Errorf("%v: %s", err, r.out)
	}
	if r = do(t, g, "replay", path, "--at", "110", "--entity", "p0:0"); r.code != app.ExitFine || !strings.Contains(r.out, "Pos.X") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.note)
	}
	refusedLater(t, do(t, widerGame(), "replay", path), "start the build that wrote it")
	refusedLater(t, do(t, g, "replay", path, "--verify"), "a desync bundle is shown as it is")
	data, _ := os.ReadFile(path)
	refusedLater(t, do(t, g, "replay", write(t, filepath.Join(dir, "cut"), data[:len(data)-9], 0o600)), "take another copy")
}

// Without a directory no bundle is written, and a note names the flag.
func TestWithoutADirectoryADesyncNamesTheFlag(t *testing.T) {
	note := newPipe()
	a := app.New(t.Context(), crumbs.Game(), newPipe(), note)
	d, err := host.DiagnosticFlags{}.Diagnostics(a, relay.Strategy)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		d.Desynced(desynced(t, crumbs.Game()))
	}
	d.Close()
	if text := note.String(); strings.Count(text, "run with --desync-dir DIR") != 1 || !strings.Contains(text, "differed from the server's") {
		t.Errorf("the note is %q", text)
	}
	file := write(t, filepath.Join(t.TempDir(), "file"), nil, 0o600)
	refusedLater(t, do(t, crumbs.Game(), "demo", "--for", "1s", "--desync-dir", file), "choose another --desync-dir")
}

func TestADemoCanBeRecordedAndReplayed(t *testing.T) {
	slow(t)
	dir := filepath.Join(t.TempDir(), "recordings")
	if r := do(t, crumbs.Game(), "demo", "--for", "3s", "--bots", "2", "--record", dir); !strings.Contains(r.note, "recording room demo into") {
		t.Fatalf("exit code %d: %s", r.code, r.note)
	}
	path := recordingIn(t, dir)
	if r := do(t, crumbs.Game(), "replay", path); r.code != app.ExitFine || !strings.Contains(r.out, "come out as recorded") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.note)
	}
	if r := do(t, crumbs.Game(), "replay", path, "--at", fmt.Sprint(30)); r.code != app.ExitFine || !strings.Contains(r.out, "tick 30") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.note)
	}
}
