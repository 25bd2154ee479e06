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
// inputs are final; Confirmed follows it when the states up to it have been computed from them. There is always a
// snapshot of a tick ≤ Confirmed from which the present can be computed again.
//
// A caller alternates: Confirm and AddOrder as messages arrive, Rewind once, then Step up to the tick it wants. After a
// rewind Present may lie before Confirmed. Once it has caught up, Present − Confirmed is in [0, MaxPrediction].
type Timeline struct {
	config       Config
	world        *ecs.World
	snapshots    *Snapshots
	inputs       *inputLog // by tick: the inputs that were used, or that are final
	own          *inputLog // by tick: the local player's inputs
	orders       OrderLog
	effects      *Effects
	scratch      []image.Order
	present      ecs.Tick
	furthest     ecs.Tick // the last tick ever computed; Step computes ticks ≤ furthest again
	received     ecs.Tick
	confirmed    ecs.Tick
	base         ecs.Tick // newest saved tick ≤ confirmed; no rewind goes further back
	wrong        ecs.Tick // first tick in (confirmed, present] computed from wrong inputs or orders, if mispredicted
	mispredicted bool
	catchingUp   bool     // present has not reached furthest since the last rewind
	limit        ecs.Tick // MaxPrediction
	interval     ecs.Tick // most ticks from one snapshot to the next
	stats        Stats

	// predict replaces a prediction. Optional; SyncTest sets it.
	predict func(f ecs.Tick, p ecs.Player, predicted ecs.InputBytes) ecs.InputBytes
}

// New returns a timeline whose present is the world's tick, confirmed.
func New(c Config) (*Timeline, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	players, depth := c.World.Game().MaxPlayers, powerOfTwo(c.Depth)
	t := &Timeline{config: c, world: c.World, effects: c.Effects, limit: ecs.Tick(c.MaxPrediction),
		snapshots: NewSnapshots(depth), inputs: newInputLog(players, max(depth, c.History)), own: newInputLog(1, 2*depth)}
	// With this interval, the newest snapshot of a tick ≤ Confirmed is never replaced.
	t.interval = ecs.Tick(depth - c.MaxPrediction - 1)
	t.Reset()
	return t, nil
}

// Reset takes the world's state as confirmed and present, and drops everything else but the counters, also events that
// were predicted and not settled. Call it after the world was loaded from an image.
func (t *Timeline) Reset() {
	f := t.world.Tick()
	t.snapshots.Clear()
	t.inputs.clear()
	t.own.clear()
	t.present, t.furthest, t.received, t.confirmed, t.base, t.mispredicted, t.catchingUp = f, f, f, f, f, false, false
	inputs, marks := t.inputs.row(f)
	for p := range inputs {
		inputs[p], marks[p] = t.world.Image().Input(ecs.Player(p)), final
	}
	t.orders = OrderLog{}
	if t.effects != nil {
		t.effects.Begin(0)
	}
	t.save()
}

// World returns the world in the state of Present.
func (t *Timeline) World() *ecs.World { return t.world }

// Present returns the last tick computed.
func (t *Timeline) Present() ecs.Tick { return t.present }

// Confirmed returns the last tick whose inputs are final and whose state was computed from them.
func (t *Timeline) Confirmed() ecs.Tick { return t.confirmed }

// Received returns the last tick whose inputs are final.
func (t *Timeline) Received() ecs.Tick { return t.received }

// Furthest returns the last tick ever computed. Step computes ticks ≤ Furthest again.
func (t *Timeline) Furthest() ecs.Tick { return t.furthest }

// Snapshot returns the state of tick f; ok is false if it was not saved or is no longer held.
func (t *Timeline) Snapshot(f ecs.Tick) (s *image.Snapshot, ok bool) { return t.snapshots.At(f) }

// Floor returns the newest snapshot of a tick ≤ f; ok is false if there is none.
func (t *Timeline) Floor(f ecs.Tick) (s *image.Snapshot, ok bool) { return t.snapshots.Floor(f) }

