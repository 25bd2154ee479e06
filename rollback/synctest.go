package rollback

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"tendon/ecs"
	"tendon/ecs/image"
)

// SyncTestConfig describes a SyncTest. Only Game is required.
type SyncTestConfig struct {
	// Game is the game to test.
	Game *ecs.Game
	// Seed starts everything random: the world, default inputs, guesses and delays. 0 is a seed like any other.
	Seed uint64
	// Ticks is how many ticks to run; 0: 600.
	Ticks int
	// MaxDepth is the most ticks that are predicted and rewound; 0: 7.
	MaxDepth int
	// Policy is the save policy of the rewinding run. Only EveryTick, the zero value, compares every tick; the others
	// compare those they save.
	Policy SavePolicy
	// Input returns what p does in tick f; it is asked in order, and anew from tick 1 if the run is repeated. nil: the
	// game's Bot, or random values held for a few ticks where there is none.
	Input func(f ecs.Tick, p ecs.Player) ecs.InputBytes
	// Orders returns the orders of tick f; it is asked like Input. nil: everybody joins in the first ticks, and now and
	// then somebody leaves and comes back.
	Orders func(f ecs.Tick) []image.Order
	// AllowStatic accepts a game in which nothing spawns or despawns.
	AllowStatic bool
	// SkipDeclarations leaves out looking at every page after every system for writes that no query declares, which is
	// most of the time a test takes. A run that fails is repeated with it, so that the report names the system.
	SkipDeclarations bool
	// Progress is called after each tick; nil: nobody is.
	Progress func(f ecs.Tick)
	// Stop is asked before each tick whether to give up; nil: never.
	Stop func() bool
}

// SyncReport says what a SyncTest did, so that it can be seen to have proved something.
type SyncReport struct {
	Seed              uint64   `json:"seed"`
	Ticks             ecs.Tick `json:"ticks"` // compared
	Rewinds           uint64   `json:"rewinds"`
	Resimulated       uint64   `json:"resimulated"`        // ticks
	Deepest           uint64   `json:"deepest"`            // ticks, of one rewind
	WrongInputs       uint64   `json:"wrong_inputs"`       // computed with before the right ones
	StructuralChanges uint64   `json:"structural_changes"` // ticks in rewound windows in which an entity came or went
	DistinctChecksums int      `json:"distinct_checksums"` // of the game's own data, beyond the first
}

// String returns one line.
func (r SyncReport) String() string {
	return fmt.Sprintf("seed %d: %d ticks, %d rewinds (deepest %d), %d ticks resimulated, %d wrong inputs, %d structural changes rewound, %d distinct checksums",
		r.Seed, r.Ticks, r.Rewinds, r.Deepest, r.Resimulated, r.WrongInputs, r.StructuralChanges, r.DistinctChecksums)
}

// Errors of SyncTest, beside *DesyncReport.
var (
	// ErrProvesNothing is wrapped by the error of a run that saw no rewinds, wrong inputs or changes.
	ErrProvesNothing = errors.New("rollback: the sync test proves nothing")
	// ErrStopped is returned when Stop said so.
	ErrStopped = errors.New("rollback: the sync test was stopped")
)

// provesAfter is the number of ticks from which a run must have seen everything it is there for.
const provesAfter = 60

// SyncTest runs a game twice side by side: straight, and through a timeline whose inputs and orders arrive late by
// random depths, with wrong inputs in their place until then. It compares the checksum of every tick, derived data
// with a new build of it, and what systems write with what they declare. The error is a *DesyncReport for a game
// that fails.
//
// A plain sync test replays the same inputs, so that branches which only a misprediction takes never run; here they
// do.
func SyncTest(c SyncTestConfig) (SyncReport, error) {
	if c.Game == nil {
		return SyncReport{}, fmt.Errorf("%w: Game is nil", ErrConfig)
	}
	if c.Ticks < 0 || c.MaxDepth < 0 {
		return SyncReport{}, fmt.Errorf("%w: Ticks is %d and MaxDepth %d, want 0 or more", ErrConfig, c.Ticks, c.MaxDepth)
	}
	if c.Ticks == 0 {
		c.Ticks = 600
	}
	if c.MaxDepth == 0 {
		c.MaxDepth = 7
	}
	s, err := newSyncTest(c)
	if err != nil {
		return SyncReport{}, err
	}
	err = s.run()
	if desync := (*DesyncReport)(nil); errors.As(err, &desync) && c.SkipDeclarations {
		c.SkipDeclarations = false
		if report, again := SyncTest(c); again != nil {
			return report, again
		}
	}
	return s.report, err
}

