package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs"
	"tendon/rollback/record"
)

// recordedFile writes a recording of a game and returns its path.
func recordedFile(t *testing.T, g *ecs.Game, name string, ticks int) string {
	t.Helper()
	return write(t, filepath.Join(t.TempDir(), name), recorded(t, g, ticks), 0o600)
}

// crumbOf returns the name of an entity that a player left in some tick, as --at prints it.
func crumbOf(t *testing.T, path string, at int) (id string, born int) {
	t.Helper()
	r := do(t, crumbs.Game(), "replay", path, "--at", fmt.Sprint(at))
	found := regexp.MustCompile(`entity (p\d:\d+@(\d+)) of player \d, born in tick \d+\n  wear: Left (\d+)`).FindStringSubmatch(r.out)
	if found == nil {
		t.Fatalf("there is no crumb in tick %d: the test proves nothing\n%s%s", at, r.out, r.note)
	}
	fmt.Sscan(found[2], &born)
	return found[1], born
}

// One tick is shown with inputs, orders, events, and entities with all their fields.
func TestReplayShowsATickWithInputsAndEveryField(t *testing.T) {
	path := recordedFile(t, crumbs.Game(), "a", 700)
	r := do(t, crumbs.Game(), "replay", path, "--at", "650")
	for _, want := range []string{"tick 650 · 10.83 s · checksum", "as recorded", "player 0: DX ", "player 1: ", "entity p0:0@1 of player 0, born in tick 1", "body: Pos.X ", "seat: Player 1", "system walk took"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is missing in\n%s", want, r.out)
		}
	}
	if r.code != app.ExitFine {
		t.Errorf("exit code %d: %s", r.code, r.note)
	}
	id, born := crumbOf(t, path, 650)
	r = do(t, crumbs.Game(), "replay", path, "--at", "650", "--entity", id)
	if want := fmt.Sprintf("  wear: Left %d\n", 20-(650-born)-1); r.code != app.ExitFine || !strings.Contains(r.out, want) || strings.Contains(r.out, "body") {
		t.Errorf("exit code %d, %q is missing in\n%s%s", r.code, want, r.out, r.note)
	}
	short, _, _ := strings.Cut(id, "@")
	if again := do(t, crumbs.Game(), "replay", path, "--at", "650", "--entity", short); again.out != r.out {
		t.Errorf("without its birth it is another one:\n%s", again.out)
	}
	if r = do(t, crumbs.Game(), "replay", path, "--at", "0"); r.code != app.ExitFine || !strings.Contains(r.out, "tick 0 · 0.00 s") {
		t.Errorf("the first state: exit code %d\n%s%s", r.code, r.out, r.note)
	}
}

// A program reads the same as JSON, each line an object.
func TestReplayTellsProgramsTheSame(t *testing.T) {
	path := recordedFile(t, crumbs.Game(), "a", 700)
	id, _ := crumbOf(t, path, 650)
	read := func(args ...string) map[string]any {
		t.Helper()
		r := do(t, crumbs.Game(), append([]string{"replay", path, "--json"}, args...)...)
		lines := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
		var object map[string]any
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &object); err != nil || r.code != app.ExitFine || r.note != "" {
			t.Fatalf("exit code %d, %v\n%s%s", r.code, err, r.out, r.note)
		}
		return object
	}
	o := read("--at", "650")
	if o["event"] != "frame" || o["frame"].(map[string]any)["match"] != "yes" || len(o["entities"].([]any)) < 3 {
		t.Errorf("the tick is %v", o)
	}
	o = read("--at", "650", "--entity", id)
	entity, _ := o["entity"].(map[string]any)
	component := entity["components"].([]any)[0].(map[string]any)
	if o["event"] != "entity" || o["tick"] != 650.0 || entity["id"] != id || component["name"] != "wear" {
		t.Errorf("the entity is %v", o)
	}
	o = read("--field", "body.Pos.X", "--entity", "p1:0", "--from", "600", "--to", "620")
	if points := o["series"].(map[string]any)["points"].([]any); o["event"] != "series" || len(points) != 21 || points[0].(map[string]any)["tick"] != 600.0 {
		t.Errorf("the series is %v", o)
	}
}

// A field is listed with one line per tick in which the entity exists.
func TestReplayListsAFieldOverTime(t *testing.T) {
	path := recordedFile(t, crumbs.Game(), "a", 700)
	id, born := crumbOf(t, path, 650)
	r := do(t, crumbs.Game(), "replay", path, "--field", "wear.Left", "--entity", id)
	lines := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
	if r.code != app.ExitFine || len(lines) != 19 || strings.TrimSpace(lines[0]) != fmt.Sprintf("%d  19", born) {
		t.Errorf("exit code %d, %d lines, the first %q:\n%s", r.code, len(lines), lines[0], r.note)
	}
}

