package rollback

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
)

// few reports that random histories are a fifth as many.
var few = !race.Long

func init() {
	if !few {
		return
	}
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
}

var policies = []SavePolicy{SavePolicy{}, Sparse(3), Sparse(7), ConfirmedOnly, Speculative}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// join adds joins to the oracle's next tick.
func join(o *oracle, players ...ecs.Player) {
	f := o.fixed() + 1
	for _, p := range players {
		o.orders[f] = append(o.orders[f], image.Order{Kind: image.OrderJoin, Player: p})
	}
}

// step fixes the next tick with random inputs.
func (o *oracle) step(r *rand.Rand) {
	inputs := make([]ecs.InputBytes, 4)
	for p := range inputs {
		last := ecs.InputBytes{}
		if row := o.inputs[len(o.inputs)-1]; row != nil {
			last = row[p]
		}
		inputs[p] = randomPad(r, last)
	}
	o.fix(inputs, 0)
}

// machine drives one timeline through random frames against the oracle (RB-11, RB-12, RB-14). The oracle runs ahead
// or behind; its confirmations arrive in order but in bursts, orders arrive ahead or late, rewinds are made up for in
// several frames.
type machine struct {
	tl       *Timeline
	oracle   *oracle
	rand     *rand.Rand
	added    map[ecs.Tick]int      // how many of a tick's orders the timeline has
	ledger   map[uint64]ecs.Effect // the last effect of each event, by ID
	happened map[image.EventKey]bool
	verified ecs.Tick
	checked  int
	past     int // confirmed ticks that were computed again
	forked   int // ticks that forks computed
}

// fix fixes a tick: player 0 does what the timeline's own log says, the others what they like.
func (m *machine) fix(*rapid.T) {
	f := m.oracle.fixed() + 1
	if f > m.tl.Furthest()+24 {
		return
	}
	inputs, late := make([]ecs.InputBytes, 4), image.PlayerSet(0)
	for p := range inputs {
		last := ecs.InputBytes{}
		if row := m.oracle.inputs[f-1]; row != nil {
			last = row[p]
		}
		inputs[p] = randomPad(m.rand, last)
	}
	if own, ok := m.tl.own.At(f); ok && m.rand.IntN(8) > 0 {
		inputs[0] = *own
	} else {
		late = 1
	}
	m.oracle.fix(inputs, late)
}

// order stamps an order into a tick that is not fixed yet, sometimes one that is predicted here already.
func (m *machine) order(*rapid.T) {
	f := m.oracle.fixed() + 1 + ecs.Tick(m.rand.IntN(6))
	kind := image.OrderKind(m.rand.IntN(3))
	o := image.Order{Kind: kind, Player: ecs.Player(m.rand.IntN(4)), Payload: make([]byte, m.rand.IntN(9))}
	m.oracle.orders[f] = append(m.oracle.orders[f], o)
}

// addOrders gives the timeline all orders that it does not have yet.
func (m *machine) addOrders(t *rapid.T) {
	for f, orders := range m.oracle.orders {
		for m.added[f] < len(orders) {
			if err := m.tl.AddOrder(f, orders[m.added[f]]); err != nil {
				t.Fatalf("order of tick %d: %v", f, err)
			}
			m.added[f]++
		}
	}
}

// deliver confirms up to three ticks.
func (m *machine) deliver(t *rapid.T) {
	for range 1 + m.rand.IntN(3) {
		f := m.tl.Received() + 1
		if f > m.oracle.fixed() {
			return
		}
		err := m.oracle.deliver(m.tl, f)
		switch {
		case errors.Is(err, errOrdersMissing) && m.added[f] < len(m.oracle.orders[f]):
			return
		case errors.Is(err, ErrTooFar) && f > m.tl.Present():
			return
		case err != nil:
			t.Fatalf("confirming %d: %v", f, err)
		}
	}
}

// frame rewinds and takes some steps, often too few to catch up.
func (m *machine) frame(t *rapid.T) {
	was := m.tl.Confirmed()
	pending := m.tl.wrong > 0
	if depth := m.tl.Rewind(m.tl.Present()); (depth > 0) != pending {
		t.Fatalf("rewind of %d ticks, pending %v", depth, pending)
	}
	if m.tl.Confirmed() != was {
		t.Fatalf("confirmed moved from %d to %d by a rewind", was, m.tl.Confirmed())
	}
	m.tl.SetLocal(m.tl.Furthest()+1, randomPad(m.rand, ecs.InputBytes{}))
	for range m.rand.IntN(12) {
		atLimit := m.tl.Present() == m.tl.Furthest() && m.tl.Present()-m.tl.Confirmed() == ecs.Tick(m.tl.config.MaxPrediction)
		if m.tl.Step() == atLimit {
			t.Fatalf("at the limit: %v", atLimit)
		}
	}
	m.effects(t)
}

// effects checks RB-13: an event starts once and ends once.
func (m *machine) effects(t *rapid.T) {
	m.tl.config.Effects.Drain(m.tl.Present(), func(e ecs.Effect) {
		was, known := m.ledger[e.ID]
		live := known && was.Status == ecs.EffectPredicted
		switch {
		case known && !live, m.happened[e.Event.Key],
			known && (was.Event.Key.Type != e.Event.Key.Type || was.Event.Key.Entity != e.Event.Key.Entity ||
				distance(was.Event.Key.Tick, e.Event.Key.Tick) > maxMove),
			e.Status == ecs.EffectPredicted && (live || e.Event.Irreversible || !e.First),
			e.Status == ecs.EffectCancelled && (!live || e.First),
			e.Status == ecs.EffectConfirmed && (live == e.First || live == e.Event.Irreversible):
			t.Fatalf("news %+v after %v (known %v)", e, was, known)
		}
		m.ledger[e.ID] = e
		if e.Status == ecs.EffectConfirmed {
			m.happened[e.Event.Key] = true
		}
	})
}

