package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/lab"
)

// placedGame is crumbs.Game without crumbs, at three units per second.
func placedGame() *ecs.Game {
	g := crumbs.Game()
	g.Systems = []ecs.System{{Name: "walk", Run: func(w *ecs.World) {
		for e := range crumbs.Walkers.All(w) {
			in := crumbs.Pads.Of(w, e.B.Player)
			e.A.Vel = fixed.Vec2{X: fixed.FromInt(3*int(in.DX)) / 60, Y: fixed.FromInt(3*int(in.DY)) / 60}
			e.A.Pos = e.A.Pos.Add(e.A.Vel)
		}
	}}}
	return g
}

// A person gets the tables, a program the same figures, and every file that was asked for is there and can be read.
func TestLabTellsAndWritesWhatItMeasured(t *testing.T) {
	dir := t.TempDir()
	out, page := filepath.Join(dir, "not", "yet"), filepath.Join(dir, "lab.md")
	r := do(t, placedGame(), "lab", "--sync", "relay,verify", "--net", "P1,P3", "--for", "2s", "--settle", "0s", "--seed", "4", "--out", out, "--markdown", page)
	if r.code != app.ExitFine || !strings.Contains(r.note, "4 matches measured") || !strings.Contains(r.note, "seed 4") {
		t.Fatalf("exit code %d, note %q", r.code, r.note)
	}
	for _, want := range []string{"when it is seen", "how it moves", "what is hit", "what it sends", "what it computes", "gates", "relay", "verify", "P1 LAN", "P3 typical"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("the tables lack %q:\n%s", want, r.out)
		}
	}
	names := files(t, out)
	for _, want := range []string{"display.png", "display.svg", "error.png", "off-P3.svg", "own-P1.png", "lab.md", "lab.json"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing among %q", want, names)
		}
	}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		switch filepath.Ext(name) {
		case ".png":
			if picture, err := png.Decode(bytes.NewReader(content)); err != nil || picture.Bounds().Dx() < 300 {
				t.Errorf("%s is no picture: %v", name, err)
			}
		case ".svg":
			if !bytes.Contains(content, []byte("<svg")) {
				t.Errorf("%s is no picture", name)
			}
		case ".json":
			var report struct {
				Report struct {
					Results []struct {
						Strategy string
						Remote   struct{ N int } `json:"remote_error"`
					}
				}
			}
			if err := json.Unmarshal(content, &report); err != nil || len(report.Report.Results) != 4 || report.Report.Results[3].Strategy != "verify" ||
				report.Report.Results[3].Remote.N == 0 {
				t.Errorf("%s: %v %+v", name, err, report)
			}
		}
	}
	written, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(written), "| relay | P1 LAN |") || !strings.HasPrefix(string(written), "# crumbs: ") {
		t.Errorf("%v: %s", err, written)
	}
}

// Tables are compared over months: the same seed must give the same figures, but for those in real time.
func TestLabGivesTheSameFiguresForTheSameSeed(t *testing.T) {
	figures := func(seed string) (list []string) {
		r := do(t, placedGame(), "lab", "--sync", "lockstep", "--net", "P3", "--for", "2s", "--settle", "0s", "--seed", seed, "--json")
		if r.code != app.ExitFine || r.note != "" {
			t.Fatalf("exit code %d: %s", r.code, r.note)
		}
		if names := parseEvents(t, r.out); !slices.Equal(names, []string{"start", "match", "result"}) {
			t.Errorf("events %q", names)
		}
		for line := range strings.Lines(r.out) {
			var e struct {
				Match map[string]any `json:"match"`
			}
			if json.Unmarshal([]byte(line), &e) == nil && e.Match != nil {
				for _, real := range []string{"server_ns_per_tick", "client_ns_per_frame", "client_ns_per_frame_p99", "factor_of_real_time"} {
					if v, ok := e.Match[real].(float64); !ok || v <= 0 {
						t.Errorf("%s is %v", real, e.Match[real])
					}
					delete(e.Match, real)
				}
				list = append(list, fmt.Sprint(e.Match))
			}
		}
		return list
	}
	a, b, c := figures("8"), figures("8"), figures("9")
	if len(a) != 1 || !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Errorf("seed 8: %v, again: %v, seed 9: %v", a, b, c)
	}
}

// A game without positions is measured too, as far as it can be.
func TestLabOfAGameWithoutPositionsLeavesThemOut(t *testing.T) {
	r := do(t, crumbs.Game(), "lab", "--sync", "lockstep", "--net", "bad", "--for", "1s", "--bots", "--seed", "1")
	if r.code != app.ExitFine || !strings.Contains(r.out, "–") || !strings.Contains(r.out, "P5 bad") {
		t.Errorf("exit code %d, note %q:\n%s", r.code, r.note, r.out)
	}
}

// A client that differs again and again is removed, which ends the match.
func TestLabFailsIfStatesDiffer(t *testing.T) {
	for _, strategy := range []string{"relay", "lockstep"} {
		r := do(t, desyncingGame(), "lab", "--sync", strategy, "--net", "P1", "--for", "20s", "--settle", "0s")
		if r.code != app.ExitFailed || !strings.Contains(r.note, strategy+" on P1: player") || !strings.Contains(r.note, "differs from the server's") {
			t.Errorf("%s: exit code %d: %s", strategy, r.code, r.note)
		}
	}
}

