package ecs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "tendon"

// sourceFile is a parsed non-test file of the module.
type sourceFile struct {
	dir  string // of the package, relative to the module: "net/wire"
	name string // relative to the module: "net/wire/reader.go"
	ast  *ast.File
	fset *token.FileSet
}

func (f sourceFile) imports() (list []string) {
	for _, spec := range f.ast.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		list = append(list, name)
	}
	return list
}

func (f sourceFile) at(n ast.Node) string { return f.fset.Position(n.Pos()).String() }

// moduleRoot is where go.mod lies, seen from this package.
const moduleRoot = ".."

// sourceFiles parses the module's non-test files. Modules inside the module are not part of it.
func sourceFiles(t *testing.T) (list []sourceFile) {
	t.Helper()
	fset := token.NewFileSet()
	err := filepath.WalkDir(moduleRoot, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(moduleRoot, name)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			_, modErr := os.Stat(filepath.Join(name, "go.mod"))
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || modErr == nil) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		list = append(list, sourceFile{path.Dir(rel), rel, file, fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// under reports whether a directory is one of the rows, or lies below one that ends in "/...".
func under(dir string, rows ...string) bool {
	for _, row := range rows {
		if base, tree := strings.CutSuffix(row, "/..."); dir == base || tree && strings.HasPrefix(dir, base+"/") {
			return true
		}
	}
	return false
}

// arrows says which packages of the module each package may import. The first row that covers a package counts; a
// package may import what its own row covers.
//
// A package that may import ecs may import its store, ecs/image, too.
//
//	donburi ← ecs ← {rollback, net/wire} ← systems ← net/session ← {net/room, net/client} ← net/server ← cmd
var arrows = []struct {
	packages string
	may      []string
}{
	{"ecs/fixed", nil},
	{"ecs/image", []string{"ecs/fixed"}},
	{"ecs/internal/workers", nil},
	{"ecs", []string{"ecs/fixed", "ecs/image", "ecs/internal/workers"}},
	{"ecs/space", []string{"ecs", "ecs/fixed"}},
	{"ecs/internal/sample", []string{"ecs", "ecs/fixed"}}, // for tests
	{"ecs/race", nil},                 // for tests
	{"ecs/raworder", []string{"ecs"}}, // for tests
	{"rollback/record/cursor", []string{"ecs", "ecs/fixed", "rollback", "rollback/record"}},
	{"rollback/record/bundle", []string{"ecs", "ecs/fixed", "rollback/record", "rollback/record/cursor", "net/wire"}},
	{"rollback/record", []string{"ecs", "ecs/fixed", "rollback", "net/wire"}},
	{"rollback", []string{"ecs", "ecs/fixed"}},
	{"net/wire", []string{"ecs", "ecs/fixed"}},
	{"net/wire/vectors", nil}, // for tests
	{"net/limit", nil},        // rate limiters without a clock, for both sides of the core
	{"systems/...", []string{"ecs", "ecs/fixed", "ecs/space", "rollback", "net/wire", "net/limit"}},
	// Transport is independent of worlds and strategies.
	{"net/netcode", []string{"net/wire", "net/limit"}},
	{"net/link/...", []string{"net/wire", "net/netcode"}},
	{"net/web", []string{"net/wire", "net/limit"}},
	{"net/agones/...", nil}, // any server can report itself
	{"net/lan", []string{"net/wire", "net/limit"}},
	{"net/simnet", []string{"net/wire", "net/netcode", "net/link/..."}},
	{"net/cluster/...", []string{"net/netcode"}}, // logs are bytes to it
	{"net/broadcast", []string{"ecs", "ecs/fixed", "rollback/..."}},
	{"net/session/...", []string{"ecs", "ecs/fixed", "rollback/...", "net/wire", "net/limit", "net/netcode", "net/link/...", "systems/..."}},
	{"net/room/...", []string{"ecs", "ecs/fixed", "rollback/...", "net/wire", "net/limit", "net/netcode", "net/link/...", "systems/...", "net/session/..."}},
	{"net/client/...", []string{"ecs", "ecs/fixed", "rollback/...", "net/wire", "net/limit", "net/netcode", "net/link/...", "systems/...", "net/session/..."}},
	{"net/server/...", []string{"ecs", "ecs/fixed", "rollback/...", "net/wire", "net/limit", "net/netcode", "net/link/...", "systems/...", "net/session/...", "net/room/..."}},
	// Clocks are for packages outside the core.
	{"net/cost/traffic", []string{"ecs", "ecs/fixed"}}, // without a clock
	{"net/cost", []string{"ecs", "ecs/fixed", "net/cost/traffic"}},
	// Whole matches in virtual time, below matchtest, lab and the profile verb.
	{"net/matchsim/...", []string{"ecs/...", "rollback/...", "systems", "net/wire", "net/link", "net/simnet", "net/session", "net/room", "net/client"}},
	// For tests of game authors: whole matches, but no program.
	{"net/matchtest/...", []string{"ecs/...", "rollback/...", "systems/...", "net/matchsim/...", "net/wire", "net/netcode", "net/link/...", "net/simnet", "net/session/...", "net/room/...", "net/client/...", "net/server/..."}},
	// Whole matches for measurements, without a program.
	{"net/lab/...", []string{"ecs/...", "rollback/...", "systems/...", "net/matchsim", "net/wire", "net/netcode", "net/link/...", "net/simnet", "net/session/...", "net/room/...", "net/client/...", "net/server/...", "net/cost/traffic"}},
	// Pages show data that is passed to them. Their server imports no match, and no page imports the program.
	{"cmd/cli/page/...", []string{"ecs"}},
	{"cmd/cli/replaypage", []string{"ecs", "rollback/...", "cmd/cli/page"}},
	{"cmd/cli/labpage", []string{"ecs", "systems/...", "net/simnet", "net/session", "net/lab", "net/cost/traffic", "cmd/cli/page", "cmd/cli/internal/keys"}},
	{"cmd/cli/admin", []string{"ecs", "rollback/record", "rollback/record/cursor", "systems", "net/cost/...", "net/netcode", "net/room", "net/server", "cmd/cli/page", "cmd/cli/replaypage"}},
	{"cmd/cli/backend/queue", nil}, // matches can be replayed without the rest
	{"cmd/...", []string{"ecs/...", "rollback/...", "systems/...", "net/..."}},
	{"bench/...", []string{"ecs/...", "rollback/...", "systems/...", "net/...", "cmd/..."}},
}

// libraries says which packages may import a library that would spread if it were let.
var libraries = []struct {
	library string
	by      []string
	reason  string
}{
	{"github.com/yohamta/donburi", []string{"ecs", "ecs/internal/sample", "cmd/...", "bench/..."}, "everything else sees worlds through package ecs"},
	{"github.com/xtaci/kcp-go", []string{"net/link"}, "net/link drives the core itself and keeps its sockets out"},
	{"github.com/hajimehoshi/ebiten", []string{"cmd/..."}, "a server must build without a window"},
	{"github.com/charmbracelet", []string{"cmd/..."}, "terminals belong to programs"},
	{"charm.land", []string{"cmd/..."}, "terminals belong to programs"},
	{"github.com/alecthomas/kong", []string{"cmd/..."}, "flags belong to programs"},
	{"github.com/HdrHistogram/hdrhistogram-go", []string{"net/cost", "cmd/...", "bench/..."}, "packages without a clock measure no times"},
	{"golang.org/x/perf", []string{"cmd/cli/internal/costs", "bench/..."}, "only measuring packages compare figures"},
	{"github.com/coder/websocket", []string{"cmd/cli/page/...", "net/web"}, "pages of tools and players of games: each checks origins in one place"},
	{"github.com/quic-go", []string{"net/web"}, "UDP clients do not need QUIC"},
	{"github.com/nats-io", []string{"net/cluster/jetstream/...", "cmd/cli/internal/clusterflags", "cmd/cli/chaos", "cmd/cli/deploy/..."}, "the protocol of a cluster is tested without NATS"},
	{"github.com/prometheus", []string{"cmd/cli/admin", "cmd/cli/backend"}, "metrics are made when an operator asks, and not in a tick"},
	{"github.com/golang-jwt", []string{"cmd/cli/backend"}, "players are authenticated in one place"},
	{"github.com/coreos/go-oidc", []string{"cmd/cli/backend"}, "players are authenticated in one place"},
	{"github.com/getkin/kin-openapi", nil, "only a test checks the description of the backend"},
	{"github.com/klauspost/compress", []string{"rollback/record", "net/session/...", "net/room/...", "net/client/...", "net/server/...", "cmd/...", "bench/..."}, "the core returns bytes; packages that store or send them compress"},
}

// Imports point inward: the simulation can be embedded in another host, tested without a network and read without
// the rest.
func TestImportsPointInward(t *testing.T) {
	files := sourceFiles(t)
	if len(files) < 30 {
		t.Fatalf("only %d files were found: the test shows nothing", len(files))
	}
	for _, f := range files {
		row := slices.IndexFunc(arrows, func(r struct {
			packages string
			may      []string
		}) bool {
			return under(f.dir, r.packages)
		})
		if row < 0 {
			t.Errorf("%s: package %s has no row in arrows: say there what it may import", f.name, f.dir)
			continue
		}
		for _, name := range f.imports() {
			dir, ok := strings.CutPrefix(name, modulePath+"/")
			if dir == "ecs/image" && slices.Contains(arrows[row].may, "ecs") {
				continue
			}
			if ok && !under(dir, arrows[row].may...) && !under(dir, arrows[row].packages) {
				t.Errorf("%s imports %s, which lies outward of %s", f.name, name, arrows[row].packages)
			}
			for _, l := range libraries {
				if strings.HasPrefix(name, l.library) && !under(f.dir, l.by...) {
					t.Errorf("%s imports %s: %s", f.name, name, l.reason)
				}
			}
		}
	}
}
