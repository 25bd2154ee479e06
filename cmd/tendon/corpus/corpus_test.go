package corpus_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"tendon/cmd/tendon/corpus"
	"tendon/rollback"
)

// table is the README with the table of the corpus, in the module of tendonvet.
const table = "../../tendonvet/README.md"

// SyncTest finds the faults that the table says, and no others.
func TestTheTableSaysWhichFaultsSyncTestFinds(t *testing.T) {
	content, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, f := range corpus.All() {
		_, err := rollback.SyncTest(rollback.SyncTestConfig{Game: f.Game, Seed: 1})
		desync := (*rollback.DesyncReport)(nil)
		found := errors.As(err, &desync)
		if err != nil && !found {
			t.Errorf("%s: %v", f.Func, err)
		}
		row := ""
		for line := range strings.Lines(string(content)) {
			if strings.HasPrefix(line, fmt.Sprintf("| `%s` |", f.Func)) {
				row = strings.TrimSpace(line)
				rows++
			}
		}
		want := map[bool]string{true: "| yes |", false: "| – |"}[found]
		if !strings.HasSuffix(row, want) {
			t.Errorf("the row of %s is %q, want the last column to be %q: %v", f.Func, row, want, err)
		}
	}
	if rows != 40 {
		t.Errorf("%d faults have a row, want 40", rows)
	}
}
