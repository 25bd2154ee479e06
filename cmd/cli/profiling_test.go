package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/costs"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs"
	"tendon/net/cost"
)

// measuredInto measures the placed game and returns the file of costs.
func measuredInto(t *testing.T, dir string, args ...string) (f costs.File, r result) {
	t.Helper()
	args = append([]string{"profile", "--players", "2", "--net", "P5", "--for", "5s", "--runs", "1", "--out", dir}, args...)
	if r = do(t, placedGame(), args...); r.code != app.ExitFine {
		t.Fatalf("%+v", r)
	}
	if err := costs.Read(filepath.Join(dir, "costs.json"), &f); err != nil {
		t.Fatal(err)
	}
	return f, r
}

// The text has the tables, the most expensive systems and the largest turn. The directory has all files, in formats that other
// programs read.
func TestProfilePrintsAndWritesTheCostsOfTicks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	f, r := measuredInto(t, dir, "--allocs")
	for _, want := range []string{"server", "client", "walk", "walk (again)", "allocs/call", "its largest turn: tick ", "1. walk: ", "self/turn"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("the text lacks %q:\n%s", want, r.out)
		}
	}
	for _, report := range []*cost.Report{&f.Server, &f.Client} {
		if report.Turns < 5*60-2 || len(report.Rows) < 6 || len(report.Rows[0].Slices) != costs.Slices || report.Largest.Tick == 0 || len(report.Largest.Parts) == 0 {
			t.Errorf("%s: %+v", report.Name, report)
		}
	}
	if len(f.Reference) != costs.Slices || f.Load.Players != 2 || f.Load.Net != "P5" || f.Load.Sync != "relay" {
		t.Errorf("%+v", f.Load)
	}
	for _, name := range []string{"server", "client", "server-time", "client-time"} {
		picture, err := os.ReadFile(filepath.Join(dir, name+".png"))
		if err == nil {
			_, err = png.Decode(bytes.NewReader(picture))
		}
		drawing, svgErr := os.ReadFile(filepath.Join(dir, name+".svg"))
		if err != nil || svgErr != nil || !bytes.Contains(drawing, []byte("</svg>")) {
			t.Errorf("%s: %v, %v", name, err, svgErr)
		}
	}
	if _, err := readProfile(filepath.Join(dir, "cpu.pprof")); err != nil {
		t.Error(err)
	}
	if left := files(t, dir); len(left) != 10 {
		t.Errorf("left: %q", left)
	}
}

// With --json, the figures are one object a line.
func TestProfileAsJSONHoldsTheCosts(t *testing.T) {
	r := do(t, placedGame(), "profile", "--players", "2", "--net", "P5", "--for", "5s", "--runs", "2", "--json")
	if names := parseEvents(t, r.out); r.code != app.ExitFine || !slices.Equal(names, []string{"start", "result"}) || r.note != "" {
		t.Fatalf("%q %+v", names, r)
	}
	var event struct{ Costs costs.File }
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if err := json.Unmarshal([]byte(lines[1]), &event); err != nil {
		t.Fatal(err)
	}
	f := event.Costs
	if f.Runs != 2 || f.Load.Sync != "relay" || f.Client.Row("resimulate", "walk") == nil || f.Server.Row("simulate", "walk") == nil ||
		!strings.Contains(lines[1], `"events":{"predicted":`) {
		t.Errorf("%+v", f)
	}
}

func readProfile(path string) (*profile.Profile, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return profile.Parse(file)
}

// go tool pprof -tagfocus system=walk shows the samples of that system and no others.
func TestSamplesOfACPUProfileHaveTheSystem(t *testing.T) {
	game := placedGame()
	burn := game.Systems[0].Run
	game.Systems[0].Run = func(w *ecs.World) { // slow enough to be sampled
		for range 200 {
			burn(w)
		}
	}
	game.Systems[0].Name = "burn"
	inside, labelled := 0, 0
	sides, phases := map[string]bool{}, map[string]bool{}
	complete := func() bool {
		return phases["simulate"] && phases["resimulate"] && sides["server"] && sides["client"]
	}
	// A profile has few samples of the server, so runs are added until every label was seen. After 400 samples a missing label
	// is not by chance.
	for run := 0; run < 10 && inside <= 400 && !complete(); run++ {
		for _, s := range profileSamples(t, game) {
			in := slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
				return slices.ContainsFunc(l.Line, func(l profile.Line) bool {
					return strings.HasSuffix(l.Function.Name, "TestSamplesOfACPUProfileHaveTheSystem.func1")
				})
			})
			has := slices.Contains(s.Label["system"], "burn")
			if in {
				inside++
			}
			if has {
				labelled++
				phases[s.Label["phase"][0]], sides[s.Label["side"][0]] = true, true
			}
			if in && !has {
				t.Errorf("a sample inside the system has the labels %v", s.Label)
			}
		}
	}
	if inside == 0 {
		t.Skip("no sample is inside the system")
	}
	if inside > 400 && !complete() || inside > 20 && labelled == 0 {
		t.Errorf("%d samples inside the system, %d labelled, phases %v, sides %v", inside, labelled, phases, sides)
	}
	if labelled > 2*inside+10 { // a few samples are right before and after it
		t.Errorf("%d samples have the label of the system, %d are inside", labelled, inside)
	}
}

