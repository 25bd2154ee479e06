package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/matches"
	"tendon/ecs/race"
)

// tooWide returns the first line of a text that is wider than a terminal, or "".
func tooWide(text string) string {
	for line := range strings.Lines(text) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > app.Columns {
			return line
		}
	}
	return ""
}

// Every table fits 80 columns, and --wide shows the columns that were left out.
func TestTablesFitATerminal(t *testing.T) {
	race.OneGoroutine(t)
	file := filepath.Join(t.TempDir(), "matches.db")
	store, err := matches.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	r := decided(strings.Repeat("room", 16), 1)
	r.ID, r.Result = 1, `{"winner":1,"score":[1,2,3,4,5,6,7,8,9,10,11,12]}`
	if _, err := store.Add(r); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	costs := filepath.Join(t.TempDir(), "costs.json")
	for _, c := range []struct{ args, left string }{
		{"lab --net P3,P5,P8 --sync relay,predict --for 1s --settle 0s --seed 1", "lag ms/s, freeze % (a minute, longest)"}, {"matches --file " + file, "length, verdict, strategies, recording"},
		{"profile --players 2 --for 5s --runs 1 --out " + filepath.Dir(costs), "calls, total"}, {"profile --compare --worse 9000% " + costs + " " + costs, ""},
	} {
		r := do(t, crumbs.Game(), strings.Fields(c.args)...)
		if r.code != app.ExitFine || !strings.Contains(r.out, "│") {
			t.Fatalf("%s: exit code %d, note %q:\n%s", c.args, r.code, r.note, r.out)
		}
		if line := tooWide(r.out); line != "" {
			t.Errorf("%s: %d characters: %s", c.args, len([]rune(line)), line)
		}
		if c.left == "" {
			continue
		}
		if !strings.Contains(strings.ReplaceAll(r.out, "\n", " "), c.left) || !strings.Contains(r.out, "--wide adds: ") {
			t.Errorf("%s: --wide adds not %q:\n%s", c.args, c.left, r.out)
		}
		if r = do(t, crumbs.Game(), strings.Fields(c.args+" --wide")...); tooWide(r.out) == "" || strings.Contains(r.out, "--wide") {
			t.Errorf("%s --wide:\n%s", c.args, r.out)
		}
	}
}

// The help of every verb fits 80 columns.
func TestTheHelpFitsATerminal(t *testing.T) {
	for _, verb := range everyVerb {
		if line := tooWide(do(t, crumbs.Game(), verb, "--help").out); line != "" {
			t.Errorf("%s --help: %d characters: %s", verb, len([]rune(line)), line)
		}
	}
}
