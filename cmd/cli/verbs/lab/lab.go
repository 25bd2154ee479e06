// Package lab is the verb that compares sync strategies on simulated networks.
package lab

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/netflags"
	"tendon/cmd/cli/internal/static"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/net/lab"
	"tendon/net/simnet"
	"tendon/systems"
)

// Verb measures sync strategies against each other.
type Verb struct {
	Sync     string        `default:"all" help:"Strategies to measure, with commas between, or all."`
	Players  int           `help:"Number of clients. Default: 4, or the game's maximum if that is less."`
	For      time.Duration `default:"60s" help:"Measured virtual time of each match."`
	Settle   time.Duration `default:"5s" help:"Virtual time between the join of the last client and the measurement."`
	Seed     uint64        `help:"Seed of networks, worlds and script. Default: a random one, which is printed."`
	Bots     bool          `help:"Let bots play, each on the world of its client, instead of one recorded script for all matches."`
	Snap     float64       `default:"2" help:"Shortest jump that counts as a snap, in world units."`
	Jobs     int           `help:"Number of matches played in parallel. Default: one per core, at most 64. Measured costs are most exact with 1."`
	Gates    bool          `help:"Fail if a gate, which is a bound of a measurement, is missed without a known reason."`
	Markdown string        `type:"path" help:"Write the tables into this file, as Markdown."`
	Out      string        `type:"path" help:"Write the tables, the report as JSON and plots as PNG and SVG into this directory."`

	Picture string `type:"path" placeholder:"FILE.gif" group:"The page" help:"Write an animated GIF of the page into this file, with the same keys under each strategy. No browser is needed."`

	netflags.NetFlags `embed:"" set:"rtt=0s" set:"jitter=0s" set:"loss=0"`
	app.TableFlags    `embed:""`
	PageFlags         `embed:""`
	static.Flag       `embed:""`
}

// Help explains the verb.
func (Verb) Help() string {
	return `Every strategy plays the same inputs on every network profile, in a simulated network and in virtual time, as fast as
the machine allows. Each client shows 60 frames a second, which are compared with the states of the server. Times are in
milliseconds and lengths in world units. --net takes several profiles with commas between, ranges such as P0..P5, and all,
which is the default. Rates are of one client. The same seed gives the same table, except for the costs
in real time.

The inputs are those of the game's bots, recorded without a network; for a game without bots they are random. Ctrl-C ends
the run with the matches that are finished. The exit code is 1 if a confirmed state differed, if a match failed, or if no
match could be measured. With --gates it is also 1 if a gate is missed without a known reason. The gates are those that the
program gives to cli.Main, or those of the engine. They hold for
four players who follow the script, with the default --snap. Other runs have no gates. A match of less than 60 s misses no gate.

Examples:
  lab
  lab --sync relay,lockstep --net P3,P5 --for 20s
  lab --rtt 250ms --loss 10
  lab --net P0..P5 --out figures --markdown lab.md
  lab --net P3,P5,P7 --seed 1 --gates
  lab --net bad --bots --json
  lab --page                    play with two strategies side by side
  lab --export site --net P5    the same page for a web server, as files
  lab --picture lab.gif         a moving picture of it`
}

// Run plays the matches and reports the measurements, or serves the page.
func (v *Verb) Run(a *app.App) error {
	if v.Page || v.Export != "" || v.Picture != "" {
		return v.page(a)
	}
	if err := v.PageFlags.Check(); err != nil {
		return err
	}
	c, err := v.config(a)
	if err != nil {
		return err
	}
	if err := v.prepare(); err != nil {
		return err
	}
	matches := len(c.Strategies) * len(c.Profiles)
	a.Logf("seed %d: %s of %v", v.Seed, app.Counted(matches, "match", "matches"), v.For)
	a.Emit("start", app.Fields{"seed": app.ID(v.Seed), "matches": matches, "for_s": v.For.Seconds()})
	seconds := float64(matches) * (c.For + c.Settle).Seconds()
	progress, begin := app.NewProgress(a, int(seconds), "simulated seconds"), time.Now()
	c.Clock = func() time.Duration { return time.Since(begin) }
	c.Progress = func(done float64) bool {
		progress.At(int(done * seconds))
		return a.Ctx.Err() == nil
	}
	c.Finished = func(r lab.Result) { a.Emit("match", app.Fields{"match": r}) }
	report, err := lab.Run(c)
	progress.Done()
	switch {
	case errors.Is(err, lab.ErrStopped) && len(report.Results) == 0:
		return errors.New("stopped before the first match was measured")
	case v.Gates && errors.Is(err, lab.ErrConfig):
		return fmt.Errorf("--gates: %w", err)
	case err != nil && !errors.Is(err, lab.ErrStopped):
		return err
	}
	return v.show(a, &report, matches, time.Since(begin))
}