// syncTest is one run. straight computes each tick once; timeline guesses first.
type syncTest struct {
	config   SyncTestConfig
	rand     *rand.Rand // delays and guesses
	source   inputSource
	straight *ecs.World
	timeline *Timeline
	ring     *Snapshots               // of straight, to compare with
	inputs   *InputLog                // what is right
	orders   map[ecs.Tick][]syncOrder // of ticks not confirmed yet
	depth    int                      // how many ticks to predict before the next confirmations
	seen     map[image.Checksum]struct{}
	changed  []bool // by tick mod its length: an entity came or went
	walked   []bool // by tick mod its length: a system asked for the donburi world
	entities image.Checksum
	parts    []image.Checksum
	watches  [2]*declarationWatch
	report   SyncReport
}

// syncOrder is an order and whether the timeline has been told of it.
type syncOrder struct {
	order image.Order
	told  bool
}

func newSyncTest(c SyncTestConfig) (*syncTest, error) {
	straight, err := ecs.NewWorld(c.Game, c.Seed)
	if err != nil {
		return nil, err
	}
	world, err := ecs.NewWorld(c.Game, c.Seed)
	if err != nil {
		return nil, err
	}
	s := &syncTest{config: c, rand: rand.New(rand.NewPCG(c.Seed, 1)), straight: straight,
		orders: map[ecs.Tick][]syncOrder{}, seen: map[image.Checksum]struct{}{}, report: SyncReport{Seed: c.Seed}}
	s.timeline, err = New(Config{World: world, MaxPrediction: c.MaxDepth, Policy: c.Policy, Local: -1})
	if err != nil {
		return nil, err
	}
	depth := s.timeline.ring.Depth()
	s.ring, s.inputs = NewSnapshots(2*depth), NewInputLog(c.Game.MaxPlayers, 2*depth)
	s.changed, s.walked = make([]bool, 2*depth), make([]bool, 2*depth)
	s.timeline.guess = s.guess
	s.source = inputSource{game: c.Game, world: straight, rand: rand.New(rand.NewPCG(c.Seed, 2)), bot: image.NewRand(c.Seed)}
	if !c.SkipDeclarations {
		for i, w := range []*ecs.World{straight, world} {
			s.watches[i] = &declarationWatch{world: w}
			w.Image().SetObserver(s.watches[i])
		}
	}
	s.keep()
	return s, nil
}

// run computes all ticks in both worlds, then confirms what is left.
func (s *syncTest) run() error {
	for f := ecs.Tick(1); f <= ecs.Tick(s.config.Ticks); f++ {
		if s.config.Stop != nil && s.config.Stop() {
			return ErrStopped
		}
		if err := s.compute(f); err != nil {
			return err
		}
		until := s.timeline.Received()
		if int(f-until) > s.depth {
			s.depth = s.rand.IntN(s.config.MaxDepth + 1)
			until = f - ecs.Tick(min(s.depth, int(f-until-1)))
		}
		if err := s.follow(f, until); err != nil {
			return err
		}
		if s.config.Progress != nil {
			s.config.Progress(f)
		}
	}
	last := ecs.Tick(s.config.Ticks)
	if err := s.follow(last, last); err != nil {
		return err
	}
	return s.verdict()
}

// compute lets the straight run compute tick f.
func (s *syncTest) compute(f ecs.Tick) error {
	row, marks := s.inputs.Row(f)
	for p := range row {
		if s.config.Input != nil {
			row[p] = s.config.Input(f, ecs.Player(p))
		} else {
			last, _ := s.inputs.At(f-1, ecs.Player(p))
			row[p] = s.source.input(ecs.Player(p), last)
		}
		row[p] = s.config.Game.Input.Clean(row[p])
		marks[p] = Confirmed
	}
	var orders []image.Order
	if s.config.Orders != nil {
		orders = s.config.Orders(f)
	} else {
		orders = s.source.orders(f)
	}
	for _, o := range orders {
		s.orders[f] = append(s.orders[f], syncOrder{order: o})
	}
	s.straight.Step(ecs.TickInputs{Players: row, Orders: orders})
	s.walked[int(f)%len(s.walked)] = s.straight.WalkedDonburi()
	if err := s.inspect(f, s.straight, s.watches[0]); err != nil {
		return err
	}
	s.keep()
	return nil
}

// keep saves the straight run's state and notes what changed.
func (s *syncTest) keep() {
	f := s.straight.Tick()
	saved := s.ring.Save(s.straight)
	s.parts = saved.ComponentChecksums(s.parts[:0])
	var own image.Checksum // without the engine's tick and inputs, which always change
	for _, sum := range s.parts[2:] {
		own += sum
	}
	s.seen[own] = struct{}{}
	entities := s.parts[2]
	s.changed[int(f)%len(s.changed)] = f > 0 && entities != s.entities
	s.entities = entities
}

