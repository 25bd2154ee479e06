// Package profile is the verb that measures the costs of ticks and compares two measurements.
package profile

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/costs"
	"tendon/cmd/cli/internal/load"
	"tendon/cmd/cli/internal/netflags"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/net/simnet"
)

// Verb measures the costs of ticks under a repeatable load, and compares two such measurements.
type Verb struct {
	syncflags.Flags `embed:""`

	Players int           `help:"Number of bots. Default: 8, or the game's maximum if that is less."`
	For     time.Duration `default:"30s" help:"Measured virtual time of each run."`
	Seed    uint64        `default:"1" help:"Seed of the match and of the network."`
	Runs    int           `default:"3" help:"Number of runs of the same match. For each part of the match, --compare uses the fastest run."`
	Allocs  bool          `help:"Count allocations too, in one more run, which is slow."`
	Out     string        `type:"path" help:"Write costs.json, plots as PNG and SVG, and cpu.pprof into this directory."`
	Compare bool          `help:"Compare two files of --out, the old one first."`
	Worse   string        `default:"10%" help:"Increase of the cost of a system at which --compare fails."`
	Files   []string      `arg:"" optional:"" type:"path" help:"OLD.json and NEW.json, with --compare."`

	netflags.NetFlags `embed:"" set:"rtt=0s" set:"jitter=0s" set:"loss=0"`
	app.TableFlags    `embed:""`
}

// Help explains the verb.
func (Verb) Help() string {
	return `A server and its clients play in virtual time, as fast as the machine allows, on one goroutine: the same seed gives the
same match. Without --net, --rtt, --jitter and --loss, the network is P3. The table shows the costs of each phase of the engine and each system of the game, on the server and on a client
(the mean of all). Systems that are resimulated after a misprediction have their own rows. The costs include the display of
a client, and not the sealing of packets and the sockets. The match is played --runs times. The self time and the share of a
row come, for each part of the match, from the fastest run of that part. Other figures come from the run that was fastest in
total. Ctrl-C ends it with the completed runs.

One more run counts the bytes of the server's messages, by component and by kind of entity. A kind is a set of
components. The parts of states are measured in their entropy code, to a fraction of a bit.

cpu.pprof covers the same runs. Its samples carry the labels system, phase and side, for
  go tool pprof -tagfocus system=NAME cpu.pprof

--compare divides the cost of each part of the match by its cost before. A row is worse if the median of these ratios exceeds
1 by more than --worse. The confidence is 95 % for all rows together. The ratios are corrected for the speed of the machine,
which is measured with a constant piece of work. They are not corrected for other programs: compare on an idle machine.
Files of another load are refused. The exit code is 1 if a system or a phase is worse.

Examples:
  profile
  profile --players 4 --sync predict --net P5 --for 1m
  profile --out before
  profile --compare before/costs.json after/costs.json --worse 10%
  profile --allocs --for 5s --json`
}

// Run measures, or compares.
func (v *Verb) Run(a *app.App) error {
	if v.Compare {
		return v.compare(a)
	}
	c, err := v.config(a)
	if err != nil {
		return err
	}
	if v.Out != "" {
		if err := app.Writable(v.Out); err != nil {
			return fmt.Errorf("--out: %w; choose another directory", err)
		}
	}
	load := costs.Load{Game: a.Game.Name, TickRate: a.Game.TickRate, Sync: strings.TrimPrefix(v.CommandLine(), "--sync "), Net: cmp.Or(c.Profile.Name, netflags.Text(c.Profile)), Players: c.Players, Seconds: v.For.Seconds(), Seed: v.Seed}
	a.Logf("%s · %s · %d players on %s · %v · seed %d", load.Game, load.Sync, load.Players, load.Net, v.For, v.Seed)
	a.Emit("start", app.Fields{"load": load})
	f, err := v.measure(a, c)
	if f == nil {
		return err
	}
	f.Load = load
	if errors.Is(err, errStopped) { // the completed runs are shown
		a.Logf("stopped after %s of %d", app.Counted(f.Runs, "run", "runs"), v.Runs)
		err = nil
	}
	return cmp.Or(err, v.show(a, f))
}

// config checks the flags and returns their load.
func (v *Verb) config(a *app.App) (c load.Config, err error) {
	if v.Players == 0 {
		v.Players = min(8, a.Game.MaxPlayers)
	}
	if len(v.Files) > 0 {
		return c, fmt.Errorf("%s: unexpected file; to compare two files, add --compare", v.Files[0])
	}
	if !v.Given() {
		v.Net = "P3"
	}
	network, err := v.Profile(simnet.Path{})
	err = cmp.Or(err, a.NeedBot(), app.InRange("--players", v.Players, 1, a.Game.MaxPlayers), app.InRange("--for", v.For, 5*time.Second, time.Hour),
		app.InRange("--runs", v.Runs, 1, 100)) // with --for 5s, a slice has a tick or two
	if err != nil {
		return c, err
	}
	strategy, err := v.Strategy(a.Game)
	return load.Config{Game: a.Game, Strategy: strategy, Profile: network, Players: v.Players, Seed: v.Seed}, err
}

