// Package synctest is the verb that checks that a game is deterministic and survives every rewind.
package synctest

import (
	"errors"
	"fmt"

	"tendon/cmd/cli/internal/app"
	"tendon/ecs"
	"tendon/rollback"
)

// Verb finds what is not deterministic.
type Verb struct {
	Ticks  int    `default:"3600" help:"Number of ticks."`
	Depth  int    `default:"7" help:"Maximum number of ticks to rewind."`
	Seed   uint64 `help:"Seed of the run. Default: a random one, which is printed."`
	Policy string `enum:"every,sparse,confirmed,speculative" default:"every" help:"Ticks that are saved: every tick, every fourth (sparse), the confirmed ones, or those and a few between (speculative)."`
	Static bool   `help:"Accept a game in which nothing spawns or despawns."`
	Quick  bool   `help:"Do not check every page after every system for undeclared writes."`
}

// Help explains the verb.
func (Verb) Help() string {
	return `The game runs twice side by side: straight, and with inputs that arrive late and are mispredicted until then. The states
of every tick are compared, or with --policy those of the ticks that it saves. A difference is reported by tick, component, entity and field, and the exit code is 1.

Examples:
  synctest
  synctest --ticks 36000 --depth 30 --seed 7
  synctest --policy sparse`
}

// policies are the values of --policy. Only saved ticks are compared.
var policies = map[string]rollback.SavePolicy{"every": {}, "sparse": rollback.Sparse(4), "confirmed": rollback.ConfirmedOnly,
	"speculative": rollback.Speculative}

// Run runs the test.
func (v *Verb) Run(a *app.App) error {
	if v.Ticks < 1 || v.Depth < 1 || v.Depth > 120 {
		return fmt.Errorf("--ticks %d --depth %d: give at least 1 tick, and a depth of 1 to 120", v.Ticks, v.Depth)
	}
	v.Seed = app.ChooseSeed(v.Seed)
	a.Logf("seed %d: %s, rewound up to %s, saved ticks: %s", v.Seed, app.Counted(v.Ticks, "tick", "ticks"), app.Counted(v.Depth, "tick", "ticks"), v.Policy)
	a.Emit("start", app.Fields{"seed": app.ID(v.Seed), "ticks": v.Ticks, "depth": v.Depth, "policy": v.Policy})
	progress := app.NewProgress(a, v.Ticks, "ticks")
	report, err := rollback.SyncTest(rollback.SyncTestConfig{Game: a.Game, Seed: v.Seed, Ticks: v.Ticks, MaxDepth: v.Depth,
		Policy: policies[v.Policy], AllowStatic: v.Static, SkipDeclarations: v.Quick,
		Progress: func(f ecs.Tick) bool {
			progress.At(int(f))
			return a.Ctx.Err() == nil
		}})
	progress.Done()
	switch desync := (*rollback.DesyncReport)(nil); {
	case err == nil:
		a.Print(fmt.Sprintf("passed: %v\n", report))
		a.Emit("result", app.Fields{"report": report})
		return nil
	case a.Ctx.Err() != nil:
		return app.ErrInterrupted
	case errors.As(err, &desync):
		printDesync(a, desync)
		return fmt.Errorf("%w: the game is not deterministic, or its state is not all in the image; seed %d", app.ErrFailed, v.Seed)
	case errors.Is(err, rollback.ErrProvesNothing):
		return fmt.Errorf("%w: %w", app.ErrFailed, err)
	}
	return err
}

// printDesync prints a desync report.
func printDesync(a *app.App, d *rollback.DesyncReport) {
	a.Print(d.String())
	differences := []app.Fields{}
	for _, p := range d.Differences {
		differences = append(differences, app.Fields{"component": p.Component, "entity": p.Entity, "field": p.Field, "here": p.Here, "there": p.There})
	}
	components := []app.Fields{}
	for _, c := range d.Components {
		components = append(components, app.Fields{"component": c.Name, "here": c.Here.Hex(), "there": c.There.Hex()})
	}
	a.Emit("desync", app.Fields{"tick": d.Tick, "system": d.System, "differences": differences, "components": components,
		"here": d.Here.Hex(), "there": d.There.Hex(), "text": d.String()})
}
