package rollback

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Timeline runs a world ahead of its confirmed ticks and resimulates it when a confirmed tick differs from the predicted
// one.
//
// Ticks [0, Confirmed] are final. Ticks (Confirmed, Present] are predicted. Received ≥ Confirmed is the last tick whose
// inputs are final; Confirmed follows it when the states up to it have been computed from them.
//
// The inputs and orders of every tick in [Oldest, Confirmed] are kept, for Depth ticks up to Furthest, and the states of
// those that the save policy selects. Rewind and Fork reach each of them.
//
// A caller alternates: Confirm and AddOrder as messages arrive, Rewind once, then Step up to the tick it wants. After a
// rewind Present may lie before Confirmed. Once it has caught up, Present − Confirmed is in [0, MaxPrediction].
type Timeline struct {
	Stats Stats

	config    Config
	world     *ecs.World
	snapshots *Snapshots
	inputs    inputLog             // the inputs that were used, or that are final
	own       Ring[ecs.InputBytes] // the local player's inputs
	orders    OrderLog
	scratch   []image.Order // the orders of one tick, valid during a call
	present   ecs.Tick
	furthest  ecs.Tick // the last tick ever computed; Step computes ticks ≤ furthest again
	received  ecs.Tick
	confirmed ecs.Tick
	oldest    ecs.Tick // a saved one; no rewind goes further back
	wrong     ecs.Tick // first tick in (confirmed, present] computed from wrong inputs or orders; 0: none

	// predict replaces a prediction. Optional; SyncTest sets it.
	predict func(f ecs.Tick, predicted ecs.InputBytes) ecs.InputBytes
}

// New returns a timeline whose present is the world's tick, confirmed.
func New(c Config) (*Timeline, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	t := &Timeline{config: c, world: c.World, snapshots: NewSnapshots(c.Depth), own: NewRing[ecs.InputBytes](2 * c.Depth),
		inputs: newInputLog(c.World.Game().MaxPlayers, max(2*c.Depth, c.History))}
	t.Reset()
	return t, nil
}

// Reset takes the world's state as confirmed and present, and drops everything else but the counters, also events that
// were predicted and not settled. Call it after the world was loaded from an image.
func (t *Timeline) Reset() {
	f := t.world.Tick()
	t.snapshots.Clear()
	t.inputs.Clear()
	t.own.Clear()
	t.present, t.furthest, t.received, t.confirmed, t.oldest, t.wrong = f, f, f, f, f, 0
	for p, inputs := 0, t.inputs.row(f); p < len(inputs); p++ {
		inputs[p] = t.world.Image().Input(ecs.Player(p))
		if f > 0 {
			t.inputs.row(f - 1)[p] = t.world.Image().LastInput(ecs.Player(p))
		}
	}
	t.orders = OrderLog{}
	if t.config.Effects != nil {
		t.config.Effects.Begin(f)
	}
	t.snapshots.Save(t.world)
}

// Present returns the last tick computed.
func (t *Timeline) Present() ecs.Tick { return t.present }

// Confirmed returns the last tick whose inputs are final and whose state was computed from them.
func (t *Timeline) Confirmed() ecs.Tick { return t.confirmed }

// Received returns the last tick whose inputs are final.
func (t *Timeline) Received() ecs.Tick { return t.received }

// Furthest returns the last tick ever computed. Step computes ticks ≤ Furthest again.
func (t *Timeline) Furthest() ecs.Tick { return t.furthest }

// Oldest returns the oldest tick that Rewind and Fork reach.
func (t *Timeline) Oldest() ecs.Tick { return t.oldest }

// Snapshot returns the state of tick f; ok is false if it was not saved or is no longer held.
func (t *Timeline) Snapshot(f ecs.Tick) (s *image.Snapshot, ok bool) { return t.snapshots.At(f) }

// Floor returns the newest snapshot of a tick ≤ f; ok is false if there is none.
func (t *Timeline) Floor(f ecs.Tick) (s *image.Snapshot, ok bool) { return t.snapshots.Floor(f) }

// InputAt returns p's input of tick f; ok is false if it is not final or is no longer held.
func (t *Timeline) InputAt(f ecs.Tick, p ecs.Player) (in ecs.InputBytes, ok bool) {
	row, held := t.inputs.At(f)
	if held {
		in = (*row)[p]
	}
	return in, held && f <= t.received
}

// SetLocal sets the local player's input for tick f. It returns false for a tick that was computed, and for one more than
// Depth ticks ahead.
func (t *Timeline) SetLocal(f ecs.Tick, in ecs.InputBytes) bool {
	if f <= t.furthest || f > t.furthest+ecs.Tick(t.snapshots.Depth()) {
		return false
	}
	t.own.Put(f, in)
	return true
}