// errStopped ends a load that is interrupted.
var errStopped = errors.New("stopped before the first run was over, so nothing was measured")

// measure plays the load --runs times, and once more to count allocations with --allocs. With an error, it may return a file
// of the completed runs.
func (v *Verb) measure(a *app.App, c load.Config) (f *costs.File, err error) {
	runs := v.Runs
	if v.Allocs {
		runs++
	}
	seconds := float64(runs) * (v.For + load.Settle).Seconds()
	bar, played := app.NewProgress(a, int(seconds), "simulated seconds"), time.Duration(0)
	defer bar.Done()
	step := func(d time.Duration) error {
		played += d
		bar.At(int(min(played.Seconds(), seconds)))
		if a.Ctx.Err() != nil {
			return errStopped
		}
		return nil
	}
	f = &costs.File{Machine: fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())}
	stop := func() error { return nil }
	switch {
	case v.Out != "" && a.Common.PprofKind != "none":
		a.Logf("no cpu.pprof is written, since --profile %s was given", a.Common.PprofKind)
	case v.Out != "":
		if stop, err = a.Profile("cpu", v.Out); err != nil {
			return nil, err
		}
	}
	var done []costs.Sides
	for len(done) < v.Runs && err == nil {
		var s costs.Sides
		if s, err = v.once(c, f, step); err == nil {
			done = append(done, s)
		}
	}
	unwritten := stop()
	if err != nil && (!errors.Is(err, errStopped) || len(done) == 0) {
		return nil, err
	}
	f.Merge(done)
	if err == nil {
		var counted costs.Sides
		c.Allocs, c.Bytes = v.Allocs, true
		if counted, err = v.once(c, &costs.File{}, step); err == nil {
			f.AddCounts(counted)
		}
	}
	return f, cmp.Or(unwritten, err)
}

// once plays the load slice by slice. An interrupted run does not count.
func (v *Verb) once(c load.Config, f *costs.File, step func(time.Duration) error) (s costs.Sides, err error) {
	l, err := load.New(c)
	if err != nil {
		return s, err
	}
	if err := l.Prepare(step); err != nil {
		return s, err
	}
	runtime.GC() // garbage of joining does not belong to the match
	for range costs.Slices {
		if err := l.Play(v.For/costs.Slices, step); err != nil {
			return s, err
		}
		for _, ledger := range l.Ledgers() {
			ledger.Cut()
		}
		f.Reference = append(f.Reference, reference())
	}
	f.Events.Predicted, f.Events.Cancelled = l.Events()
	s.Server, s.Client = l.Reports()
	return s, nil
}

// reference returns the duration of a constant piece of work in ns, the median of some times: the speed of the machine.
func reference() float64 {
	text := make([]byte, 1<<18)
	times := make([]float64, 9)
	for i := range times {
		begin := time.Now()
		text[0] = byte(xxhash.Sum64(text))
		times[i] = float64(time.Since(begin))
	}
	return costs.Median(times)
}

// show prints the measurement and writes the files.
func (v *Verb) show(a *app.App, f *costs.File) error {
	a.Print(costs.Render(f, v.Allocs, v.Wide))
	a.Emit("result", app.Fields{"costs": f, "dearest": map[string][]costs.SystemCost{"server": costs.Dearest(&f.Server), "client": costs.Dearest(&f.Client)}})
	if v.Out == "" {
		return nil
	}
	path := filepath.Join(v.Out, "costs.json")
	if err := cmp.Or(costs.Write(path, f), costs.Plot(f, v.Out)); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	a.Logf("costs, plots and profile are in %s; compare with another run by %s profile --compare %s OTHER.json", v.Out, a.Program, app.Quoted(path))
	return nil
}

// compare compares the costs of two files. It fails if a row is worse.
func (v *Verb) compare(a *app.App) error {
	if len(v.Files) != 2 {
		return fmt.Errorf("--compare takes two files, the old one and the new one, and got %d: give OLD.json NEW.json", len(v.Files))
	}
	number, isPercent := strings.CutSuffix(strings.TrimSpace(v.Worse), "%")
	limit, err := strconv.ParseFloat(number, 64)
	if isPercent {
		limit /= 100
	}
	if err != nil || !(limit >= 0 && limit <= 100) {
		return fmt.Errorf("--worse %s: give a percentage such as 10%%", v.Worse)
	}
	var files [2]costs.File
	for i, path := range v.Files {
		if err := costs.Read(path, &files[i]); err != nil {
			return err
		}
	}
	if err := costs.CheckLoads(v.Files, &files[0], &files[1]); err != nil {
		return err
	}
	rows, speed, err := costs.Compare(&files[0], &files[1], limit)
	if err != nil {
		return err
	}
	worse := 0
	for _, r := range rows {
		if r.Verdict == "worse" {
			worse++
		}
	}
	a.Print(costs.RenderComparison(rows, speed, v.Wide))
	a.Emit("comparison", app.Fields{"rows": rows, "machine": speed, "worse": worse, "limit": limit})
	if worse > 0 {
		return fmt.Errorf("%w: %s slower than before by more than %s", app.ErrFailed, app.Counted(worse, "row is", "rows are"), v.Worse)
	}
	return nil
}
