package cost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/cost/traffic"
)

// Ledger is an image.Observer with a clock: it accounts every phase and every system of one room or one client. All methods
// but Latest belong to the goroutine that runs the room or client.
//
// The self time of an open section and the times of its nested sections add up to the time from Enter to Leave. Sections
// nested in SectionResimulate have rows of their own. SectionResimulate has none: its ticks are counted when they are
// computed, and time between them belongs to the section around it.
//
// The first rows are the engine's phases, in the order of their sections. The rows of the game's systems follow, then those of
// the same systems resimulated. The last rows are the systems of the strategies that were played.
type Ledger struct {
	config   Config
	budget   time.Duration        // of a turn: the length of a tick
	clock    func() time.Duration // since a fixed moment
	systems  int
	rows     []account
	places   [strategySystems]int // of the present strategy's systems: the row behind the game's systems
	open     []opened
	again    int     // open SectionResimulate
	turn     Turn    // Parts are by row, without names
	largest  Turn    // likewise
	turns    account // one call is one turn
	over     uint64
	cuts     []cut             // sums at the ends of the slices
	next     int               // row whose quantiles are updated in the next turn; the last stands for turns
	bytes    *traffic.Meter    // nil unless Config.Bytes
	labelled bool              // goroutine labels are on
	contexts []context.Context // labels, by row; empty after a row was named

	mu   sync.Mutex // guards page, and names of rows
	page Report     // published last
}

// Config describes a ledger.
type Config struct {
	Game *ecs.Game // has the systems and the tick rate; the budget of a turn is the length of a tick. Required
	Name string    // in reports and of the label `side` in profiles, such as "server" or "client"; optional
	// Digits is the number of significant digits of quantiles: 1, for 3 KiB a row, or 2, for 22 KiB. 0 means 2. A row takes
	// no memory before it is first used. Totals and the largest cost are always exact.
	Digits int
	// Allocs counts allocations of the whole process, so nothing else should run in it. It stops the process twice for each
	// section, which makes times meaningless.
	Allocs bool
	// Bytes makes the ledger count the bytes of a room's messages by component and kind of entity: see Report.Bytes.
	Bytes    bool
	Recorder *Recorder // receives each turn over the budget; optional
}

// opened is a section that was entered and not left.
type opened struct {
	section image.Section
	row     int
	start   usage
	inner   usage // by nested sections
}

const strategySystems = 128 // systems of strategies, of different names, that a ledger has rows for

// New returns an empty ledger.
func New(c Config) (*Ledger, error) {
	if c.Digits == 0 {
		c.Digits = 2
	}
	switch {
	case c.Game == nil:
		return nil, errors.New("cost: Config.Game is nil")
	case c.Game.TickRate < 1:
		return nil, fmt.Errorf("cost: Game.TickRate is %d, want at least 1", c.Game.TickRate)
	case c.Digits < 1 || c.Digits > 2:
		return nil, fmt.Errorf("cost: Config.Digits is %d, want 1 or 2", c.Digits)
	}
	systems, base := len(c.Game.Systems), time.Now()
	rows := int(image.SectionSystems) + 2*systems + strategySystems
	l := &Ledger{config: c, budget: time.Second / time.Duration(c.Game.TickRate), clock: func() time.Duration { return time.Since(base) },
		systems: systems, rows: make([]account, rows), open: make([]opened, 0, 16)}
	l.turn.Parts, l.largest.Parts = make([]Part, rows), make([]Part, rows)
	l.page = Report{Name: c.Name, Budget: l.budget, Rows: make([]Row, 0, rows), Largest: Turn{Parts: make([]Part, 0, rows)}}
	if c.Bytes {
		l.bytes = traffic.NewMeter(c.Game)
	}
	for i, phase := range phases {
		l.rows[i].Phase = phase
	}
	for i, system := range c.Game.Systems {
		first := int(image.SectionSystems) + i
		l.rows[first].RowName = RowName{PhaseForward, system.Name}
		l.rows[first+systems].RowName = RowName{PhaseAgain, system.Name}
	}
	return l, nil
}

