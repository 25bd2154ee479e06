package determinism_test

import (
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"tendon/cmd/tendonvet/determinism"
)

// clone is the module of the engine.
const clone = "../../.."

// wants compares diagnostics with comments, and ignores facts: the corpus shows their effect.
type wants struct{ *testing.T }

func (w wants) Errorf(format string, args ...any) {
	if !strings.Contains(format, "unexpected fact") && !strings.Contains(fmt.Sprintf(format, args...), "unexpected fact") {
		w.T.Helper()
		w.T.Errorf(format, args...)
	}
}

// The messages are those of the corpus, and the table says which faults they report. The rules of package sound have none, and
// those of package reached are reached in different ways.
func TestTheCorpus(t *testing.T) {
	found := map[string]bool{} // by function
	var ecs *types.Package
	for _, r := range analysistest.Run(wants{t}, clone, determinism.Analyzer, "./cmd/tendon/corpus", "./cmd/tendon/corpus/sound", "./cmd/tendon/corpus/reached") {
		for _, d := range r.Diagnostics {
			for _, f := range r.Pass.Files {
				for _, decl := range f.Decls {
					if fn, ok := decl.(*ast.FuncDecl); ok && r.Pass.Pkg.Name() == "corpus" && fn.Pos() <= d.Pos && d.Pos < fn.End() {
						found[fn.Name.Name] = true
					}
				}
			}
		}
		for _, p := range r.Pass.Pkg.Imports() {
			if p.Path() == "tendon/ecs" && p.Complete() {
				ecs = p
			}
		}
	}
	compareTable(t, found)
	for _, hook := range determinism.Unlisted(ecs) {
		t.Errorf("%s is in no row of hooks: say there when the engine runs it", hook)
	}
}

// compareTable compares the functions in which faults were found with the table of README.md.
func compareTable(t *testing.T, found map[string]bool) {
	content, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| .* \\| (yes|–) \\| (yes|–) \\|$").FindAllStringSubmatch(string(content), -1)
	vet, sync, neither := 0, 0, 0
	for _, row := range rows {
		name := row[1]
		if yes := row[2] == "yes"; yes != found[name] {
			t.Errorf("the table says %q for %s, and tendonvet finds it: %t", row[2], name, found[name])
		}
		vet += strings.Count(row[2], "yes")
		sync += strings.Count(row[3], "yes")
		if row[2] != "yes" && row[3] != "yes" {
			neither++
		}
		delete(found, name)
	}
	for name := range found {
		t.Errorf("%s has no row in the table", name)
	}
	total := fmt.Sprintf("tendonvet finds %d of %d, SyncTest finds %d, and %d are found by neither", vet, len(rows), sync, neither)
	if !strings.Contains(strings.ReplaceAll(string(content), "\n", " "), total) {
		t.Errorf("README.md does not say: %s", total)
	}
}