// The bounds of the orders in the log.
const (
	maxOrders     = 4096          // of ticks > Confirmed: 4 MiB with the largest payload
	maxKeptOrders = 4 * maxOrders // of all: beyond it, the oldest ticks are dropped
)

// AddOrder adds an order that the server stamped into tick f. If f was computed already, the next Rewind corrects it.
// AddOrder returns ErrTooFar for a tick ≤ Received, and while 4096 orders wait.
func (t *Timeline) AddOrder(f ecs.Tick, o image.Order) error {
	if f <= t.received || len(t.orders.list)-t.orders.from(t.confirmed+1) >= maxOrders {
		return ErrTooFar
	}
	if len(t.orders.list) >= maxKeptOrders {
		s, _ := t.snapshots.Floor(min(t.present, t.confirmed))
		if t.forget(s.Tick()); len(t.orders.list) >= maxKeptOrders {
			return ErrTooFar
		}
	}
	t.orders.Add(f, o)
	if f <= t.present {
		t.mispredict(f)
	}
	return nil
}

// Orders returns the number of orders that were added to tick f > Received.
func (t *Timeline) Orders(f ecs.Tick) int {
	t.scratch = t.orders.AppendAt(t.scratch[:0], f)
	return len(t.scratch)
}

// Confirm makes the inputs of tick f = Received + 1 final. inputs are by player. late is the set of players whose input
// the server substituted. digest is the digest of the tick's orders. Confirm fails and does nothing until they have all
// been added, and for a tick that is too far ahead of Confirmed: call it again later. The slices are copied.
func (t *Timeline) Confirm(f ecs.Tick, inputs []ecs.InputBytes, late image.PlayerSet, digest uint32) error {
	if f != t.received+1 {
		return errGap
	}
	if f >= t.oldest+ecs.Tick(t.inputs.Depth()) {
		return ErrTooFar
	}
	t.scratch = t.orders.AppendAt(t.scratch[:0], f)
	if DigestOrders(t.scratch) != digest {
		return errOrdersMissing
	}
	row := t.inputs.row(f)
	for p := range row {
		in := ecs.InputBytes{}
		if p < len(inputs) {
			in = inputs[p]
		}
		if f <= t.present && row[p] != in {
			t.Stats.WrongInputs++
			t.mispredict(f)
		}
		row[p] = in
	}
	t.received = f
	if t.config.Confirmed != nil {
		t.config.Confirmed(FinalTick{Tick: f, Inputs: row, Late: late, Orders: t.scratch})
	}
	t.settle()
	return nil
}

// mispredict records that tick f was computed from wrong inputs or orders.
func (t *Timeline) mispredict(f ecs.Tick) {
	if t.wrong == 0 || f < t.wrong {
		t.wrong = f
	}
}

// settle moves confirmed up to received, as far as the ticks were computed and before the first misprediction.
func (t *Timeline) settle() {
	until := min(t.received, t.present)
	if t.wrong > 0 {
		until = min(until, t.wrong-1)
	}
	for t.confirmed < until {
		t.confirmed++
		if t.config.Effects != nil {
			t.config.Effects.settleAsPredicted(t.confirmed)
		}
		if old := t.confirmed - min(t.confirmed, denseTicks); old > t.oldest && old%thinning != 0 && !t.config.Policy.rare {
			t.snapshots.Release(old)
		}
	}
}

// Of states more than denseTicks before Confirmed, one in thinning is kept, and the oldest. Fork computes the ticks between them
// again. Policies that do not save every tick save so few that all are kept.
const (
	denseTicks = 32
	thinning   = 4
)

// forget makes the first saved tick ≥ f the oldest one that Rewind reaches. There must be one.
func (t *Timeline) forget(f ecs.Tick) {
	for s, saved := t.snapshots.At(t.oldest); t.oldest < f || !saved; s, saved = t.snapshots.At(t.oldest) {
		if saved {
			s.Release()
		}
		t.oldest++
	}
	t.orders.DropBefore(t.oldest + 1)
}

// Mispredicted reports whether the next Rewind goes back in any case.
func (t *Timeline) Mispredicted() bool { return t.wrong > 0 }