var phases = [image.SectionSystems]string{
	image.SectionFrame: "frame", image.SectionThink: "think", image.SectionOpen: "open", image.SectionReceive: "receive",
	image.SectionRewind: "rewind", image.SectionRestore: "restore", image.SectionResimulate: PhaseAgain, image.SectionSimulate: PhaseForward, image.SectionSave: "save",
	image.SectionChecksum: "checksum", image.SectionEncode: "encode", image.SectionSend: "send", image.SectionPresent: "present",
}

var _ image.ByteObserver = (*Ledger)(nil)

// CountsBytes reports Config.Bytes.
func (l *Ledger) CountsBytes() bool { return l.bytes != nil }

// Sent adds a message of the strategy.
func (l *Ledger) Sent(bytes int) { l.bytes.Sent(bytes) }

// Part adds a part of such messages.
func (l *Ledger) Part(kind image.ComponentSet, column int, amount uint64) {
	l.bytes.Part(kind, column, amount)
}

// Name gives the section of a strategy's system its name. If the strategy changes, a system that both have keeps its
// row. It panics if there are more than 128 systems of different names.
func (l *Ledger) Name(s image.Section, phase, name string) {
	i := int(s-image.SectionSystems) - l.systems
	if i < 0 || i >= strategySystems {
		panic(fmt.Sprintf("cost: section %d is not one of the %d behind the game's systems", s, strategySystems))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places[i] = l.place(RowName{phase, name})
	l.contexts = l.contexts[:0]
}

// place returns the row of a strategy's system, counted behind the game's systems. A new name gets the next free row.
func (l *Ledger) place(name RowName) int {
	for i := range strategySystems {
		switch a := &l.rows[l.strategies()+i]; a.RowName {
		case RowName{}:
			a.RowName = name
			return i
		case name:
			return i
		}
	}
	panic(fmt.Sprintf("cost: no row is left for %v: the strategies have more than %d systems", name, strategySystems))
}

// strategies returns the first row of the strategies' systems.
func (l *Ledger) strategies() int { return int(image.SectionSystems) + 2*l.systems }

// row returns the row in which a section is accounted now.
func (l *Ledger) row(s image.Section) int {
	switch i := int(s-image.SectionSystems) - l.systems; {
	case s >= image.SectionSystems && i >= 0:
		return l.strategies() + l.places[i]
	case l.again > 0 && s >= image.SectionSystems:
		return int(s) + l.systems
	case l.again > 0 && s == image.SectionSimulate:
		return int(image.SectionResimulate)
	}
	return int(s)
}

// Enter begins a section.
func (l *Ledger) Enter(s image.Section) {
	if len(l.open) == 0 {
		l.labelled = labelling.Load() > 0
	}
	l.open = append(l.open, opened{section: s, row: l.row(s)})
	if s == image.SectionResimulate {
		l.again++
	}
	if l.labelled {
		l.label()
	}
	o := &l.open[len(l.open)-1]
	if l.config.Allocs {
		o.start.readMemory()
	}
	o.start.time = l.clock() // last, so that the lines above are not counted
}

// Leave ends the section that was entered last. Sections inside it that were not left, as after a panic, end without a cost. It
// panics on a section that is not open.
func (l *Ledger) Leave(s image.Section) {
	now := usage{time: l.clock()} // first, so that the lines below are not counted
	last := len(l.open) - 1
	for ; last >= 0 && l.open[last].section != s; last-- {
		if l.open[last].section == image.SectionResimulate {
			l.again--
		}
	}
	if last < 0 {
		panic(fmt.Sprintf("cost: section %d is left, and is not open: leave sections in the order opposite to that of entering", s))
	}
	o := &l.open[last]
	l.open = l.open[:last]
	if l.config.Allocs {
		now.readMemory()
	}
	used := now.since(o.start)
	if last == 0 {
		l.turn.Cost += used.time
	}
	if s == image.SectionResimulate {
		l.again--
		used = o.inner // the time between its ticks belongs to the section around it
	} else {
		l.account(o, used)
	}
	if last > 0 {
		l.open[last-1].inner.add(used)
	}
	if l.labelled {
		l.label()
	}
}

func (l *Ledger) account(o *opened, used usage) {
	a, p := &l.rows[o.row], &l.turn.Parts[o.row]
	self := used.since(o.inner)
	a.add(used.time, self.time, l.config.Digits)
	a.Allocs += self.objects
	a.AllocBytes += self.bytes
	p.Calls++
	p.Self += self.time
	switch o.row {
	case int(image.SectionSimulate):
		l.turn.Computed++
	case int(image.SectionResimulate):
		l.turn.Again++
	}
}

// Turn ends a turn, which has all sections since the one before.
func (l *Ledger) Turn(f ecs.Tick) {
	if len(l.open) > 0 {
		panic(fmt.Sprintf("cost: a turn ends inside section %d: leave it first", l.open[len(l.open)-1].section))
	}
	t := &l.turn
	t.Tick = f
	l.turns.add(t.Cost, t.Cost, l.config.Digits)
	if t.Cost > l.budget {
		l.over++
		if l.config.Recorder != nil {
			l.config.Recorder.slow(l)
		}
	}
	if t.Cost > l.largest.Cost {
		l.largest.set(t)
	}
	t.clear()
	l.publish()
}

// set copies another turn of the ledger.
func (t *Turn) set(from *Turn) {
	parts := append(t.Parts[:0], from.Parts...)
	*t = *from
	t.Parts = parts
}

func (t *Turn) clear() {
	clear(t.Parts)
	*t = Turn{Parts: t.Parts}
}

// Reset drops the costs so far, for after a warm-up.
func (l *Ledger) Reset() {
	for i := range l.rows {
		l.rows[i].reset()
	}
	if l.bytes != nil {
		l.bytes.Reset()
	}
	l.turns.reset()
	l.turn.clear()
	l.largest.clear()
	l.over, l.cuts, l.next = 0, nil, 0
}

// Merge adds the costs of another ledger of the same game. The other ledger must not be in use, and its slices must have
// been cut at the same moments.
func (l *Ledger) Merge(from *Ledger) {
	if from.systems != l.systems {
		panic(fmt.Sprintf("cost: Merge of a ledger with %d systems into one with %d: merge those of one game", from.systems, l.systems))
	}
	var places [strategySystems]int // of the systems that from has, here
	to := func(row int) int {
		if first := l.strategies(); row >= first {
			return first + places[row-first]
		}
		return row
	}
	for i := range from.rows {
		if first := l.strategies(); i >= first && from.rows[i].RowName != (RowName{}) {
			places[i-first] = l.place(from.rows[i].RowName)
		} else if i >= first {
			break
		}
		l.rows[to(i)].merge(&from.rows[i], l.config.Digits)
	}
	l.turns.merge(&from.turns, l.config.Digits)
	if l.bytes != nil && from.bytes != nil {
		l.bytes.Merge(from.bytes)
	}
	l.over += from.over
	for n, c := range from.cuts {
		if n == len(l.cuts) {
			l.cuts = append(l.cuts, cut{self: make([]time.Duration, len(c.self))})
		}
		sum := &l.cuts[n]
		sum.turns += c.turns
		for i, self := range c.self {
			if self != 0 {
				sum.self[to(i)] += self
			}
		}
	}
	if from.largest.Cost > l.largest.Cost {
		l.largest.clear()
		parts := l.largest.Parts
		l.largest = from.largest
		l.largest.Parts = parts
		for i, p := range from.largest.Parts {
			if p.Calls > 0 {
				parts[to(i)] = p
			}
		}
	}
}
