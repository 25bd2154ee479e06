package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/rollback"
)

// syncTestVerb looks for what is not deterministic.
type syncTestVerb struct {
	Ticks  int    `default:"3600" help:"How many ticks to run."`
	Depth  int    `default:"7" help:"The most ticks to rewind."`
	Seed   uint64 `help:"Seed of the run; 0: chosen and printed."`
	Policy string `enum:"every,sparse,confirmed,speculative" default:"every" help:"Which ticks are saved: every, sparse, confirmed or speculative."`
	Static bool   `help:"Accept a game in which nothing spawns or despawns."`
	Quick  bool   `help:"Do not look at every page after every system for undeclared writes."`
}

// Help explains the verb.
func (syncTestVerb) Help() string {
	return `The game runs twice side by side: straight, and with inputs that arrive late and wrong ones in their place until
then. Every tick's state is compared. A difference is reported by tick, component, entity and field, and the exit
code is 1.

Examples:
  synctest
  synctest --ticks 36000 --depth 30 --seed 7`
}

var savePolicies = map[string]rollback.SavePolicy{"every": rollback.EveryTick, "sparse": rollback.Sparse(4),
	"confirmed": rollback.ConfirmedOnly, "speculative": rollback.Speculative}

// Run runs the test.
func (v *syncTestVerb) Run(a *app) error {
	if v.Ticks < 1 || v.Depth < 1 || v.Depth > 120 {
		return fmt.Errorf("--ticks is at least 1, --depth 1 to 120")
	}
	if v.Seed == 0 {
		v.Seed = uint64(time.Now().UnixNano())
	}
	a.say("seed %d: %d ticks, up to %d back, saving %s", v.Seed, v.Ticks, v.Depth, v.Policy)
	progress := newProgress(a, v.Ticks)
	report, err := rollback.SyncTest(rollback.SyncTestConfig{Game: a.game, Seed: v.Seed, Ticks: v.Ticks, MaxDepth: v.Depth,
		Policy: savePolicies[v.Policy], AllowStatic: v.Static, SkipDeclarations: v.Quick,
		Progress: func(f ecs.Tick) { progress.at(int(f)) },
		Stop:     func() bool { return a.ctx.Err() != nil }})
	progress.done()
	switch desync := (*rollback.DesyncReport)(nil); {
	case errors.Is(err, rollback.ErrStopped):
		return context.Canceled
	case errors.As(err, &desync):
		if a.common.JSON {
			a.printJSON(map[string]any{"desync": desync, "report": report})
		} else {
			fmt.Fprintln(a.out, desync)
		}
		return fmt.Errorf("%w: the game is not deterministic, or its state is not all in the image; seed %d", errFailed, v.Seed)
	case errors.Is(err, rollback.ErrProvesNothing):
		return fmt.Errorf("%w: %w", errFailed, err)
	case err != nil:
		return err
	}
	if a.common.JSON {
		a.printJSON(map[string]any{"report": report})
	} else {
		fmt.Fprintln(a.out, report)
	}
	return nil
}

// progress shows how far long work is, on a terminal only.
type progress struct {
	a     *app
	total int
	live  bool
	next  time.Time
}

func newProgress(a *app, total int) *progress {
	return &progress{a: a, total: max(total, 1), live: !a.common.JSON && isTerminal(a.note)}
}

func (p *progress) at(n int) {
	if now := time.Now(); p.live && now.After(p.next) {
		p.next = now.Add(100 * time.Millisecond)
		const width = 40
		full := width * n / p.total
		fmt.Fprintf(p.a.note, "\r[%-*s] %d of %d ", width, bar[:full], n, p.total)
	}
}

const bar = "########################################"

func (p *progress) done() {
	if p.live {
		fmt.Fprintf(p.a.note, "\r%*s\r", 70, "")
	}
}