// Rewind goes back to tick f, or to the tick before the first mispredicted one if that is earlier, but not beyond Oldest. If
// that tick was not saved, it goes to the newest saved one before. It returns the number of ticks it went back. With
// f = Present, only a misprediction causes a rewind.
//
// Step then computes the ticks again, from their final inputs and orders. Inputs that are not final are the local player's own
// or predicted ones. So every state is as before, except after a misprediction. The caller may spread the steps over several
// frames and confirm more ticks in between. The states of confirmed ticks stay available meanwhile.
func (t *Timeline) Rewind(f ecs.Tick) (depth int) {
	if t.wrong > 0 {
		f = min(f, t.wrong-1)
	}
	if f = max(f, t.oldest); f >= t.present {
		return 0
	}
	s, ok := t.snapshots.Floor(f)
	if !ok {
		panic(fmt.Sprintf("rollback: no saved state at or before tick %d in %d snapshots: call Reset after changing the world outside the timeline", f, t.snapshots.Depth()))
	}
	image.SectionRewind.Enter(t.config.Observer)
	t.world.Image().Restore(s)
	depth = int(t.present - s.Tick())
	t.present, t.wrong = s.Tick(), 0
	t.snapshots.dropAfter(max(t.present, t.confirmed))
	image.SectionRewind.Leave(t.config.Observer)
	t.Stats.Rewinds++
	t.Stats.DeepestTick = max(t.Stats.DeepestTick, uint64(depth))
	return depth
}

// Fork returns a second world in the confirmed state of tick f, with memory of its own: neither world changes the other. ok
// is false for a tick outside [Oldest, Confirmed]. The caller may step the world with any inputs, or with those of the match:
// see Follow.
func (t *Timeline) Fork(f ecs.Tick) (w *ecs.World, ok bool) {
	if f < t.oldest || f > t.confirmed {
		return nil, false
	}
	s, _ := t.snapshots.Floor(f)
	w, ok = t.snapshots.Fork(t.world.Game(), s.Tick())
	for w.Tick() < f {
		t.Follow(w)
	}
	return w, ok
}

// Follow computes the next tick of a forked world from the final inputs and orders of that tick. ok is false, and nothing is
// done, if that tick is not in (Oldest, Received].
func (t *Timeline) Follow(w *ecs.World) (ok bool) {
	f := w.Tick() + 1
	if f <= t.oldest || f > t.received {
		return false
	}
	t.scratch = t.orders.AppendAt(t.scratch[:0], f)
	w.Step(ecs.TickInputs{Players: t.inputs.row(f), Orders: t.scratch})
	return true
}

// Step computes tick Present + 1 from its final inputs, or from predicted ones. It returns false, and does nothing, for a
// new tick beyond the prediction limit: confirm more ticks first. It panics if Rewind must be called first.
func (t *Timeline) Step() bool {
	if t.wrong > 0 {
		panic("rollback: Step after a misprediction: call Rewind first")
	}
	f := t.present + 1
	again := f <= t.furthest
	if !again && t.present-t.confirmed >= ecs.Tick(t.config.MaxPrediction) {
		return false
	}
	if again {
		image.SectionResimulate.Enter(t.config.Observer)
		t.Stats.Resimulated++
	} else {
		t.Stats.Steps++
	}
	t.scratch = t.orders.AppendAt(t.scratch[:0], f)
	t.world.Step(ecs.TickInputs{Players: t.assume(f), Orders: t.scratch})
	if again {
		image.SectionResimulate.Leave(t.config.Observer)
	}
	t.present, t.furthest = f, max(t.furthest, f)
	if t.config.Effects != nil {
		t.config.Effects.Predicted(f, t.world.Events())
	}
	t.settle()
	if t.wantsSave(f, again) {
		t.Stats.Saved++
		t.snapshots.Save(t.world)
	} else {
		t.snapshots.vacate(f)
	}
	if depth := ecs.Tick(t.snapshots.Depth()); f >= t.oldest+depth {
		t.forget(f + 1 - depth)
	}
	return true
}

// assume returns the inputs of tick f: the final ones, or else the local player's own, or else ones predicted from the
// tick before. A player who was not in the match after the tick before has none.
func (t *Timeline) assume(f ecs.Tick) []ecs.InputBytes {
	row := t.inputs.row(f)
	if f <= t.received {
		return row
	}
	last, input, joined := t.inputs.row(f-1), t.world.Image().Schema().Input, t.world.Players()
	own, given := t.own.At(f)
	for p := range row {
		switch {
		case !joined.Has(ecs.Player(p)):
			row[p] = ecs.InputBytes{}
		case p == t.config.Local && given:
			row[p] = *own
		default:
			row[p] = input.Predict(last[p])
			if t.predict != nil {
				row[p] = t.predict(f, row[p])
			}
		}
	}
	return row
}

// wantsSave reports whether to save tick f, which was just computed, for the first time or again.
func (t *Timeline) wantsSave(f ecs.Tick, again bool) bool {
	// With this interval, a saved tick ≤ Confirmed is always in the ring.
	if f >= t.snapshots.newest+ecs.Tick(t.snapshots.Depth()-t.config.MaxPrediction-1) {
		return true
	}
	until := ecs.Tick(0)
	if again {
		until = t.furthest
	}
	return t.config.Policy.wants(f, t.received, until)
}