// invariants holds after every action.
func (m *machine) invariants(t *rapid.T) {
	tl := m.tl
	sure, present := tl.Confirmed(), tl.Present()
	if present > sure+ecs.Tick(tl.config.MaxPrediction) || sure > tl.Received() || present != tl.world.Tick() || tl.Furthest() < present {
		t.Fatalf("present %d, confirmed %d, received %d, furthest %d", present, sure, tl.Received(), tl.Furthest())
	}
	if sure < m.verified {
		t.Fatalf("confirmed fell from %d to %d", m.verified, sure)
	}
	m.verified = sure
	if tl.wrong == 0 && present == tl.Furthest() && sure != min(present, tl.Received()) {
		t.Fatalf("confirmed %d, present %d, received %d with nothing to rewind", sure, present, tl.Received())
	}
	for f := sure - min(sure, 16); f <= sure; f++ {
		if s, ok := tl.Snapshot(f); ok {
			m.checked++
			if s.Checksum() != m.oracle.sums[f] {
				t.Fatalf("tick %d: checksum %x, straight run %x", f, s.Checksum(), m.oracle.sums[f])
			}
		}
	}
}

// finish confirms all that is predicted and compares the present with the straight run, and the events with its
// events.
func (m *machine) finish(t *rapid.T) {
	m.addOrders(t)
	for end := m.tl.Furthest() + 2; m.tl.Confirmed() < end; {
		for m.oracle.fixed() < end {
			m.fix(t)
		}
		m.deliver(t)
		m.tl.Rewind(m.tl.Present())
		for m.tl.Present() < end && m.tl.Step() {
		}
		m.effects(t)
		m.invariants(t)
	}
	var s image.Snapshot
	m.tl.world.Image().Save(&s)
	if s.Checksum() != m.oracle.sums[m.tl.Present()] {
		t.Fatalf("the end differs from the straight run at %d", m.tl.Present())
	}
	for range 4 {
		m.rewind(t)
		m.fork(t)
	}
	for f := ecs.Tick(1); f <= m.tl.Confirmed(); f++ {
		for _, key := range m.oracle.events[f] {
			if !m.happened[key] {
				t.Fatalf("event %+v of the straight run was not confirmed", key)
			}
			delete(m.happened, key)
		}
	}
	for f := m.tl.Confirmed() - min(m.tl.Confirmed(), 16); f <= m.tl.Confirmed(); f++ { // RB-14
		if saved, ok := m.tl.Snapshot(f); ok {
			m.tl.world.Image().Restore(saved)
			m.tl.world.Image().Save(&s)
			if s.Checksum() != m.oracle.sums[f] || s.Tick() != f {
				t.Fatalf("tick %d reloaded: %x, straight run %x", f, s.Checksum(), m.oracle.sums[f])
			}
		}
	}
	for key := range m.happened {
		t.Fatalf("event %+v was confirmed and did not happen", key)
	}
	for _, e := range m.ledger {
		if e.Event.Key.Tick+maxMove <= m.tl.Confirmed() && e.Status == ecs.EffectPredicted {
			t.Fatalf("event %+v is neither confirmed nor cancelled", e.Event.Key)
		}
	}
}

// newMachine returns a machine with a random prediction limit and depth.
func newMachine(t *testing.T, rt *rapid.T, policy SavePolicy) *machine {
	w := newWorld(t, skirmish())
	c := Config{Policy: policy, MaxPrediction: rapid.IntRange(1, 20).Draw(rt, "limit"), World: w, Effects: NewEffects(w.Image().Schema(), 64, 0)}
	if rapid.Bool().Draw(rt, "tight") {
		c.Depth = c.MaxPrediction + 1 + int(max(policy.every, 1))
	}
	m := &machine{tl: newTimeline(t, c), oracle: newOracle(t), rand: newRand(rapid.Uint64().Draw(rt, "seed")),
		added: map[ecs.Tick]int{}, ledger: map[uint64]ecs.Effect{}, happened: map[image.EventKey]bool{}}
	join(m.oracle, 0, 1, 2)
	return m
}

// actions returns the actions of a machine.
func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": m.invariants, "fix": m.fix, "order": m.order, "add": m.addOrders, "deliver": m.deliver, "deliver more": m.deliver,
		"fix more": m.fix, "frame": m.frame, "frame more": m.frame, "rewind": m.rewind, "fork": m.fork,
	}
}

func TestEverySavePolicyGivesTheStatesOfAStraightRun(t *testing.T) {
	for _, policy := range policies {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			var rewinds, resimulated, checked, past, forked uint64
			rapid.Check(t, func(rt *rapid.T) {
				m := newMachine(t, rt, policy)
				rt.Repeat(m.actions())
				m.finish(rt)
				rewinds += m.tl.Stats.Rewinds
				resimulated += m.tl.Stats.Resimulated
				checked, past, forked = checked+uint64(m.checked), past+uint64(m.past), forked+uint64(m.forked)
			})
			if testing.Short() {
				return // rapid then makes too few histories for the counts below
			}
			least := uint64(40)
			if few {
				least = 5
			}
			if rewinds < least || resimulated < 5*least || checked < 10*least || past < least || forked < least {
				t.Fatalf("a run that proves nothing: %d rewinds, %d resimulated, %d states checked, %d past ones, %d in forks", rewinds, resimulated, checked, past, forked)
			}
		})
	}
}
