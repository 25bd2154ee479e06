package rollback

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"tendon/ecs"
	"tendon/ecs/image"
)

// SyncTestConfig describes a SyncTest. Only Game is required.
type SyncTestConfig struct {
	// Game is the game to test. Required.
	Game *ecs.Game
	// Seed is the seed of all random choices: of the world, default inputs, predictions and delays. 0 is a seed like any
	// other.
	Seed uint64
	// Ticks is the number of ticks to run. 0: 600.
	Ticks int
	// MaxDepth is the most ticks that are predicted and rewound. 0: 7.
	MaxDepth int
	// Policy is the save policy of the run with rewinds. Only the ticks that it saves are compared.
	Policy SavePolicy
	// Input returns p's input of tick f. It is called in order, and again from tick 1 if the run is repeated. Optional:
	// the default is the game's Bot, or random inputs that are held for a few ticks if there is none.
	Input func(f ecs.Tick, p ecs.Player) ecs.InputBytes
	// Orders returns the orders of tick f. It is called like Input. Optional: by default all players join in the first
	// ticks, and later one leaves or comes back in about every 20th tick. Players also give the orders of Game.BotOrders, and in
	// about every eighth tick one or two random orders, valid and invalid: see RandomOrder.
	Orders func(f ecs.Tick) []image.Order
	// AllowStatic accepts a game in which nothing spawns or despawns.
	AllowStatic bool
	// SkipDeclarations skips the comparison of every page after every system, which finds writes that no query declares
	// and takes most of the time of a test. A run that fails is repeated with the comparison, so that the report names
	// the system.
	SkipDeclarations bool
	// Progress is called after each tick. The test ends with an error when it returns false. Optional.
	Progress func(f ecs.Tick) bool
}

var errStopped = errors.New("rollback: the sync test was stopped")

// provesAfter is the number of ticks from which every counter of a run must be above 0.
const provesAfter = 60

// SyncTest runs a game twice side by side: once without rewinds, and once through a timeline. Inputs and orders of the
// timeline arrive late by random depths and are predicted wrongly until then. It compares the checksums of every tick, derived
// data with a new build of it, and the writes of systems with their declarations. For a game that fails, the error is a
// *DesyncReport.
//
// The run without rewinds uses one core. The other divides the rows of every parallel system, however few they are, and
// visits them in reverse order: see ecs.World.Reverse.
//
// Some ticks are also simulated as a client of predict or reckon computes them. Such a client may change only the entities of
// its player. It has zero for values that the player must not know: see ecs.Game.See. These ticks must not panic. The report counts the writes to other entities.
//
// In contrast to a sync test that only replays the same inputs, this one also takes the branches of mispredictions.
func SyncTest(c SyncTestConfig) (SyncReport, error) {
	if c.Game == nil {
		return SyncReport{}, errors.New("rollback: SyncTestConfig.Game is nil")
	}
	if c.Ticks < 0 || c.MaxDepth < 0 {
		return SyncReport{}, fmt.Errorf("rollback: SyncTestConfig.Ticks is %d and MaxDepth %d, want 0 or more", c.Ticks, c.MaxDepth)
	}
	c.Ticks, c.MaxDepth = cmp.Or(c.Ticks, 600), cmp.Or(c.MaxDepth, 7)
	s, err := newSyncTest(c)
	if err != nil {
		return SyncReport{}, err
	}
	err = s.run()
	s.report.Stats = s.timeline.Stats
	if desync := (*DesyncReport)(nil); errors.As(err, &desync) && c.SkipDeclarations {
		c.SkipDeclarations = false
		if report, again := SyncTest(c); again != nil {
			return report, again
		}
	}
	return s.report, err
}

// syncTest is one run.
type syncTest struct {
	config     SyncTestConfig
	rand       *rand.Rand // delays and predictions
	sourceRand *rand.Rand // inputs and orders
	bot        *ecs.Rand
	orders     *ecs.Rand       // random orders
	given      *ecs.OrderQueue // by Game.BotOrders
	botOrders  []image.Order   // of the tick that is computed
	straight   *ecs.World      // computes each tick once, on one core
	timeline   *Timeline       // computes ticks with wrong inputs first, on several cores
	known      image.Snapshot  // scratch: a state as one player may know it
	limited    *ecs.World      // computes some ticks as a client that predicts only its player's entities
	rows       image.RowSet
	ticks      Ring[testTick]
	depth      int // ticks to predict before the next confirmations
	seen       map[image.Checksum]struct{}
	parts      []image.Checksum // scratch
	watches    [2]*declarationWatch
	report     SyncReport
}