// file is a file of the results, with the flag that asks for it.
type file struct {
	flag, path string
	content    []byte
}

// files returns the files that the flags ask for, with the tables as Markdown and the report as JSON.
func (v *Verb) files(tables, report []byte) (list []file) {
	if v.Markdown != "" {
		list = append(list, file{"--markdown", v.Markdown, tables})
	}
	if v.Out != "" {
		list = append(list, file{"--out", filepath.Join(v.Out, "lab.md"), tables}, file{"--out", filepath.Join(v.Out, "lab.json"), report})
	}
	return list
}

// prepare checks, before minutes of work, that the results can be written.
func (v *Verb) prepare() error {
	for _, f := range v.files(nil, nil) {
		if err := cmp.Or(app.Writable(filepath.Dir(f.path)), app.Replaceable(f.path)); err != nil {
			return fmt.Errorf("%s: %w", f.flag, err)
		}
	}
	return nil
}

// config returns what the flags describe.
func (v *Verb) config(a *app.App) (c lab.Config, err error) {
	v.Seed, v.Jobs = app.ChooseSeed(v.Seed), cmp.Or(v.Jobs, min(runtime.GOMAXPROCS(0), 64))
	c = lab.Config{Game: a.Game, Players: v.Players, For: v.For, Settle: cmp.Or(v.Settle, -1), Seed: v.Seed, Bots: v.Bots, Snap: v.Snap, Judged: v.Gates, Jobs: v.Jobs}
	if err := lab.CheckGates(a.Gates, syncflags.All); err != nil {
		return c, err
	}
	switch {
	case v.Bots && a.Game.Bot == nil:
		return c, errors.New("--bots: the game has no Bot: leave --bots out, or set ecs.Game.Bot")
	case !(v.Snap > 0):
		return c, fmt.Errorf("--snap %g: give a length above 0", v.Snap)
	}
	err = cmp.Or(app.InRange("--players", v.Players, 0, a.Game.MaxPlayers), app.InRange("--for", v.For, time.Second, time.Hour),
		app.InRange("--settle", v.Settle, 0, time.Hour), app.InRange("--jobs", v.Jobs, 1, 64))
	if err != nil {
		return c, err
	}
	if c.Strategies = syncflags.For(a.Game); v.Sync != everything {
		if c.Strategies, err = chosenStrategies(v.Sync); err != nil {
			return c, err
		}
	}
	c.Profiles, err = v.profiles()
	return c, err
}

// everything selects all strategies or profiles in --sync and --net.
const everything = "all"