// The error about a missing entity has its lifetime, or the flags that list the entities.
func TestReplayNamesTheLifetimeOfAMissingEntity(t *testing.T) {
	path := recordedFile(t, crumbs.Game(), "a", 700)
	id, born := crumbOf(t, path, 650)
	refusedLater(t, do(t, crumbs.Game(), "replay", path, "--at", "100", "--entity", id), fmt.Sprintf("%s does not exist in tick 100: it exists from tick %d to %d", id, born, born+18))
	wrong := strings.Replace(id, fmt.Sprint("@", born), fmt.Sprint("@", born+1), 1)
	refusedLater(t, do(t, crumbs.Game(), "replay", path, "--at", "650", "--entity", wrong), "does not exist in tick 650: --at 650 without --entity lists the entities")
	refusedLater(t, do(t, crumbs.Game(), "replay", path, "--at", "650", "--entity", "p3:9"), "without --entity lists the entities")
	refusedLater(t, do(t, crumbs.Game(), "replay", path, "--at", "650", "--entity", "bob"), "names no entity: write p0:3@90")
	refusedLater(t, do(t, crumbs.Game(), "replay", path, "--at", "701"), "--at 701: record: tick is not in the record: it has the ticks 0 to 700")
	refusedLater(t, do(t, crumbs.Game(), "replay", path, "--field", "body.Pos.Z", "--entity", "p0:0"), "choose among Pos.X")
	refusedLater(t, do(t, crumbs.Game(), "replay", path, "--field", "wear.Left", "--entity", "p0:0@1"), "has no wear.Left in the ticks 0 to 700")
	refusedLater(t, do(t, crumbs.Game(), "replay", path, "--entity", id), "--entity is for --at and --field")
	refusedLater(t, do(t, crumbs.Game(), "replay", path, "--at", "5", "--dump"), "leave out --to, --dump and --verify")
	refusedLater(t, do(t, crumbs.Game(), "replay", path, path, "--at", "5"), "two recordings are only compared")
}

// Two recordings of one match are compared, and the first field that differs is named.
func TestReplayOfTwoRecordingsNamesTheFirstFieldThatDiffers(t *testing.T) {
	a, same := recordedFile(t, crumbs.Game(), "a", 700), recordedFile(t, crumbs.Game(), "same", 650)
	if r := do(t, crumbs.Game(), "replay", a, same); r.code != app.ExitFine || !strings.Contains(r.out, "ticks 0 to 650 are equal") || !strings.Contains(r.out, a+" continues to tick 700") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.note)
	}
	// Inputs differ: the tick and the field of the input are named, with both values.
	g := crumbs.Game()
	bot := g.Bot
	g.Bot = func(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes {
		in := bot(w, p, r)
		if w.Tick() == 299 && p == 1 {
			return crumbs.Pads.Pack(crumbs.Pad{DX: 1, DY: 7})
		}
		return in
	}
	b := recordedFile(t, g, "b", 700)
	r := do(t, crumbs.Game(), "replay", a, b)
	if r.code != app.ExitFailed || !strings.Contains(r.out, "tick 300 is the first that differs") || !strings.Contains(r.out, "tick 300: inputs: input of player 1, DY is ") ||
		!strings.Contains(r.out, " here and 7 there") || !strings.Contains(r.out, "tick 300: body of entity 0 of player 1 born in tick 1: Pos.Y is ") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.note)
	}
	r = do(t, crumbs.Game(), "replay", a, b, "--json")
	if r.code != app.ExitFailed || !strings.Contains(r.out, `"component":"body","entity":"p1:0@1","field":"Pos.Y"`) {
		t.Errorf("exit code %d:\n%s", r.code, r.out)
	}
	// Another build computed it: the images show the difference, since the rules at hand do not.
	c := recordedFile(t, fasterGame(), "c", 700)
	r = do(t, crumbs.Game(), "replay", a, c)
	if r.code != app.ExitFailed || !strings.Contains(r.out, "a build that computes otherwise") || !strings.Contains(r.out, "tick 300: body of entity 0 of player 0 born in tick 1: Pos.") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.note)
	}
}

// Recordings that cannot be compared have another exit code than recordings that differ.
func TestReplayOfTwoRecordingsThatCannotBeComparedIsRefused(t *testing.T) {
	a := recordedFile(t, crumbs.Game(), "a", 100)
	other := crumbs.Game()
	other.Name = "chess"
	refusedLater(t, do(t, crumbs.Game(), "replay", a, recordedFile(t, other, "b", 100)), `of "chess"`)
	refusedLater(t, do(t, crumbs.Game(), "replay", a, recordedFile(t, widerGame(), "c", 100)), "start the build that wrote it")
	var file bytes.Buffer
	w, err := record.NewWriter(&file, crumbs.Game(), record.HeaderOf(crumbs.Game(), 8, "a build"))
	if err != nil || w.End() != nil {
		t.Fatal(err)
	}
	refusedLater(t, do(t, crumbs.Game(), "replay", a, write(t, filepath.Join(t.TempDir(), "d"), file.Bytes(), 0o600)), "one has the seed 7, the other 8")
	refusedLater(t, do(t, crumbs.Game(), "replay", a, filepath.Join(t.TempDir(), "e")), "does not exist")
}
