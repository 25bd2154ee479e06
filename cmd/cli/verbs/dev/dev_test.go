package dev_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/ecs/race"
	"tendon/rollback/record"
)

// game is a program whose rules the test changes: FIELDS of the body, and MOVE for each body in each tick.
const game = `package main

import (
	"tendon/cmd/cli"
	"tendon/ecs"
)

type Body struct {
	FIELDS
}

type Pad struct{ DX int8 }

var (
	body = ecs.NewComponent[Body]("body")
	seat = ecs.NewComponent[ecs.Seat]("seat")
	pad  = ecs.NewInput[Pad]()
	all  = ecs.NewQuery2(ecs.Write(body), ecs.Read(seat))
)

func move(w *ecs.World) {
	for e := range all.All(w) {
		MOVE
	}
}

func join(w *ecs.World, p ecs.Player, _ ecs.Card) {
	seat.Put(w, w.Spawn(ecs.OwnedBy(p), body, seat), ecs.Seat{Player: p})
}

func leave(w *ecs.World, p ecs.Player) {
	for e := range all.All(w) {
		if e.B.Player == p {
			w.Despawn(e.Entity())
		}
	}
}

func bot(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes { return pad.Pack(Pad{DX: int8(r.IntN(3) - 1)}) }

func main() {
	cli.Main(ecs.Game{Name: "changing", TickRate: 60, MaxPlayers: 4, Input: pad, Components: ecs.Components(body, seat), Systems: ecs.Systems(move), Join: join, Leave: leave, Bot: bot})
}
`

// rig is a module with the game, and the process of dev.
type rig struct {
	t      *testing.T
	dir    string
	lines  *bufio.Scanner
	events map[string]int // by kind
}