// Ctrl-C after some matches shows those.
func TestLabStoppedEarlyShowsWhatItHas(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, note := newPipe(), newPipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, placedGame(), []string{"lab", "--net", "P0,P1,P2,P3", "--for", "1h", "--sync", "relay", "--settle", "0s"}, out, note)
	}()
	note.wait(t, ended, func(line string) bool { return strings.HasPrefix(line, "seed ") })
	stop()
	if code := <-ended; code != app.ExitUsage || !strings.Contains(note.String(), "stopped before the first match") {
		t.Errorf("exit code %d: %s", code, note)
	}
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	out, note = newPipe(), newPipe()
	go func() {
		ended <- run(ctx, placedGame(), []string{"lab", "--net", "P0..P9", "--for", "60s", "--sync", "all", "--settle", "0s", "--jobs", "1", "--json"}, out, note)
	}()
	awaitEvent(t, out, ended, "match")
	stop()
	if code := <-ended; code != app.ExitFine {
		t.Errorf("exit code %d: %s", code, out)
	}
	names := parseEvents(t, out.String())
	if n := len(names); names[n-1] != "result" || n < 3 || n > 2+len(syncflags.All)*10/2 {
		t.Errorf("events %q", names)
	}
}

// Minutes of work must not end with a file that cannot be written.
func TestLabFindsOutAtOnceWhetherItsFilesCanBeWritten(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "out", "lab.json"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--markdown", dir}, {"--markdown", filepath.Join(file, "lab.md")}, {"--out", file}, {"--out", filepath.Join(dir, "out")}} {
		r := do(t, placedGame(), append([]string{"lab", "--for", "1h"}, args...)...)
		if r.code != app.ExitUsage || strings.Count(r.note, "\n") != 1 || !strings.Contains(r.note, args[0]+": ") || r.out != "" {
			t.Errorf("%q: exit code %d, note %q", args, r.code, r.note)
		}
	}
}

// The gates are of one kind of run. The output of another run names the reason why none is judged, and its exit code is not 0
// if the gates were requested.
func TestLabJudgesTheGatesOnlyWhereTheyHold(t *testing.T) {
	short := []string{"lab", "--sync", "relay", "--net", "P3", "--for", "1s", "--settle", "0s", "--seed", "1"}
	r := do(t, placedGame(), append(short, "--gates")...)
	if r.code != app.ExitFine || !strings.Contains(r.out, "│ gates") || strings.Contains(r.out, "no gate is judged") {
		t.Errorf("exit code %d, note %q:\n%s", r.code, r.note, r.out)
	}
	for _, args := range [][]string{{"--players", "2"}, {"--bots"}, {"--snap", "1"}} {
		args = append(slices.Clone(short), args...)
		r := do(t, placedGame(), args...)
		if r.code != app.ExitFine || strings.Contains(r.out, "│ gates") || strings.Count(r.out, "no gate is judged: the gates hold") != 1 {
			t.Errorf("%q: exit code %d, note %q:\n%s", args, r.code, r.note, r.out)
		}
		if r = do(t, placedGame(), append(args, "--gates")...); r.code != app.ExitUsage || !strings.Contains(r.note, "--gates: ") || !strings.Contains(r.note, "the gates hold") || r.out != "" {
			t.Errorf("%q with --gates: exit code %d, note %q", args, r.code, r.note)
		}
	}
}

// Wrong names and numbers are refused in one line.
func TestLabRefusesWrongFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--net", "P13"}, {"--net", "P5..P3"}, {"--net", ""}, {"--net", "P1..worse"}, {"--sync", "hope"}, {"--sync", "relay,"}, {"--players", "99"},
		{"--players=-1"}, {"--for", "1ms"}, {"--for", "2h"}, {"--settle=-1s"}, {"--snap", "0"}, {"--snap", "NaN"}, {"--jobs", "1000"}, {"--jobs=-1"},
		{"--out", filepath.Join(os.DevNull, "here")},
	} {
		r := do(t, crumbs.Game(), append([]string{"lab"}, args...)...)
		if r.code != app.ExitUsage || strings.Count(r.note, "\n") != 1 || r.out != "" {
			t.Errorf("%q: exit code %d, note %q, out %q", args, r.code, r.note, r.out)
		}
	}
	g := crumbs.Game()
	g.Bot = nil
	if r := do(t, g, "lab", "--bots"); r.code != app.ExitUsage || !strings.Contains(r.note, "Bot") {
		t.Errorf("--bots without bots: exit code %d: %s", r.code, r.note)
	}
}

// The gates of a game replace those of the engine, and one that cannot be judged is named.
func TestAGameHasItsOwnGates(t *testing.T) {
	play := func(gates ...lab.Gate) (code int, out, note string) {
		var o, n bytes.Buffer
		code = Program{Game: *placedGame(), Gates: gates}.run(t.Context(), []string{"lab", "--net", "P0", "--for", "1s", "--settle", "0s", "--sync", "relay", "--players", "4", "--json"}, &o, &n)
		return code, o.String(), n.String()
	}
	code, out, note := play(lab.Gate{Strategy: "relay", Profile: "P0", Measure: lab.WindowTicks, Most: 1e6})
	if code != app.ExitFine || strings.Count(out, `"most":1000000`) != 1 || strings.Contains(out, `"most":9,`) {
		t.Errorf("exit code %d, %s\n%s", code, out, note)
	}
	if code, out, note := play(lab.Gate{Strategy: "relay", Profile: "P99", Measure: lab.WindowTicks}); code != app.ExitUsage || !strings.Contains(out+note, "P99") {
		t.Errorf("exit code %d, %s%s", code, out, note)
	}
}
