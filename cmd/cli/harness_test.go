package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// dotsBinary is the path of the built cmd/dots, for tests of signals and of killed processes; "" without TENDON_LONG.
var dotsBinary string

// asCrumbs is set in the environment of a process that is the program of crumbs: the executable of this test.
const asCrumbs = "CLI_TEST_AS_CRUMBS"

func TestMain(m *testing.M) {
	os.Setenv(app.ProgramVariable, "crumbs") // the path of the test would not fit the tables
	switch os.Getenv(asCrumbs) {
	case "wider":
		Main(*widerGame())
	case "shown":
		Main(*shownGame())
	case "":
	default:
		Main(*crumbs.Game())
	}
	flag.Parse()
	os.Exit(withBinary(m))
}

func withBinary(m *testing.M) int {
	if os.Getenv("TENDON_LONG") == "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "cli-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	dotsBinary = filepath.Join(dir, "dots")
	build := exec.Command("go", "build", "-tags", "headless", "-o", dotsBinary, "tendon/cmd/dots")
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cmd/dots does not build: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}

// slow marks a test that takes seconds: it plays in real time.
func slow(t *testing.T) {
	t.Helper()
	if os.Getenv("TENDON_LONG") == "" {
		t.Skip("plays in real time")
	}
	t.Parallel()
}

// fasterGame has the same name, components and systems as crumbs.Game, and another rule in one of them. Its fingerprint is the
// same, so it accepts its recordings and plays them differently.
func fasterGame() *ecs.Game {
	g := crumbs.Game()
	g.Systems[0].Run = crumbs.Walk(2)
	return g
}

// widerGame is another version of crumbs.Game: the same name, and one more component.
func widerGame() *ecs.Game {
	g := crumbs.Game()
	g.Components = append(g.Components, extraType)
	return g
}

var extraType = ecs.NewComponent[crumbs.Wear]("extra")

// outside is state outside of images.
var outside atomic.Int64

// desyncingGame reads a counter outside the image, so every simulation of a tick gives another result.
func desyncingGame() *ecs.Game {
	g := crumbs.Game()
	g.Systems = append(g.Systems, ecs.System{Name: "leak", Run: func(w *ecs.World) {
		for e := range crumbs.Walkers.All(w) {
			e.A.Vel.X = fixed.FromInt(int(outside.Add(1) % 1000))
		}
	}})
	return g
}

// pipe is a buffer that several goroutines write and a test waits for.
type pipe struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{} // closed at the next write
}

func newPipe() *pipe { return &pipe{changed: make(chan struct{})} }

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Write(b)
	close(p.changed)
	p.changed = make(chan struct{})
	return len(b), nil
}

func (p *pipe) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// find returns the first whole line that ok accepts, or "", and a channel that is closed at the next write.
func (p *pipe) find(ok func(line string) bool) (found string, changed <-chan struct{}) {
	p.mu.Lock()
	text, changed := p.text.String(), p.changed
	p.mu.Unlock()
	for line := range strings.Lines(text) {
		if strings.HasSuffix(line, "\n") && ok(line) {
			return line, changed
		}
	}
	return "", changed
}

// wait returns the first whole line that ok accepts. ended has a buffer, and still has the exit code afterwards.
func (p *pipe) wait(t *testing.T, ended chan int, ok func(line string) bool) string {
	t.Helper()
	for {
		line, changed := p.find(ok)
		if line != "" {
			return line
		}
		select {
		case <-changed:
		case code := <-ended:
			ended <- code
			if line, _ = p.find(ok); line != "" { // written since
				return line
			}
			t.Fatalf("ended with exit code %d before the expected line:\n%s", code, p.String())
		}
	}
}

// result is the result of a command line.
type result struct {
	code      int
	out, note string
}

// maxWait ends a command line that does not end by itself.
const maxWait = 2 * time.Minute

// do runs a command line.
func do(t *testing.T, g *ecs.Game, args ...string) result {
	t.Helper()
	var out, note = newPipe(), newPipe()
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	code := run(ctx, g, args, out, note)
	return result{code, out.String(), note.String()}
}

// running is a command line in the background.
type running struct {
	out, note *pipe
	stop      context.CancelFunc
	ended     chan int
}

// background starts a command line, which ends with the test.
func background(t *testing.T, g *ecs.Game, args ...string) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{out: newPipe(), note: newPipe(), stop: cancel, ended: make(chan int, 1)}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		r.ended <- run(ctx, g, args, r.out, r.note)
	}()
	t.Cleanup(func() { cancel(); <-finished })
	return r
}

// event is a line of --json.
type event map[string]any

func (e event) text(name string) string { s, _ := e[name].(string); return s }

// awaitEvent returns the first event of that name.
func awaitEvent(t *testing.T, out *pipe, ended chan int, name string) event {
	t.Helper()
	var found event
	out.wait(t, ended, func(line string) bool {
		var e event
		if json.Unmarshal([]byte(line), &e) != nil || e["event"] != name {
			return false
		}
		found = e
		return true
	})
	return found
}

// serving starts a server and returns it with its address and a token.
func serving(t *testing.T, g *ecs.Game, args ...string) (r *running, address, token string) {
	t.Helper()
	r = background(t, g, append([]string{"serve", "--json", "--listen", "127.0.0.1:0"}, args...)...)
	address = awaitEvent(t, r.out, r.ended, "listening").text("public")
	return r, address, awaitEvent(t, r.out, r.ended, "join").text("token")
}

// files lists a directory.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
