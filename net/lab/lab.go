package lab

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"tendon/net/matchsim"
	"tendon/net/simnet"
	"tendon/systems"
)

// Run plays a match with each strategy on each profile and returns the measurements. The error of a single match, such as
// a client that could not join, is in its Result. With ErrStopped the report holds the finished matches.
func Run(c Config) (Report, error) {
	c, err := c.withDefaults()
	if err != nil {
		return Report{}, err
	}
	report := Report{Game: c.Game.Name, Rate: c.Game.TickRate, Players: c.Players, Seconds: c.For.Seconds(), Seed: c.Seed, Script: "bots", Snap: c.Snap,
		Cap: milliseconds(usualCap)}
	if !c.Bots {
		report.Script = scripted
	}
	if why := Unjudged(&report); c.Judged && why != "" {
		return report, fmt.Errorf("%w: Judged: %s", ErrConfig, why)
	}
	if !c.Bots && c.script == nil {
		if c.script, err = record(c.Game, c.Players, c.Seed); err != nil {
			return report, err
		}
	}
	w := &work{config: &c, expected: c.For + c.Settle + afterwards + time.Second}
	w.cells = make([]cell, 0, len(c.Strategies)*len(c.Profiles))
	queue := make(chan *cell, cap(w.cells))
	for _, s := range c.Strategies {
		for _, p := range c.Profiles {
			w.cells = append(w.cells, cell{strategy: s, profile: p})
			queue <- &w.cells[len(w.cells)-1]
		}
	}
	close(queue)
	var workers sync.WaitGroup
	for range min(c.Jobs, len(w.cells)) {
		workers.Go(func() {
			for x := range queue {
				w.play(x)
			}
		})
	}
	workers.Wait()
	for i := range w.cells {
		if w.cells[i].done {
			report.Results = append(report.Results, w.cells[i].result)
		}
	}
	return report, w.err
}

const scripted = "script" // Report.Script of a Run without Bots

// work is all matches of a Run. Its workers share it under the mutex.
type work struct {
	config   *Config
	cells    []cell
	expected time.Duration // virtual time of a match

	mu     sync.Mutex
	played time.Duration // by all matches, each up to the expected time
	err    error
}

// cell is one match of the table.
type cell struct {
	strategy systems.Strategy
	profile  simnet.Profile
	result   Result
	played   time.Duration
	done     bool
}

// play plays one match.
func (w *work) play(c *cell) {
	if w.advance(c, 0) != nil {
		return
	}
	r := &c.result
	r.Case = Case{Strategy: c.strategy.Name, Profile: c.profile.Name, Title: c.profile.Title, Predicts: c.strategy.Predicts, Exact: c.strategy.Needs.Exact}
	begin := w.config.Clock()
	m, err := newMatch(w.config, c.strategy, c.profile, w.config.Players, nil)
	if err == nil {
		err = m.play(func(d time.Duration) error { return w.advance(c, d) })
	}
	if took := w.config.Clock() - begin; took > 0 {
		r.Factor = c.played.Seconds() / took.Seconds()
	}
	ended := (*matchsim.EndedError)(nil)
	switch {
	case errors.Is(err, ErrStopped):
		return
	case errors.As(err, &ended):
		r.Failed, r.Broken = fmt.Sprintf("player %d ended: %v", ended.Client+1, ended.Err), true
	case err != nil:
		r.Failed = err.Error()
	default:
		m.report(r, w.config.For)
	}
	_ = w.advance(c, w.expected) // the match is finished, whether or not the others go on
	w.mu.Lock()
	defer w.mu.Unlock()
	c.done = true
	if w.config.Finished != nil {
		w.config.Finished(*r)
	}
}

// advance adds virtual time that passed in a match, and reports the work that is done. A match counts for at most the
// expected time. An error ends the match.
func (w *work) advance(c *cell, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := min(c.played, w.expected)
	c.played += d
	w.played += min(c.played, w.expected) - before
	if w.err == nil && w.config.Progress != nil && !w.config.Progress(w.played.Seconds()/w.expected.Seconds()/float64(len(w.cells))) {
		w.err = ErrStopped
	}
	return w.err
}
