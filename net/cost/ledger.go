package cost

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Ledger is an image.Observer with a clock: it accounts every phase and every system of one room or one client. Enter,
// Leave and Turn belong to the goroutine that runs it, as all methods do but Latest, which is for any.
//
// The self time of an open section and the times of its nested sections add up to the time from Enter to Leave. Sections
// nested in SectionResimulate have rows of their own. SectionResimulate has none: its ticks are counted when they are
// computed, and time between them belongs to the section around it.
//
// Rows are the engine's phases, in the order of their sections, then the game's systems forward, then the same systems
// computed again, then the systems of the strategy.
type Ledger struct {
	config   Config
	clock    func() time.Duration
	systems  int
	strategy atomic.Pointer[[]named] // systems of the strategy, by section; copied when one is named
	rows     []account
	open     []opened
	again    int // SectionResimulate around what is open
	turn     turn
	largest  turn
	turns    account // one call is one turn
	over     uint64
	slices   []uint64 // turns of those that were cut
	cut      uint64   // turns until then
	next     int      // row whose quantiles are brought up to date in the next turn; the last stands for turns
	memory   memory
	labels   labels
	publication
}

// Config describes a ledger.
type Config struct {
	// Game says which systems there are, and how long a tick is. Required.
	Game *ecs.Game
	// Name is the name in reports and the label `side` in profiles, such as "server" or "client". Optional.
	Name string
	// Budget is how long a turn may take; 0: the length of a tick.
	Budget time.Duration
	// Digits is how many significant digits quantiles have: 1, for 3 KiB a row, or 2, for 22 KiB; 0: 2. A row takes no
	// memory before it is first used. Totals and the largest cost are always exact.
	Digits int
	// Clock returns the time since a fixed moment. Optional: the default is the system's monotonic clock.
	Clock func() time.Duration
	// Allocs counts allocations too, of the whole process, so nothing else should run in it. This stops the process twice
	// for each section: times mean nothing then.
	Allocs bool
	// Recorder receives each turn over the budget. Optional.
	Recorder *Recorder
}

// ErrConfig is wrapped by every error about a Config of this package.
var ErrConfig = errors.New("cost: bad Config")

// opened is a section that was entered and not left.
type opened struct {
	section image.Section
	row     int
	start   time.Duration
	inner   time.Duration // of the sections that were nested in it
	memory  memory
	nested  memory
}

// New returns a ledger with nothing in it.
func New(c Config) (*Ledger, error) {
	if c.Game == nil {
		return nil, fmt.Errorf("%w: Game is nil", ErrConfig)
	}
	if c.Budget == 0 && c.Game.TickRate > 0 {
		c.Budget = time.Second / time.Duration(c.Game.TickRate)
	}
	if c.Digits == 0 {
		c.Digits = 2
	}
	switch {
	case c.Budget <= 0:
		return nil, fmt.Errorf("%w: Budget is %v, want more than 0, or 0 and a Game.TickRate above 0", ErrConfig, c.Budget)
	case c.Digits < 1 || c.Digits > 2:
		return nil, fmt.Errorf("%w: Digits is %d, want 1 or 2", ErrConfig, c.Digits)
	}
	l := &Ledger{config: c, clock: c.Clock, systems: len(c.Game.Systems)}
	if l.clock == nil {
		base := time.Now()
		l.clock = func() time.Duration { return time.Since(base) }
	}
	l.rows = make([]account, int(image.SectionSystems)+2*l.systems+strategySystems)
	l.strategy.Store(&[]named{})
	l.turn.parts, l.largest.parts = make([]part, len(l.rows)), make([]part, len(l.rows))
	l.open = make([]opened, 0, 16)
	l.page = newPage(len(l.rows))
	return l, nil
}

// strategySystems is how many systems of a strategy a ledger has rows for.
const strategySystems = 32

// named is a system of a strategy.
type named struct{ phase, system string }

var _ image.Observer = (*Ledger)(nil)

// Name gives the section of a strategy's system its name. It panics on the 33rd system.
func (l *Ledger) Name(s image.Section, phase, name string) {
	i := int(s-image.SectionSystems) - l.systems
	if i < 0 || i >= strategySystems {
		panic(fmt.Sprintf("cost: section %d is not one of the %d behind the game's systems", s, strategySystems))
	}
	list := slices.Clone(*l.strategy.Load())
	for len(list) <= i {
		list = append(list, named{})
	}
	list[i] = named{phase, name}
	l.strategy.Store(&list)
}

