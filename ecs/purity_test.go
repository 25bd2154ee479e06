package ecs

import (
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tendon/ecs/race"
)

// pure are the packages that a simulation runs in. Their results follow from their arguments alone.
var pure = []string{"ecs", "ecs/fixed", "ecs/image", "rollback/...", "systems/...", "net/wire", "cmd/cli/backend/queue"}

// pureImports are imports whose results follow from their arguments too. Other packages read a clock, a file, a
// socket or a random source, start goroutines, or were not needed yet.
var pureImports = []string{
	"bytes", "cmp", "container/heap", "encoding/binary", "errors", "fmt", "hash", "hash/crc32", "io", "iter", "math", "math/big", "math/bits", "reflect",
	"slices", "sort", "strconv", "strings", "unicode/utf8", "unsafe", "github.com/cespare/xxhash/v2",
}

// pureExceptions are the imports that one place needs, with the reason.
var pureExceptions = []struct{ dir, name, reason string }{
	{"ecs", "sync", "donburi.NewWorld writes an unlocked global; one mutex guards it"},
	{"ecs", "runtime", "systems are named after their functions"},
	{"ecs", "github.com/yohamta/donburi", "a component is a donburi component type"},
	{"ecs", "github.com/yohamta/donburi/component", "a component is a donburi component type"},
	{"ecs", "github.com/yohamta/donburi/filter", "Ordered walks a donburi query with a copy of its filter"},
	{"net/wire", "unicode", "names of players have no invisible characters; no tick depends on it"},
	{"cmd/cli/backend/queue", "encoding/json", "a log of tickets is for other programs too"},
	{"rollback/record", "crypto/hmac", "servers prove ticks to their next process"},
	{"rollback/record", "crypto/sha256", "servers prove ticks to their next process"},
	{"rollback/record", "github.com/klauspost/compress/zstd", "images in records are compressed"},
}

// pureOneFile are the exceptions that only one file may use.
var pureOneFile = []string{"sync", "runtime"}

// pureUses are the parts of further packages that a pure package may use: durations and times that it receives, and
// generators that it seeds.
var pureUses = map[string][]string{
	"time":         {"Duration", "Time", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"},
	"math/rand/v2": {"New", "NewPCG", "PCG", "Rand", "Source"},
}

// A tick that reads a clock, a file or another random source differs between peers.
func TestTheSimulationReadsNoClockNoRandomSourceAndNoFile(t *testing.T) {
	users := map[string][]string{}
	seen := 0
	for _, f := range sourceFiles(t) {
		if !under(f.dir, pure...) {
			continue
		}
		seen++
		for _, name := range f.imports() {
			excepted := slices.ContainsFunc(pureExceptions, func(e struct{ dir, name, reason string }) bool { return e.dir == f.dir && e.name == name })
			switch {
			case excepted:
				users[name] = append(users[name], f.name)
			case pureUses[name] != nil:
				for _, use := range selectorsOf(f.ast, path.Base(strings.TrimSuffix(name, "/v2"))) {
					if !slices.Contains(pureUses[name], use.Sel.Name) {
						t.Errorf("%s: %s.%s in a package that is handed its time and its seeds", f.at(use), name, use.Sel.Name)
					}
				}
			case strings.HasPrefix(name, modulePath+"/"), slices.Contains(pureImports, name):
			default:
				t.Errorf("%s imports %s, which is not on the list of packages that follow from their arguments alone", f.name, name)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: a goroutine in a package that has none", f.at(g))
			}
			return true
		})
	}
	if seen < 20 {
		t.Fatalf("only %d files were found: the test shows nothing", seen)
	}
	for _, name := range pureOneFile {
		if len(users[name]) > 1 {
			t.Errorf("%s is imported by %v: one file may", name, users[name])
		}
	}
}

// selectorsOf returns the uses of a package in a file.
func selectorsOf(file *ast.File, pkg string) (list []*ast.SelectorExpr) {
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && id.Name == pkg {
				list = append(list, s)
			}
		}
		return true
	})
	return list
}

// The one mutex guards donburi's constructor.
func TestTheOneMutexGuardsDonburisConstructor(t *testing.T) {
	for _, f := range sourceFiles(t) {
		if f.dir != "ecs" || !slices.Contains(f.imports(), "sync") {
			continue
		}
		if n := len(selectorsOf(f.ast, "sync")); n != 1 {
			t.Errorf("%s uses package sync %d times, want one mutex", f.name, n)
		}
		if !slices.ContainsFunc(selectorsOf(f.ast, "donburi"), func(s *ast.SelectorExpr) bool { return s.Sel.Name == "NewWorld" }) {
			t.Errorf("%s has a mutex and does not call donburi.NewWorld", f.name)
		}
	}
}

// Go visits a map in a different order each time, so a pure package must not range over one.
func TestNoPurePackageRangesOverAMap(t *testing.T) {
	race.OneGoroutine(t)
	packages := map[string][]sourceFile{}
	for _, f := range sourceFiles(t) {
		if under(f.dir, pure...) {
			packages[f.dir] = append(packages[f.dir], f)
		}
	}
	lookup := exportData(t)
	fset := packages["ecs"][0].fset
	imp := importer.ForCompiler(fset, "gc", lookup)
	ranges := 0
	for dir, files := range packages {
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		var asts []*ast.File
		for _, f := range files {
			asts = append(asts, f.ast)
		}
		// A package that does not compile fails its own tests; its faults are ignored here.
		conf := types.Config{Importer: imp, Error: func(error) {}}
		conf.Check(path.Join(modulePath, dir), fset, asts, info)
		ranges += rangesOverMaps(t, fset, asts, info)
	}
	if ranges < 50 {
		t.Errorf("only %d range statements were looked at: the test shows nothing", ranges)
	}
}

// rangesOverMaps reports the statements that walk a map and returns how many range statements there are.
func rangesOverMaps(t *testing.T, fset *token.FileSet, files []*ast.File, info *types.Info) (n int) {
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			r, ok := node.(*ast.RangeStmt)
			if !ok {
				return true
			}
			n++
			if typ := info.TypeOf(r.X); typ != nil {
				if _, isMap := typ.Underlying().(*types.Map); isMap {
					t.Errorf("%s: range over a map: its order differs every time; keep a slice beside it", fset.Position(r.Pos()))
				}
			}
			return true
		})
		for _, s := range selectorsOf(file, "reflect") {
			if s.Sel.Name == "MapRange" || s.Sel.Name == "MapKeys" {
				t.Errorf("%s: reflect.%s walks a map", fset.Position(s.Pos()), s.Sel.Name)
			}
		}
	}
	return n
}

// exportData returns where the compiler left what importing the pure packages' imports needs. The go command knows.
func exportData(t *testing.T) func(string) (io.ReadCloser, error) {
	t.Helper()
	args := []string{"list", "-e", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for _, p := range pure {
		args = append(args, "./"+p)
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command here: ", err)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = moduleRoot
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[name] = file
	}
	return func(name string) (io.ReadCloser, error) {
		if exports[name] == "" {
			return nil, &os.PathError{Op: "import", Path: strconv.Quote(name), Err: os.ErrNotExist}
		}
		return os.Open(exports[name])
	}
}
