package rollback

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"tendon/ecs"
	"tendon/ecs/image"
)

// rewind goes back to a random tick of the ring. It computes all ticks again, or some of them, and compares each with its
// state before: confirmed ones also with the straight run.
func (m *machine) rewind(t *rapid.T) {
	tl := m.tl
	tl.Rewind(tl.Present())
	was, confirmed := tl.Present(), tl.Confirmed()
	f := tl.Oldest() + ecs.Tick(m.rand.IntN(int(was-tl.Oldest())+1))
	m.back(t, f, was-ecs.Tick(m.rand.IntN(3)/2*m.rand.IntN(int(was-f)+1)))
	if tl.Confirmed() != confirmed {
		t.Fatalf("confirmed moved from %d to %d", confirmed, tl.Confirmed())
	}
}

// back rewinds to tick f and computes the ticks up to until again. A predicted tick that was not saved has nothing to be
// compared with. Only old states may be missing under a policy that saves every tick.
func (m *machine) back(t *rapid.T, f, until ecs.Tick) {
	tl, present := m.tl, m.tl.Present()
	was, saved := map[ecs.Tick]image.Checksum{present: checksum(tl.world)}, tl.Oldest()
	for k := tl.Oldest(); k <= present; k++ {
		s, ok := tl.Snapshot(k)
		if ok {
			was[k] = s.Checksum()
		} else if k == tl.Oldest() || !tl.config.Policy.rare && (k%thinning == 0 || k+denseTicks > tl.Confirmed()) {
			t.Fatalf("the ring [%d, %d] lacks tick %d", tl.Oldest(), present, k)
		}
		if ok && k <= f {
			saved = k
		}
	}
	if f == present {
		saved = f
	}
	if depth := tl.Rewind(f); depth != int(present-saved) || tl.Present() != saved {
		t.Fatalf("rewind to %d went back %d ticks to %d, the saved tick is %d", f, depth, tl.Present(), saved)
	}
	for {
		k, sum := tl.Present(), checksum(tl.world)
		before, held := was[k]
		if tl.world.Tick() != k || held && sum != before || k <= tl.Confirmed() && sum != m.oracle.sums[k] {
			t.Fatalf("tick %d after a rewind to %d: %x, before %x", k, f, sum, before)
		}
		if k <= tl.Confirmed() {
			m.past++
		}
		if k >= until {
			return
		}
		if !tl.Step() {
			t.Fatalf("no step to tick %d", k+1)
		}
	}
}

// fork forks a random confirmed tick, follows the match, and continues with other inputs, orders and writes. The timeline does
// not change.
func (m *machine) fork(t *rapid.T) {
	tl, before := m.tl, m.content()
	f := tl.Oldest() + ecs.Tick(m.rand.IntN(int(tl.Confirmed()-tl.Oldest())+1))
	w, ok := tl.Fork(f)
	if !ok || w.Tick() != f {
		t.Fatalf("no fork of tick %d in [%d, %d]", f, tl.Oldest(), tl.Confirmed())
	}
	for {
		if sum := checksum(w); sum != m.oracle.sums[w.Tick()] {
			t.Fatalf("tick %d in a fork of tick %d: %x, straight run %x", w.Tick(), f, sum, m.oracle.sums[w.Tick()])
		}
		if m.rand.IntN(30) == 0 || !tl.Follow(w) {
			break
		}
		m.forked++
	}
	for range m.rand.IntN(5) {
		inputs := make([]ecs.InputBytes, 4)
		for p := range inputs {
			inputs[p] = randomPad(m.rand, ecs.InputBytes{})
		}
		w.Step(ecs.TickInputs{Players: inputs, Orders: []image.Order{{Player: 1, Payload: []byte("what if")}}})
		for e := range skMoving.All(w) {
			e.A.X += 1000
		}
	}
	for _, outside := range []ecs.Tick{tl.Oldest() - 1, tl.Confirmed() + 1} {
		if _, ok := tl.Fork(outside); ok {
			t.Fatalf("a fork of tick %d outside [%d, %d]", outside, tl.Oldest(), tl.Confirmed())
		}
	}
	if !bytes.Equal(m.content(), before) {
		t.Fatalf("a fork of tick %d changed the timeline", f)
	}
}