// profileSamples returns the samples of a CPU profile that the verb profile writes. It skips the test if there are none.
func profileSamples(t *testing.T, game *ecs.Game) []*profile.Sample {
	t.Helper()
	dir := t.TempDir()
	r := do(t, game, "profile", "--players", "2", "--net", "P5", "--for", "5s", "--runs", "1", "--out", dir)
	if r.code != app.ExitFine {
		t.Fatalf("%+v", r)
	}
	p, err := readProfile(filepath.Join(dir, "cpu.pprof"))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Sample) == 0 {
		t.Skip("no samples: the operating system sent no profiling signals")
	}
	return p.Sample
}

// madeUp returns a file of invented costs: two systems and a phase, with noise.
func madeUp(seed uint64, factor, noise float64) *costs.File {
	dice := rand.New(rand.NewPCG(seed, 7))
	report := func(name string) cost.Report {
		r := cost.Report{Name: name, Turns: 6000, Budget: 16e6}
		for _, row := range []struct {
			phase, system string
			ns, factor    float64
		}{{"save", "", 4000, 1}, {"simulate", "walk", 9000, 1}, {"simulate", "wear", 2000, factor}} {
			out := cost.Row{RowName: cost.RowName{Phase: row.phase, System: row.system}, Calls: 6000}
			for i := range costs.Slices {
				out.Slices = append(out.Slices, row.ns*row.factor*(1+0.3*float64(i%7))*(1+noise*(2*dice.Float64()-1)))
				out.Self += time.Duration(60 * out.Slices[i])
			}
			r.Rows = append(r.Rows, out)
		}
		return r
	}
	return &costs.File{Load: costs.Load{Game: "crumbs", TickRate: 60, Sync: "relay", Net: "P3", Players: 8, Seconds: 30, Seed: 1}, Runs: 1,
		Reference: []float64{1000, 1010, 990}, Sides: costs.Sides{Server: report("server"), Client: report("client")}}
}

func written(t *testing.T, f *costs.File) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "costs.json")
	if err := costs.Write(path, f); err != nil {
		t.Fatal(err)
	}
	return path
}

// The exit code is 1 if a row is significantly worse, and only then.
func TestProfileCompareFailsIfARowIsSignificantlyWorse(t *testing.T) {
	slower := madeUp(2, 1, 0.02)
	for i := range slower.Reference {
		slower.Reference[i] *= 1.4
	}
	for _, r := range []*cost.Report{&slower.Server, &slower.Client} {
		for i := range r.Rows {
			for n := range r.Rows[i].Slices {
				r.Rows[i].Slices[n] *= 1.4
			}
		}
	}
	for _, c := range []struct {
		name string
		new  *costs.File
		args []string
		code int
		says string
	}{
		{"equal", madeUp(1, 1, 0.02), nil, app.ExitFine, "wear"},
		{"noisy", madeUp(2, 1.12, 0.9), nil, app.ExitFine, "wear"},
		{"worse", madeUp(2, 1.3, 0.02), nil, app.ExitFailed, "worse"},
		{"worse, and allowed to be", madeUp(2, 1.3, 0.02), []string{"--worse", "50%"}, app.ExitFine, "1.30"},
		{"slightly worse, and not allowed to be", madeUp(2, 1.05, 0.01), []string{"--worse", "0.02"}, app.ExitFailed, "worse"},
		{"better", madeUp(2, 0.7, 0.02), nil, app.ExitFine, "better"},
		{"on a slower machine", slower, nil, app.ExitFine, "took 1.40 of the time"},
	} {
		args := append([]string{"profile", "--compare", written(t, madeUp(1, 1, 0.02)), written(t, c.new)}, c.args...)
		r := do(t, crumbs.Game(), args...)
		if r.code != c.code || !strings.Contains(r.out, c.says) {
			t.Errorf("%s: %+v", c.name, r)
		}
		if strings.Contains(r.out, "worse") != (c.code == app.ExitFailed) {
			t.Errorf("%s: the table says otherwise than the exit code:\n%s", c.name, r.out)
		}
	}
}