// testTick is a tick of the straight run.
type testTick struct {
	inputs   []ecs.InputBytes // the right ones
	orders   []image.Order
	added    int  // number of orders that the timeline has
	walked   bool // a system asked for the donburi world
	state    image.Snapshot
	entities image.Checksum // of the entities that exist
}

func newSyncTest(c SyncTestConfig) (*syncTest, error) {
	oneCore := *c.Game
	oneCore.SplitRows = math.MaxInt
	straight, err := ecs.NewWorld(&oneCore, c.Seed)
	if err != nil {
		return nil, err
	}
	world, err := ecs.NewWorld(c.Game, c.Seed)
	if err != nil {
		return nil, err
	}
	world.Reverse()
	limited, err := ecs.NewWorld(c.Game, c.Seed)
	if err != nil {
		return nil, err
	}
	s := &syncTest{config: c, straight: straight, limited: limited,
		rand: rand.New(rand.NewPCG(c.Seed, 1)), sourceRand: rand.New(rand.NewPCG(c.Seed, 2)), bot: image.NewRand(c.Seed), orders: image.NewRand(c.Seed + 1), given: ecs.NewOrderQueue(c.Game),
		seen: map[image.Checksum]struct{}{}, report: SyncReport{Seed: c.Seed}}
	s.timeline, err = New(Config{World: world, MaxPrediction: c.MaxDepth, Policy: c.Policy, Local: -1})
	if err != nil {
		return nil, err
	}
	s.ticks = NewRing[testTick](2 * s.timeline.snapshots.Depth())
	s.timeline.predict = s.predict
	if !c.SkipDeclarations {
		for i, w := range []*ecs.World{straight, world} {
			s.watches[i] = &declarationWatch{world: w}
			w.Image().SetObserver(s.watches[i])
		}
	}
	s.save(s.add(0))
	return s, nil
}

// add makes room for tick f of the straight run.
func (s *syncTest) add(f ecs.Tick) *testTick {
	t, _ := s.ticks.Slot(f)
	*t = testTick{state: t.state, inputs: make([]ecs.InputBytes, s.config.Game.MaxPlayers)}
	return t
}

// at returns tick f of the straight run.
func (s *syncTest) at(f ecs.Tick) *testTick {
	t, _ := s.ticks.At(f)
	return t
}

// run computes all ticks in both worlds, then confirms the rest.
func (s *syncTest) run() error {
	for f := ecs.Tick(1); f <= ecs.Tick(s.config.Ticks); f++ {
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
		if s.config.Progress != nil && !s.config.Progress(f) {
			return errStopped
		}
	}
	last := ecs.Tick(s.config.Ticks)
	if err := s.follow(last, last); err != nil {
		return err
	}
	return s.verdict()
}

// compute computes tick f in the straight run.
func (s *syncTest) compute(f ecs.Tick) error {
	t, last := s.add(f), s.at(f-1).inputs
	for p := range t.inputs {
		t.inputs[p] = s.inputOf(f, ecs.Player(p), last[p])
	}
	t.orders = s.ordersOf(f)
	if f%limitedEvery == 0 {
		if err := s.computeLimited(f, t.inputs); err != nil {
			return err
		}
	}
	for i := range t.orders {
		if t.orders[i].Kind == image.OrderGame {
			s.straight.RefuseOrder(&t.orders[i]) // as a server does; a condition that writes is found in this tick
		}
	}
	s.straight.Step(ecs.TickInputs{Players: t.inputs, Orders: t.orders})
	if schema := s.straight.Image().Schema(); len(schema.Orders) > 0 {
		s.report.Orders.Add(schema, t.orders, s.straight.Refusals())
	}
	t.walked = s.straight.Image().Unordered()
	if err := s.inspect(f, s.straight, s.watches[0]); err != nil {
		return err
	}
	s.save(t)
	return nil
}

// limitedEvery is the number of ticks from one limited tick to the next.
const limitedEvery = 8

// computeLimited computes tick f as a client that predicts only the entities of one player. The client knows only that player's
// input and the private values that they see. The straight run is in tick f − 1.
func (s *syncTest) computeLimited(f ecs.Tick, inputs []ecs.InputBytes) error {
	p := ecs.Player(f / limitedEvery % ecs.Tick(len(inputs)))
	im := s.limited.Image()
	im.SetPredicted(nil)
	state := &s.at(f - 1).state
	if im.Schema().HasPrivate() {
		s.known.Redact(state, nil, int(p), func(e ecs.Entity) bool { return s.straight.Sees(int(p), e) })
		state = &s.known
	}
	if err := im.Copy(state); err != nil {
		return err
	}
	s.rows.Clear()
	s.rows.AddOwner(ecs.OwnedBy(p))
	im.SetPredicted(&s.rows)
	own := make([]ecs.InputBytes, len(inputs))
	own[p] = inputs[p]
	s.limited.Step(ecs.TickInputs{Players: own})
	s.report.LimitedTicks++
	s.report.DiscardedWrites = s.limited.DiscardedWrites()
	if err := s.limited.Check(); err != nil {
		return s.fill(&DesyncReport{Tick: f, Derived: err})
	}
	return nil
}