// chosen returns the members of a list that a flag names, in its order, each once. find returns the indices of the first and
// the last that a name is for.
func chosen[T any](names string, list []T, find func(name string) (first, last int, err error)) ([]T, error) {
	if names == everything {
		return list, nil
	}
	var of []T
	seen := map[int]bool{}
	for name := range strings.SplitSeq(names, ",") {
		first, last, err := find(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		for i := first; i <= last; i++ {
			if !seen[i] {
				seen[i], of = true, append(of, list[i])
			}
		}
	}
	return of, nil
}

// chosenStrategies returns the strategies that --sync names.
func chosenStrategies(names string) ([]systems.Strategy, error) {
	return chosen(names, syncflags.All, func(name string) (first, last int, err error) {
		known := everything
		for i, s := range syncflags.All {
			if s.Name == name {
				return i, i, nil
			}
			known += " " + s.Name
		}
		return 0, 0, fmt.Errorf("--sync %s: %q is not a strategy of this build: choose from %s", names, name, known)
	})
}

// own is the name of the network that --rtt, --jitter and --loss describe.
const own = "own"

// profiles returns the networks of the flags, all standard ones without flags.
func (v *Verb) profiles() ([]simnet.Profile, error) {
	if !v.Given() {
		return simnet.Profiles(), nil
	}
	if v.RTT == nil && v.Jitter == nil && v.Loss == nil {
		return chosenProfiles(v.Net)
	}
	p, err := v.Profile(simnet.Path{})
	p.Name, p.Title = own, netflags.Text(p)
	return []simnet.Profile{p}, err
}

// chosenProfiles returns the profiles that --net names.
func chosenProfiles(names string) ([]simnet.Profile, error) {
	standard := simnet.Profiles()
	index := func(name string) (int, error) {
		p, ok := simnet.ByName(strings.TrimSpace(name))
		if !ok {
			return 0, fmt.Errorf("--net: there is no profile %q: choose from P0 to P12, or all", name)
		}
		return slices.IndexFunc(standard, func(s simnet.Profile) bool { return s.Name == p.Name }), nil
	}
	return chosen(names, standard, func(name string) (first, last int, err error) {
		from, to, isRange := strings.Cut(name, "..")
		if first, err = index(from); err != nil || !isRange {
			return first, first, err
		}
		if last, err = index(to); err == nil && first > last {
			err = fmt.Errorf("--net %s: %s ends before it begins: write %s..%s", names, name, to, from)
		}
		return first, last, err
	})
}

// show prints, writes and emits a report.
func (v *Verb) show(a *app.App, r *lab.Report, matches int, took time.Duration) error {
	verdicts := lab.Judge(r, a.Gates...)
	page := fmt.Sprintf("# %s: sync strategies\n\n%d players, %g s of virtual time each after settling, %d ticks a second, inputs by %s, seed %d.\n",
		a.Game.Name, r.Players, r.Seconds, a.Game.TickRate, r.Script, r.Seed)
	for _, t := range labTables(r, verdicts) {
		a.Print(t.Text(v.Wide))
		page += "\n" + t.Markdown() + "\n"
	}
	report, err := json.MarshalIndent(app.Fields{"report": r, "gates": verdicts}, "", "\t")
	if err != nil {
		return err
	}
	for _, f := range v.files([]byte(page), append(report, '\n')) {
		if err := os.WriteFile(f.path, f.content, 0o666); err != nil {
			return fmt.Errorf("%s: %w", f.flag, err)
		}
	}
	if v.Markdown != "" {
		a.Logf("tables: %s", v.Markdown)
	}
	if v.Out != "" {
		if err := plotLab(r, v.Out); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		a.Logf("tables, report and plots: %s", v.Out)
	}
	return v.verdict(a, r, verdicts, matches, took)
}

// verdict reports the outcome: a failed check if a state differed, a match broke off or none could be measured.
func (v *Verb) verdict(a *app.App, r *lab.Report, verdicts []lab.Verdict, matches int, took time.Duration) error {
	desyncs, measured, broken := uint64(0), 0, ""
	for i := range r.Results {
		x := &r.Results[i]
		desyncs += x.Desyncs
		switch {
		case x.Failed == "":
			measured++
		case x.Broken:
			broken = fmt.Sprintf("%s on %s: %s", x.Strategy, x.Profile, x.Failed)
		}
	}
	var missed []string // gates, without a known reason
	for i := range verdicts {
		if g := &verdicts[i]; g.Missed() {
			missed = append(missed, fmt.Sprintf("%s on %s, %s: %.4g, at most %.4g", g.Strategy, g.Profile, g.Measure, g.Value, g.Most))
		}
	}
	factor := float64(measured) * r.Seconds / max(took.Seconds(), 1e-3)
	a.Emit("result", app.Fields{"matches": matches, "measured": measured, "desyncs": desyncs, "gates": verdicts, "gates_not_judged": lab.Unjudged(r),
		"took_s": took.Seconds(), "factor_of_real_time": factor})
	if len(r.Results) < matches {
		a.Logf("stopped early: %d of %s were played", len(r.Results), app.Counted(matches, "match", "matches"))
	}
	if len(missed) > 0 {
		a.Logf("MISSED: %s", strings.Join(missed, "; "))
	}
	switch {
	case desyncs > 0:
		return fmt.Errorf("%w: %d states differed from the server's, seed %d", app.ErrFailed, desyncs, v.Seed)
	case broken != "":
		return fmt.Errorf("%w: not every match could be measured, seed %d; %s", app.ErrFailed, v.Seed, broken)
	case measured == 0:
		return fmt.Errorf("%w: no match could be measured, seed %d; %s", app.ErrFailed, v.Seed, r.Results[0].Failed)
	case v.Gates && len(missed) > 0:
		return fmt.Errorf("%w: a gate is missed, seed %d", app.ErrFailed, v.Seed)
	}
	a.Logf("%s measured in %v, %.3g times real time; seed %d", app.Counted(measured, "match", "matches"), took.Round(time.Millisecond), factor, v.Seed)
	return nil
}