// content returns the encoded states of a timeline: the world's and all snapshots.
func (m *machine) content() []byte {
	var s image.Snapshot
	m.tl.world.Image().Save(&s)
	all := s.AppendImage(nil)
	s.Release()
	for f := m.tl.Oldest(); f <= m.tl.Furthest(); f++ {
		if s, ok := m.tl.Snapshot(f); ok {
			all = s.AppendImage(all)
		}
	}
	return all
}

func checksum(w *ecs.World) image.Checksum {
	var s image.Snapshot
	w.Image().Save(&s)
	defer s.Release()
	return s.Checksum()
}

// Every tick of a full ring is reached under every policy, from the oldest to the present, with joins, orders and
// mispredictions in it.
func TestEveryTickOfTheRingIsReached(t *testing.T) {
	for _, policy := range policies {
		t.Run(fmt.Sprint(policy), func(t *testing.T) { reachAll(t, policy) })
	}
}

func reachAll(t *testing.T, policy SavePolicy) {
	orders := 0
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(t, rt, policy)
		depth := ecs.Tick(m.tl.snapshots.Depth())
		for m.tl.Oldest() < depth || m.tl.Stats.WrongInputs == 0 {
			for range 3 {
				m.fix(rt)
			}
			m.order(rt)
			m.addOrders(rt)
			m.deliver(rt)
			m.frame(rt)
		}
		m.tl.Rewind(m.tl.Present())
		for m.tl.Present() < m.tl.Furthest() {
			m.tl.Step()
		}
		oldest, present := m.tl.Oldest(), m.tl.Present()
		if late := oldest + depth - present - 1; late >= thinning && !policy.rare || late > depth-ecs.Tick(m.tl.config.MaxPrediction)-1 {
			rt.Fatalf("ring [%d, %d] of depth %d", oldest, present, depth)
		}
		for f := oldest; f <= present; f++ {
			m.back(rt, f, present)
			orders += len(m.oracle.orders[f])
		}
		m.finish(rt)
	})
	if orders == 0 {
		t.Fatal("no orders in the rings")
	}
}

// A server may send many orders. Then the oldest ticks leave the ring early, and the rest can be reached.
func TestOrdersThatAreKeptAreBounded(t *testing.T) {
	tl := newTimeline(t, Config{Depth: 64})
	for f := ecs.Tick(1); f <= 20; f++ {
		orders := make([]image.Order, 1500)
		for i := range orders {
			orders[i].Kind = image.OrderLeave
			if err := tl.AddOrder(f, orders[i]); err != nil {
				t.Fatal(f, err)
			}
		}
		if err := tl.Confirm(f, nil, 0, DigestOrders(orders)); err != nil {
			t.Fatal(err)
		}
		step(t, tl, 1)
		if n := len(tl.orders.list); n > maxKeptOrders {
			t.Fatalf("%d orders are kept", n)
		}
	}
	if tl.Oldest() == 0 || tl.Oldest() > 20 {
		t.Fatal("oldest", tl.Oldest())
	}
	if _, ok := tl.Fork(tl.Oldest()); !ok || tl.Rewind(0) != int(20-tl.Oldest()) {
		t.Fatalf("rewound to %d, the oldest is %d", tl.Present(), tl.Oldest())
	}
	step(t, tl, int(20-tl.Present()))
}

// A timeline that begins at any tick reaches its oldest state under every policy, however long ago that was saved.
func TestTheOldestStateStaysReachable(t *testing.T) {
	for name, policy := range map[string]SavePolicy{"every tick": {}, "sparse": Sparse(50), "confirmed only": ConfirmedOnly} {
		for start := range 5 {
			tl := newTimeline(t, Config{Depth: 256, Policy: policy})
			for range start {
				tl.world.Step(ecs.TickInputs{})
			}
			tl.Reset()
			for f := ecs.Tick(start + 1); f < 150; f++ {
				step(t, tl, 1) // predicted, and then confirmed
				if err := tl.Confirm(f, nil, 0, 0); err != nil {
					t.Fatal(err)
				}
			}
			w, ok := tl.Fork(tl.Oldest())
			if !ok || tl.Oldest() != ecs.Tick(start) || w.Tick() != tl.Oldest() {
				t.Errorf("%s from tick %d: no fork of the oldest tick %d", name, start, tl.Oldest())
			}
			if tl.Rewind(tl.Present() - 1); tl.Present() > 149 {
				t.Errorf("%s from tick %d: rewound to %d", name, start, tl.Present())
			}
		}
	}
}