// Stats returns the timeline's counters.
func (t *Timeline) Stats() Stats { return t.stats }

// InputAt returns p's input of tick f; ok is false if it is not final or is no longer held.
func (t *Timeline) InputAt(f ecs.Tick, p ecs.Player) (in ecs.InputBytes, ok bool) {
	in, from := t.inputs.at(f, p)
	return in, from >= substituted
}

// SetLocal sets the local player's input for tick f. It returns ErrTooFar for a tick that was computed, and for one more
// than Depth ticks ahead.
func (t *Timeline) SetLocal(f ecs.Tick, in ecs.InputBytes) error {
	if f <= t.furthest || f > t.furthest+ecs.Tick(t.snapshots.Depth()) {
		return ErrTooFar
	}
	inputs, marks := t.own.row(f)
	inputs[0], marks[0] = in, predicted
	return nil
}

// maxOrders bounds the orders of ticks that are not final: 4 MiB with the largest payload.
const maxOrders = 4096

// AddOrder adds an order that the server stamped into tick f. If f was computed already, the next Rewind corrects it.
// AddOrder returns ErrTooFar for a tick ≤ Received, and while 4096 orders wait.
func (t *Timeline) AddOrder(f ecs.Tick, o image.Order) error {
	if f <= t.received || len(t.orders.list) >= maxOrders {
		return ErrTooFar
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
// the server substituted. digest is the digest of the tick's orders: ErrOrdersMissing is returned until they have all
// been added. The slices are copied.
func (t *Timeline) Confirm(f ecs.Tick, inputs []ecs.InputBytes, late image.PlayerSet, digest uint32) error {
	if f != t.received+1 {
		return errGap
	}
	if f > t.base+ecs.Tick(t.inputs.depth()) {
		return ErrTooFar
	}
	t.scratch = t.orders.AppendAt(t.scratch[:0], f)
	if DigestOrders(t.scratch) != digest {
		return ErrOrdersMissing
	}
	row, marks := t.inputs.row(f)
	joined := t.world.Players()
	for p := range row {
		in := ecs.InputBytes{}
		if p < len(inputs) {
			in = inputs[p]
		}
		if f <= t.present {
			if row[p] != in {
				t.stats.WrongInputs++
				t.mispredict(f)
			} else if joined.Has(ecs.Player(p)) {
				t.stats.RightInputs++
			}
		}
		row[p], marks[p] = in, final
		if late.Has(ecs.Player(p)) {
			marks[p] = substituted
		}
	}
	t.received = f
	if t.config.Confirmed != nil {
		t.config.Confirmed(f, row, late, t.scratch)
	}
	t.settle()
	return nil
}

// mispredict records that tick f was computed from wrong inputs or orders.
func (t *Timeline) mispredict(f ecs.Tick) {
	if !t.mispredicted || f < t.wrong {
		t.wrong, t.mispredicted = f, true
	}
}

// settle moves confirmed up to received, as far as the ticks were computed and before the first misprediction.
func (t *Timeline) settle() {
	until := min(t.received, t.present)
	if t.mispredicted {
		until = min(until, t.wrong-1)
	}
	for t.confirmed < until {
		t.confirmed++
		if t.effects != nil {
			t.effects.confirmTick(t.confirmed)
		}
	}
	if s, ok := t.snapshots.Floor(t.confirmed); ok && s.Tick() > t.base {
		t.base = s.Tick()
		t.orders.DropBefore(t.base + 1)
	}
}

// Rewind goes back to the newest snapshot before the first mispredicted tick, if there is one, and returns the number of
// ticks it went back. Step then computes these ticks again. The caller may spread the steps over several frames and
// confirm more ticks in between.
func (t *Timeline) Rewind() (depth int) {
	if !t.mispredicted {
		return 0
	}
	depth = t.rewindTo(t.wrong - 1)
	t.stats.Rewinds++
	t.stats.DeepestTick = max(t.stats.DeepestTick, uint64(depth))
	return depth
}

// RewindTo goes back to tick f, but not beyond the newest snapshot of a tick ≤ Confirmed, and returns the number of
// ticks it went back. It goes further than f if a mispredicted tick lies before f, or if f was not saved. It is meant for
// benchmarks and tests.
func (t *Timeline) RewindTo(f ecs.Tick) (depth int) {
	if t.mispredicted {
		f = min(f, t.wrong-1)
	}
	return t.rewindTo(max(t.base, min(f, t.present)))
}

func (t *Timeline) rewindTo(f ecs.Tick) int {
	s, ok := t.snapshots.Floor(f)
	if !ok {
		panic(fmt.Sprintf("rollback: no saved state at or before tick %d in %d snapshots: call Reset after changing the world outside the timeline", f, t.snapshots.Depth()))
	}
	image.SectionRewind.Enter(t.config.Observer)
	t.world.Image().Restore(s)
	depth := int(t.present - s.Tick())
	t.present = s.Tick()
	t.snapshots.dropAfter(t.present)
	t.mispredicted, t.catchingUp = false, t.present < t.furthest
	image.SectionRewind.Leave(t.config.Observer)
	return depth
}

// stalled reports whether Step would return ErrStalled. It would not while ticks are to be computed again.
func (t *Timeline) stalled() bool {
	return !t.mispredicted && t.present >= t.furthest && t.present-t.confirmed >= t.limit
}

// Step computes tick Present + 1 from its final inputs, or from predicted ones. It returns ErrStalled for a new tick
// beyond the prediction limit. It panics if Rewind must be called first.
func (t *Timeline) Step() error {
	if t.mispredicted {
		panic("rollback: Step after a misprediction: call Rewind first")
	}
	if t.stalled() {
		t.stats.Stalls++
		return ErrStalled
	}
	f := t.present + 1
	again := f <= t.furthest
	if again {
		image.SectionResimulate.Enter(t.config.Observer)
		t.stats.Resimulated++
	} else {
		t.stats.Steps++
	}
	t.scratch = t.orders.AppendAt(t.scratch[:0], f)
	t.world.Step(ecs.TickInputs{Players: t.assume(f), Orders: t.scratch})
	if again {
		image.SectionResimulate.Leave(t.config.Observer)
	}
	t.present, t.furthest = f, max(t.furthest, f)
	if t.effects != nil {
		t.effects.simulated(f, t.world.Events())
	}
	t.settle()
	t.saveIfWanted(f)
	if f == t.furthest {
		t.catchingUp = false
	}
	return nil
}

// assume returns the inputs of tick f: the final ones, or else the local player's own, or else ones predicted from the
// tick before. A player who was not in the match after the tick before has none.
func (t *Timeline) assume(f ecs.Tick) []ecs.InputBytes {
	row, marks := t.inputs.row(f)
	if f <= t.received {
		return row
	}
	last, _ := t.inputs.row(f - 1)
	game, joined := t.world.Game(), t.world.Players()
	for p := range row {
		marks[p] = predicted
		if !joined.Has(ecs.Player(p)) {
			row[p] = ecs.InputBytes{}
			continue
		}
		if p == t.config.Local {
			if own, mark := t.own.at(f, 0); mark != missing {
				row[p] = own
				continue
			}
		}
		row[p] = game.Input.Predict(last[p])
		if t.predict != nil {
			row[p] = t.predict(f, ecs.Player(p), row[p])
		}
	}
	return row
}

func (t *Timeline) saveIfWanted(f ecs.Tick) {
	until := ecs.Tick(0)
	if t.catchingUp {
		until = t.furthest
	}
	check := t.config.CheckEvery > 0 && f%ecs.Tick(t.config.CheckEvery) == 0
	due := f-t.snapshots.newest >= t.interval
	if check || due || t.config.Policy.wants(f, t.received, until) {
		t.save()
	}
}

func (t *Timeline) save() {
	t.snapshots.Save(t.world)
	t.stats.Saves++
}