// Files of different loads and other files are refused.
func TestProfileCompareRefusesWhatCannotBeCompared(t *testing.T) {
	old := written(t, madeUp(1, 1, 0.02))
	for what, change := range map[string]func(*costs.Load){
		"game": func(l *costs.Load) { l.Game = "dots" }, "tick rate": func(l *costs.Load) { l.TickRate = 30 }, "strategy": func(l *costs.Load) { l.Sync = "verify" },
		"network": func(l *costs.Load) { l.Net = "P5" }, "number of players": func(l *costs.Load) { l.Players = 4 },
		"length in seconds": func(l *costs.Load) { l.Seconds = 20 }, "seed": func(l *costs.Load) { l.Seed = 2 },
	} {
		f := madeUp(1, 9, 0)
		change(&f.Load)
		if r := do(t, crumbs.Game(), "profile", "--compare", old, written(t, f)); r.code != app.ExitUsage || !strings.Contains(r.note, "the "+what+" is") {
			t.Errorf("%s: %+v", what, r)
		}
	}
	other := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(other, []byte(`{"report": 7}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--compare"}, {"--compare", old}, {"--compare", old, old, old}, {"--compare", old, other}, {"--compare", old, other + ".gone"},
		{"--compare", old, old, "--worse", "much"}, {"--compare", old, old, "--worse=-1%"}, {old}, {"--players", "9"}, {"--net", "P77"}, {"--for", "1ms"}, {"--runs", "0"},
		{"--sync", "hope"}} {
		if r := do(t, crumbs.Game(), append([]string{"profile"}, args...)...); r.code != app.ExitUsage || strings.Count(r.note, "\n") != 1 && !strings.Contains(r.note, "other.json") {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// A demo prints its costs at the end, as text and as JSON.
func TestADemoReportsItsCosts(t *testing.T) {
	slow(t)
	r := do(t, crumbs.Game(), "demo", "--for", "3s", "--bots", "2")
	if !strings.Contains(r.out, "costs of the server: ") || !strings.Contains(r.out, "costs of the client: ") {
		t.Errorf("%+v", r)
	}
	r = do(t, crumbs.Game(), "demo", "--for", "3s", "--bots", "2", "--json")
	for line := range strings.Lines(r.out) {
		var event struct {
			Event   string
			Costs   []cost.Report
			Clients []struct {
				RingBytes int `json:"ring_bytes"`
			}
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		if event.Event != "result" {
			continue
		}
		for _, c := range event.Clients {
			if c.RingBytes < 1<<10 {
				t.Errorf("the saved states of a client have %d bytes", c.RingBytes)
			}
		}
		if c := event.Costs; len(c) != 2 || c[0].Row("simulate", "walk") == nil || c[1].Row("present", "") != nil || c[1].Row("receive", "") == nil {
			t.Errorf("%+v", c)
		}
		return
	}
	t.Errorf("no result: %s", r.out)
}

// A slow tick writes a trace into the directory and prints its path.
func TestADemoRecordsSlowTicks(t *testing.T) {
	slow(t)
	dir, game := filepath.Join(t.TempDir(), "slow"), crumbs.Game()
	wearDown := game.Systems[1].Run
	game.Systems[1].Run = func(w *ecs.World) {
		wearDown(w)
		for begin := time.Now(); w.Tick() == 40 && time.Since(begin) < 50*time.Millisecond; { // three ticks' time
		}
	}
	r := do(t, game, "demo", "--for", "4s", "--bots", "2", "--slow-dir", dir, "--json")
	traces, err := filepath.Glob(filepath.Join(dir, "slow-*.trace"))
	if err != nil || len(traces) == 0 || strings.Count(r.out, `"event":"slow"`) != len(traces) || !strings.Contains(r.out, "slow-001.txt") {
		t.Errorf("%v %q %+v", err, traces, r)
	}
}

// Ctrl-C ends the verb at once.
func TestProfileStoppedEarlyReportsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, note := newPipe(), newPipe()
	code := run(ctx, placedGame(), []string{"profile", "--players", "2", "--for", "1h"}, out, note)
	if code != app.ExitUsage || !strings.Contains(note.String(), "nothing was measured") || out.String() != "" {
		t.Errorf("exit code %d: %s%s", code, out.String(), note.String())
	}
}
