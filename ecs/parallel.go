package ecs

import (
	"fmt"
	"slices"

	"tendon/ecs/image"
	"tendon/ecs/internal/workers"
)

// AnyQuery is a Query of any components, as System.Parallel lists them.
type AnyQuery interface{ declared() *image.Plan }

func (q *Query[A, PA, SA, B, PB, SB, C, PC, SC, D, PD, SD]) declared() *image.Plan { return &q.plan }

// Queries lists the queries of a parallel system.
func Queries(list ...AnyQuery) []AnyQuery { return list }

// Bounds of a system's shares.
const (
	splitRows = 20_000 // default of Game.SplitRows
	maxShares = 32     // of one system: a core waits for the others for at most a 32nd of the work
)

// splitter runs a world's parallel systems.
type splitter struct {
	world    *World
	system   *System
	reversed bool             // see World.Reverse
	shares   int              // of the running system
	blocks   int              // of all its shares
	whole    scope            // all rows
	worlds   [maxShares]World // one for each share
	scopes   [maxShares]scope
}

// scope is the part of a world that a parallel system may use. Its Run receives a world with a scope.
type scope struct {
	system *System
	share  *image.Share // rows that its queries yield; nil: all
	blocks image.Share  // share points at it
}

// runSystem runs a system, on several cores if that is faster.
func (w *World) runSystem(s *System) {
	if len(s.Parallel) == 0 {
		s.Run(w)
		return
	}
	if w.splitter == nil {
		w.splitter = &splitter{}
	}
	p := w.splitter
	p.whole.system = s
	split := p.split(w, s)
	w.scope = &p.whole // also while shares run: their systems may have this world from elsewhere
	if split {
		workers.Run(p, p.shares)
	} else {
		s.Run(w)
	}
	w.scope = nil
}

// split prepares the shares of a system. It reports false if there is one core, or if its queries yield too few rows.
func (p *splitter) split(w *World, s *System) bool {
	least := w.game.SplitRows
	switch {
	case p.reversed:
		least = 1
	case least == 0:
		least = splitRows
	}
	p.world, p.system, p.blocks = w, s, w.image.Blocks()
	if p.blocks*image.BlockRows < least || workers.Cores() == 1 && !p.reversed {
		return false
	}
	most := 0
	for _, q := range s.Parallel {
		most = max(most, w.image.MarkWritten(q.declared()))
	}
	p.shares = min(p.blocks, maxShares)
	return most >= least
}

// Part runs the system for one share.
func (p *splitter) Part(i int) {
	if p.reversed {
		i = p.shares - 1 - i
	}
	c := &p.scopes[i]
	c.system, c.share = p.system, &c.blocks
	c.blocks = image.Share{From: p.blocks * i / p.shares, To: p.blocks * (i + 1) / p.shares, Down: p.reversed}
	w := &p.worlds[i]
	*w = *p.world
	w.scope = c
	p.system.Run(w)
}

// Reverse makes the world divide the rows of every parallel system, however few they are. The last share runs first, and
// queries that write yield one row at a time, the highest first. The state is the same, unless a system reads or writes other
// rows than those that its queries yield. SyncTest of package rollback calls it.
func (w *World) Reverse() { w.splitter = &splitter{reversed: true} }

// of returns the rows that a query yields in the scope. It panics if the system must not use the query.
func (c *scope) of(p *image.Plan) *image.Share {
	if p.Writes() {
		if !slices.ContainsFunc(c.system.Parallel, func(q AnyQuery) bool { return q.declared() == p }) {
			written := p.Used[slices.Index(p.Write[:], true)]
			panic(fmt.Sprintf("ecs: the parallel system %s uses a query that writes %q and is not listed: add it to System.Parallel", c.system.Name, written.Name()))
		}
		return c.share
	}
	for _, d := range p.Used {
		c.read(d)
	}
	return nil
}

// read panics if the system writes the component: its other rows may be read before or after they are written.
func (c *scope) read(d *image.Declaration) {
	for _, q := range c.system.Parallel {
		if q.declared().WritesTo(d) {
			panic(fmt.Sprintf("ecs: the parallel system %s reads rows of %q, which it writes: read it through the query that writes it, or in another system", c.system.Name, d.Name()))
		}
	}
}

// alone panics in a parallel system.
func (w *World) alone(call string) {
	if w.scope != nil {
		panic(fmt.Sprintf("ecs: %s in the parallel system %s, which may only write rows of its queries: do it in another system", call, w.scope.system.Name))
	}
}