// follow lets the timeline confirm up to tick until and compute up to tick f, and compares what it confirmed.
func (s *syncTest) follow(f, until ecs.Tick) error {
	t, before := s.timeline, s.timeline.Confirmed()
	for k := before + 1; k <= f; k++ {
		// Half of the orders are known ahead, the rest arrive with their confirmation.
		if err := s.tell(k, k <= until); err != nil {
			return err
		}
	}
	for k := t.Received() + 1; k <= until; k++ {
		row, _ := s.inputs.Row(k)
		orders := s.orders[k]
		list := make([]image.Order, len(orders))
		for i := range orders {
			list[i] = orders[i].order
		}
		if err := t.Confirm(k, row, 0, DigestOrders(list)); err != nil {
			return err
		}
	}
	present := t.Present()
	t.Rewind()
	for k := t.Present() + 1; k <= present; k++ {
		if s.changed[int(k)%len(s.changed)] {
			s.report.StructuralChanges++
		}
	}
	for t.Present() < f {
		if err := t.Step(); err != nil {
			return err
		}
		if err := s.inspect(t.Present(), t.World(), s.watches[1]); err != nil {
			return err
		}
	}
	return s.compare(before+1, t.Confirmed())
}

// tell hands the timeline orders of tick k: all of them, or each with even odds. Orders of one tick arrive in their
// order.
func (s *syncTest) tell(k ecs.Tick, all bool) error {
	orders := s.orders[k]
	for i := range orders {
		if orders[i].told {
			continue
		}
		if !all && s.rand.IntN(2) == 0 {
			return nil
		}
		if err := s.timeline.AddOrder(k, orders[i].order); err != nil {
			return err
		}
		orders[i].told = true
	}
	return nil
}

// compare holds the timeline's confirmed states against the straight run's.
func (s *syncTest) compare(from, to ecs.Tick) error {
	for f := from; f <= to; f++ {
		theirs, ok := s.timeline.Snapshot(f)
		if !ok {
			delete(s.orders, f)
			continue
		}
		ours, _ := s.ring.At(f)
		if report := CompareSnapshots(s.config.Game, ours, theirs); report != nil {
			report.UnorderedWalk = s.walked[int(f)%len(s.walked)]
			return s.fill(report)
		}
		s.report.Ticks++
		delete(s.orders, f)
	}
	return nil
}

// inspect checks what can be seen of one world after one tick: undeclared writes and derived data.
func (s *syncTest) inspect(f ecs.Tick, w *ecs.World, watch *declarationWatch) error {
	if watch != nil && watch.found {
		return s.fill(&DesyncReport{Tick: f, System: watch.system, Differences: []image.Difference{watch.difference}})
	}
	if err := w.CheckDerived(); err != nil {
		return s.fill(&DesyncReport{Tick: f, Derived: err})
	}
	return nil
}

// fill adds to a report what entered its tick.
func (s *syncTest) fill(r *DesyncReport) *DesyncReport {
	row, _ := s.inputs.Row(r.Tick)
	r.Inputs, r.InputSize, r.Seed = append(r.Inputs, row...), s.config.Game.Input.Size(), s.config.Seed
	for _, o := range s.orders[r.Tick] {
		r.Orders = append(r.Orders, o.order)
	}
	s.count()
	return r
}

func (s *syncTest) count() {
	stats := s.timeline.Stats()
	s.report.Rewinds, s.report.Resimulated, s.report.Deepest = stats.Rewinds, stats.Resimulated, stats.DeepestTick
	s.report.WrongInputs, s.report.DistinctChecksums = stats.WrongInputs, len(s.seen)-1
}

// verdict fails a run that proves nothing.
func (s *syncTest) verdict() error {
	s.count()
	if s.straight.Image().Strays()+s.timeline.World().Image().Strays() > 0 {
		return s.fill(&DesyncReport{Tick: s.straight.Tick(), System: "some system"})
	}
	if s.config.Ticks <= provesAfter {
		return nil
	}
	r := s.report
	for _, need := range []struct {
		name  string
		count uint64
	}{
		{"ticks compared", uint64(r.Ticks)}, {"rewinds", r.Rewinds}, {"ticks resimulated", r.Resimulated}, {"wrong inputs", r.WrongInputs},
		{"changes of the state", uint64(r.DistinctChecksums)}, {"spawns or despawns in a rewound window", r.StructuralChanges},
	} {
		static := need.name == "spawns or despawns in a rewound window" && s.config.AllowStatic
		if need.count == 0 && !static {
			return fmt.Errorf("%w: it saw no %s (%v)", ErrProvesNothing, need.name, r)
		}
	}
	return nil
}
