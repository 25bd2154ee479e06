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

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// dotsBinary is cmd/dots as a program, for tests of signals and of processes that are killed; "" with -short.
var dotsBinary string

// asCrumbs is set for a process that is testGame's own program: this test's executable, started again.
const asCrumbs = "CLI_TEST_AS_CRUMBS"

func TestMain(m *testing.M) {
	if os.Getenv(asCrumbs) != "" {
		Main(*testGame())
	}
	flag.Parse()
	os.Exit(withBinary(m))
}

func withBinary(m *testing.M) int {
	if testing.Short() {
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
	if testing.Short() {
		t.Skip("plays in real time")
	}
	t.Parallel()
}

type (
	testBody struct{ Pos, Vel fixed.Vec2 }
	testWear struct{ Left int32 }
	testPad  struct{ DX, DY int8 }
)

var (
	bodyType = ecs.NewComponent("body", ecs.Roles[testBody]{
		Lerp: func(a, b testBody, t float64) testBody { return testBody{a.Pos.Lerp(b.Pos, fixed.FromFloat(t)), b.Vel} },
		Motion: func(b *testBody) ecs.Motion {
			return ecs.Motion{Pos: fixed.Vec3{X: b.Pos.X, Y: b.Pos.Y}, Vel: fixed.Vec3{X: b.Vel.X * 60, Y: b.Vel.Y * 60}}
		},
		SetMotion: func(b *testBody, m ecs.Motion) {
			*b = testBody{Pos: fixed.Vec2{X: m.Pos.X, Y: m.Pos.Y}, Vel: fixed.Vec2{X: m.Vel.X / 60, Y: m.Vel.Y / 60}}
		},
	})
	seatType = ecs.NewComponent[ecs.Seat]("seat")
	wearType = ecs.NewComponent[testWear]("wear")
	padType  = ecs.NewInput[testPad]()

	walkers = ecs.NewQuery2(ecs.Write(bodyType), ecs.Read(seatType))
	crumbs  = ecs.NewQuery1(ecs.Write(wearType))
)

// testGame is a small deterministic game: players walk and leave crumbs that wear away.
func testGame() *ecs.Game {
	return &ecs.Game{
		Name: "crumbs", TickRate: 60, MaxPlayers: 4, Input: padType, Components: ecs.Components(bodyType, seatType, wearType),
		Systems: []ecs.System{{Name: "walk", Run: walk(1)}, {Name: "wear", Run: wear}},
		Join: func(w *ecs.World, p ecs.Player) {
			seatType.Put(w, w.Spawn(ecs.OwnedBy(p), bodyType, seatType), ecs.Seat{Player: p})
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range walkers.All(w) {
				if e.B.Player == p {
					w.Despawn(e.Entity())
				}
			}
		},
		Result: func(w *ecs.World) []byte { // a round is two seconds
			if w.Tick()%120 != 0 {
				return nil
			}
			return fmt.Appendf(nil, "round %d", w.Tick()/120)
		},
		Bot: func(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes {
			now := padType.Unpack(w.Image().Input(p))
			if r.Chance(1, 8) {
				now = testPad{DX: int8(r.IntN(3) - 1), DY: int8(r.IntN(3) - 1)}
			}
			return padType.Pack(now)
		},
	}
}

// walk returns the rule that moves players by so much a tick.
func walk(speed int) func(w *ecs.World) {
	return func(w *ecs.World) {
		for e := range walkers.All(w) {
			in := padType.Of(w, e.B.Player)
			e.A.Vel = fixed.Vec2{X: fixed.FromInt(speed * int(in.DX)), Y: fixed.FromInt(speed * int(in.DY))}
			e.A.Pos = e.A.Pos.Add(e.A.Vel)
			if in.DX > 0 {
				wearType.Put(w, w.Spawn(ecs.OwnedBy(e.B.Player), wearType), testWear{Left: 20})
			}
		}
	}
}

func wear(w *ecs.World) {
	for e := range crumbs.All(w) {
		if e.A.Left--; e.A.Left <= 0 {
			w.Despawn(e.Entity())
		}
	}
}

// fasterGame has the same name, components and systems as testGame, and another rule behind one of them, as a version
// of the game whose author forgot that old recordings exist.
func fasterGame() *ecs.Game {
	g := testGame()
	g.Systems[0].Run = walk(2)
	return g
}

// widerGame is another version of testGame: same name, one component more.
func widerGame() *ecs.Game {
	g := testGame()
	g.Components = append(g.Components, extraType)
	return g
}

var extraType = ecs.NewComponent[testWear]("extra")

// outside is state that no image holds.
var outside atomic.Int64

// desyncingGame reads a counter outside the image, so no two computations of a tick come out alike.
func desyncingGame() *ecs.Game {
	g := testGame()
	g.Systems = append(g.Systems, ecs.System{Name: "leak", Run: func(w *ecs.World) {
		for e := range walkers.All(w) {
			e.A.Vel.X = fixed.FromInt(int(outside.Add(1) % 1000))
		}
	}})
	return g
}

// pipe is a buffer that several goroutines write into and a test waits on.
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

// wait returns as soon as ok accepts a whole line of what was written.
func (p *pipe) wait(t *testing.T, ended <-chan int, ok func(line string) bool) string {
	t.Helper()
	for {
		p.mu.Lock()
		text, changed := p.text.String(), p.changed
		p.mu.Unlock()
		for line := range strings.Lines(text) {
			if strings.HasSuffix(line, "\n") && ok(line) {
				return line
			}
		}
		select {
		case <-changed:
		case code := <-ended:
			t.Fatalf("ended with exit code %d before what the test waits for:\n%s", code, p.String())
		}
	}
}

// result is what a command line came to.
type result struct {
	code      int
	out, note string
}

// mostWait ends what should have ended by itself.
const mostWait = 2 * time.Minute

// do carries out a command line to its end.
func do(t *testing.T, g *ecs.Game, args ...string) result {
	t.Helper()
	var out, note = newPipe(), newPipe()
	ctx, cancel := context.WithTimeout(t.Context(), mostWait)
	defer cancel()
	code := run(ctx, g, args, out, note)
	return result{code, out.String(), note.String()}
}

// running is a command line that goes on in the background.
type running struct {
	out, note *pipe
	stop      context.CancelFunc
	ended     chan int
}

// background starts a command line. It is ended with the test.
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

// awaitEvent returns the first line of JSON whose event has that name.
func awaitEvent(t *testing.T, out *pipe, ended <-chan int, name string) event {
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

// serving starts a server and returns it with its address and a token for it.
func serving(t *testing.T, g *ecs.Game, args ...string) (r *running, address, token string) {
	t.Helper()
	r = background(t, g, append([]string{"serve", "--json", "--listen", "127.0.0.1:0"}, args...)...)
	address = awaitEvent(t, r.out, r.ended, "listening").text("public")
	return r, address, awaitEvent(t, r.out, r.ended, "join").text("token")
}

// files lists what is in a directory.
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