// save writes the program, as a whole: dev builds a file that is half written, too.
func (r *rig) save(fields, move string) time.Time {
	r.t.Helper()
	text := strings.NewReplacer("FIELDS", fields, "MOVE", move).Replace(game)
	written := filepath.Join(r.dir, "written")
	err := os.WriteFile(written, []byte(text), 0o644)
	if err == nil {
		err = os.Rename(written, filepath.Join(r.dir, "main.go"))
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return time.Now()
}

// line is a line of JSON.
type line struct {
	Event, Error, Builds, Recordings string
	Tick                             uint64
	Build                            int64 `json:"build_ms"`
	Back                             int64 `json:"back_ms"`
}

// await returns the next event of a kind. Another kind of those that dev prints about a change is an error.
func (r *rig) await(kind string) (l line) {
	r.t.Helper()
	for r.lines.Scan() {
		l = line{}
		_ = json.Unmarshal(r.lines.Bytes(), &l)
		if r.events[l.Event]++; l.Event == kind {
			return l
		}
		if l.Event == "changed" || l.Event == "refused" || l.Event == "error" {
			r.t.Fatalf("%s, want %s", r.lines.Bytes(), kind)
		}
	}
	r.t.Fatalf("dev ended before %s: %v", kind, r.lines.Err())
	return l
}

// replay replays a recording and returns its lines of JSON.
func (r *rig) replay(builds, file string, args ...string) string {
	r.t.Helper()
	c := exec.Command("./game", append([]string{"replay", file, "--builds", builds, "--json"}, args...)...)
	c.Dir = r.dir
	out, err := c.CombinedOutput()
	if err != nil {
		r.t.Fatalf("replay %s %q: %v\n%s", file, args, err, out)
	}
	return string(out)
}

// number returns a field of player 0's body in a tick.
func (r *rig) number(builds, file, field string, tick uint64) (n int) {
	r.t.Helper()
	at := fmt.Sprint(tick)
	for text := range strings.Lines(r.replay(builds, file, "--field", "body."+field, "--entity", "p0:0", "--from", at, "--to", at)) {
		var l struct {
			Series struct{ Points []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(text), &l); err == nil && len(l.Series.Points) == 1 {
			if _, err := fmt.Sscan(l.Series.Points[0].Text, &n); err == nil {
				return n
			}
		}
	}
	r.t.Fatalf("%s has no %s in tick %d", file, field, tick)
	return 0
}

// newRig makes the module, builds its program and starts dev.
func newRig(t *testing.T) (*rig, func()) {
	t.Helper()
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: t.TempDir(), events: map[string]int{}}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	sum, bad := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil || bad != nil {
		t.Fatal(err, bad)
	}
	text := strings.Replace(string(mod), "module tendon\n", "module changing\n", 1) + "\nrequire tendon v0.0.0\n\nreplace tendon => " + root + "\n"
	if err := os.WriteFile(filepath.Join(r.dir, "go.mod"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "go.sum"), sum, 0o644); err != nil {
		t.Fatal(err)
	}
	r.save("X, Y int32", "e.A.X++; e.A.Y++")
	build := exec.Command("go", "build", "-tags", "headless", "-o", "game", ".")
	build.Dir = r.dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dev := exec.Command("./game", "dev", "--headless", "--bots", "1", "--net", "P1", "--json")
	dev.Dir, dev.Stderr = r.dir, os.Stderr
	out, err := dev.StdoutPipe()
	if err == nil {
		err = dev.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.lines = bufio.NewScanner(out)
	return r, func() {
		_ = dev.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, out)
		if err := dev.Wait(); err != nil {
			t.Errorf("dev: %v", err)
		}
	}
}

// A match continues over changes of a constant, of fields and of rules that panic. It keeps its number, its players and its
// state, and each part of it can be replayed. A field with another type is refused, and so is a program that does not compile:
// the match goes on.
func TestAMatchContinuesWhileItsProgramChanges(t *testing.T) {
	if !race.Long {
		t.Skip("builds programs and plays in real time")
	}
	r, stop := newRig(t)
	started := r.await("started")
	changed := func(fields, move string) {
		t.Helper()
		at := r.save(fields, move)
		l := r.await("changed")
		t.Logf("tick %d: %d ms from save to the new rules without the %d ms of the build; the processes took %d ms", l.Tick, time.Since(at).Milliseconds()-l.Build, l.Build, l.Back)
	}
	refused := func(fields, move string, want ...string) {
		t.Helper()
		r.save(fields, move)
		l := r.await("refused")
		for _, w := range want {
			if !strings.Contains(l.Error, w) {
				t.Errorf("%q, want %q", l.Error, w)
			}
		}
	}
	changed("X, Y int32", "e.A.X += 3; e.A.Y++")
	changed("Z int16; X, Y int32", "e.A.X += 3; e.A.Y++; e.A.Z = 9")
	refused("Z int16; X int64; Y int32", "e.A.X += 3", `component "body": field X was int32 and is int64`)
	refused("Z int16; X, Y int32", "e.A.X += 3 +", "main.go", "syntax error")
	changed("Z int16; X int32", "e.A.X += 5")
	r.save("Z int16; X int32", `e.A.X += 5; if w.Tick() > 0 { panic("a mistake") }`)
	r.await("refused") // its first ticks are tried before
	changed("Z int16; X int32", `e.A.X += 5; if w.Tick() > 10 { panic("a mistake") }`)
	r.await("ended")
	changed("Z int16; X int32", "e.A.X += 7")
	stop()
	if n := r.events["unchanged"]; n > 0 {
		t.Errorf("%d builds of files that had not changed", n)
	}

	files, err := filepath.Glob(filepath.Join(started.Recordings, "*"))
	if err != nil || len(files) != 6 {
		t.Fatalf("%q: %v", files, err)
	}
	type part struct {
		file        string
		header      record.Header
		first, last uint64
	}
	var parts []part
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		h, err := record.ReadHeader(data)
		if err != nil {
			t.Fatal(err)
		}
		p := part{file: f, header: h}
		for text := range strings.Lines(r.replay(started.Builds, f, "--verify")) {
			var l struct {
				Event       string
				First, Last uint64
			}
			if json.Unmarshal([]byte(text), &l) == nil && l.Event == "recording" {
				p.first, p.last = l.First, l.Last
			}
		}
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b part) int { return int(a.first+a.last) - int(b.first+b.last) })
	joins := 0
	for i, p := range parts {
		dump := r.replay(started.Builds, p.file, "--dump")
		joins += strings.Count(dump, `"join of player`)
		if strings.Contains(dump, `"leave of player`) && i+1 < len(parts) {
			t.Errorf("a player left in the ticks %d to %d", p.first, p.last)
		}
		if rules := strings.Count(dump, `"change of the rules`); rules != min(i, 1) && p.last > p.first+10 {
			t.Errorf("ticks %d to %d have %d orders of a change", p.first, p.last, rules)
		}
		if i == 0 {
			continue
		}
		before := parts[i-1]
		if p.header.Match != before.header.Match || p.first > before.last || before.last > p.first+10 || p.header.Build == before.header.Build {
			t.Errorf("match %x, ticks %d to %d, after match %x, ticks %d to %d", p.header.Match, p.first, p.last, before.header.Match, before.first, before.last)
		}
		if was, is := r.number(started.Builds, before.file, "X", p.first), r.number(started.Builds, p.file, "X", p.first); was != is || was < int(before.last-parts[0].first)/2 {
			t.Errorf("X was %d and is %d in tick %d", was, is, p.first)
		}
		speed := []int{1, 3, 3, 5, 5, 7}[i]
		if p.last < p.first+10 {
			continue // the rules panicked in one of the first ticks
		}
		if from, to := r.number(started.Builds, p.file, "X", p.first), r.number(started.Builds, p.file, "X", p.first+5); to-from != 5*speed {
			t.Errorf("X goes from %d to %d in 5 ticks, want %d in each", from, to, speed)
		}
	}
	if joins != 2 {
		t.Errorf("%d players joined, want 2", joins)
	}
	if z := r.number(started.Builds, parts[2].file, "Z", parts[2].first); z != 0 {
		t.Errorf("a new field is %d", z)
	}
	if z := r.number(started.Builds, parts[3].file, "Z", parts[3].first); z != 9 {
		t.Errorf("a field that stays is %d", z)
	}
	// The program of now is the first one: the last ten seconds by the rules of the second, again by those of the first.
	if out := r.replay(started.Builds, parts[1].file, "--redo"); !strings.Contains(out, `"component":"body"`) || !strings.Contains(out, `"field":"X"`) {
		t.Errorf("%s", out)
	}
}