// save saves the straight run's state.
func (s *syncTest) save(t *testTick) {
	s.straight.Image().Save(&t.state)
	s.parts = t.state.ComponentChecksums(s.parts[:0])
	var own image.Checksum // without the engine's tick and inputs, which always change
	for _, sum := range s.parts[2:] {
		own += sum
	}
	s.seen[own] = struct{}{}
	s.report.DistinctChecksums = len(s.seen) - 1
	t.entities = s.parts[2]
}

// follow confirms ticks up to until in the timeline, computes it up to tick f, and compares the confirmed ticks.
func (s *syncTest) follow(f, until ecs.Tick) error {
	t, before := s.timeline, s.timeline.Confirmed()
	for k := before + 1; k <= f; k++ {
		// Half of the orders are added ahead, the rest with their confirmation.
		if err := s.addOrders(k, k <= until); err != nil {
			return err
		}
	}
	for k := t.Received() + 1; k <= until; k++ {
		if err := t.Confirm(k, s.at(k).inputs, 0, DigestOrders(s.at(k).orders)); err != nil {
			return err
		}
	}
	present := t.Present()
	t.Rewind(present)
	for k := t.Present() + 1; k <= present; k++ {
		if s.at(k).entities != s.at(k-1).entities {
			s.report.StructuralChanges++
		}
	}
	for t.Present() < f {
		t.Step()
		if err := s.inspect(t.Present(), t.world, s.watches[1]); err != nil {
			return err
		}
	}
	return s.compare(before+1, t.Confirmed())
}

// addOrders adds orders of tick k to the timeline: all of them, or each with even odds. Those of one tick are added in
// their order.
func (s *syncTest) addOrders(k ecs.Tick, all bool) error {
	straight := s.at(k)
	for _, o := range straight.orders[straight.added:] {
		later := s.rand.IntN
		if o.Kind == image.OrderGame {
			later = s.orders.IntN
		}
		if !all && later(2) == 0 {
			return nil
		}
		if err := s.timeline.AddOrder(k, o); err != nil {
			return err
		}
		straight.added++
	}
	return nil
}

// compare compares the timeline's confirmed states with those of the straight run.
func (s *syncTest) compare(from, to ecs.Tick) error {
	for f := from; f <= to; f++ {
		if theirs, ok := s.timeline.Snapshot(f); ok {
			if report := CompareSnapshots(s.config.Game, &s.at(f).state, theirs); report != nil {
				report.UnorderedWalk = s.at(f).walked
				return s.fill(report)
			}
			s.report.Ticks++
		}
	}
	return nil
}

// inspect checks one world after one tick for undeclared writes and for wrong derived data.
func (s *syncTest) inspect(f ecs.Tick, w *ecs.World, watch *declarationWatch) error {
	if watch != nil && watch.found {
		return s.fill(&DesyncReport{Tick: f, System: watch.system, Differences: []image.Difference{watch.difference}})
	}
	if err := w.Check(); err != nil {
		return s.fill(&DesyncReport{Tick: f, Derived: err})
	}
	return nil
}

// declarationWatch finds the first write of a system that no query declared. It is the observer of one world.
type declarationWatch struct {
	world      *ecs.World
	saved      image.Snapshot
	found      bool
	system     string
	difference image.Difference
}

// Enter saves the world before a system. Writes before the first system are those of hooks that orders run.
func (d *declarationWatch) Enter(s image.Section) {
	if s == image.SectionSystems {
		d.compare("orders")
	}
	if s >= image.SectionSystems {
		d.world.Image().Save(&d.saved)
	}
}

// Leave compares every page after a system.
func (d *declarationWatch) Leave(s image.Section) {
	if s >= image.SectionSystems {
		d.compare(d.world.Game().Systems[s-image.SectionSystems].Name)
	}
}

func (d *declarationWatch) Name(image.Section, string, string) {}
func (d *declarationWatch) Turn(ecs.Tick)                      {}

func (d *declarationWatch) compare(name string) {
	if d.found {
		return
	}
	if difference, ok := d.world.Image().UndeclaredWrite(); ok {
		d.found, d.system, d.difference = true, name, difference
	}
}