// row returns where a section is accounted now.
func (l *Ledger) row(s image.Section) int {
	switch {
	case int(s) >= int(image.SectionSystems)+l.systems:
		return int(s) + l.systems
	case l.again == 0:
		return int(s)
	case s == image.SectionSimulate:
		return int(image.SectionResimulate)
	case s >= image.SectionSystems:
		return int(s) + l.systems
	}
	return int(s)
}

// Enter notes that a section begins.
func (l *Ledger) Enter(s image.Section) {
	if len(l.open) == 0 {
		l.labels.begin()
	}
	o := opened{section: s, row: l.row(s)}
	if s == image.SectionResimulate {
		l.again++
	}
	if l.labels.on {
		l.labels.set(l, o.row)
	}
	if l.config.Allocs {
		o.memory = readMemory()
	}
	o.start = l.clock() // last, so that what stands above is not counted here
	l.open = append(l.open, o)
}

// Leave notes that the section entered last ends.
func (l *Ledger) Leave(s image.Section) {
	now := l.clock() // first, so that what stands below is not counted here
	last := len(l.open) - 1
	if last < 0 || l.open[last].section != s {
		panic(fmt.Sprintf("cost: section %d is left, and another one was entered last: leave sections in the order opposite to that of entering", s))
	}
	o := &l.open[last]
	l.open = l.open[:last]
	taken, used := now-o.start, memory{}
	if l.config.Allocs {
		used = readMemory().since(o.memory)
	}
	if s == image.SectionResimulate {
		l.again--
		if last > 0 { // what stood between its ticks is its surroundings'
			l.open[last-1].inner += o.inner
			l.open[last-1].nested.add(o.nested)
		}
	} else {
		l.account(o, taken, used)
		if last > 0 {
			l.open[last-1].inner += taken
			l.open[last-1].nested.add(used)
		}
	}
	if last == 0 {
		l.turn.cost += taken
	}
	if l.labels.on {
		l.labels.leave(l)
	}
}

// account enters what a section took.
func (l *Ledger) account(o *opened, taken time.Duration, used memory) {
	a, p := &l.rows[o.row], &l.turn.parts[o.row]
	self := taken - o.inner
	a.add(taken, self, l.config.Digits)
	a.memory.add(used.since(o.nested))
	p.calls++
	p.self += self
	switch o.row {
	case int(image.SectionSimulate):
		l.turn.computed++
	case int(image.SectionResimulate):
		l.turn.again++
	}
}

// Turn ends a turn: what was accounted since the last one belongs to it.
func (l *Ledger) Turn(f ecs.Tick) {
	if len(l.open) > 0 {
		panic(fmt.Sprintf("cost: a turn ends inside section %d: leave it first", l.open[len(l.open)-1].section))
	}
	t := &l.turn
	t.tick = f
	l.turns.add(t.cost, t.cost, l.config.Digits)
	if t.cost > l.config.Budget {
		l.over++
		if l.config.Recorder != nil {
			l.config.Recorder.slow(l)
		}
	}
	if t.cost > l.largest.cost {
		l.largest.take(t)
	}
	t.clear()
	l.publish()
}

// Reset forgets what was accounted, for after a warm-up.
func (l *Ledger) Reset() {
	for i := range l.rows {
		l.rows[i].reset()
	}
	l.turns.reset()
	l.turn.clear()
	l.largest.clear()
	l.over, l.slices, l.cut, l.next = 0, l.slices[:0], 0, 0
}

// Merge adds the costs of another ledger of the same game. The other ledger must not be in use, and its slices must have
// been cut at the same moments.
func (l *Ledger) Merge(from *Ledger) {
	if from.systems != l.systems {
		panic(fmt.Sprintf("cost: Merge of a ledger with %d systems into one with %d: merge those of one game", from.systems, l.systems))
	}
	if len(*l.strategy.Load()) == 0 {
		l.strategy.Store(from.strategy.Load())
	}
	for i := range l.rows {
		l.rows[i].merge(&from.rows[i], l.config.Digits)
	}
	l.turns.merge(&from.turns, l.config.Digits)
	l.over += from.over
	l.mergeSlices(from)
	if from.largest.cost > l.largest.cost {
		l.largest.take(&from.largest)
	}
}
