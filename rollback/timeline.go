package rollback

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Timeline is a world that runs ahead of what is confirmed and is put right when the confirmation differs.
//
// Ticks [0, Confirmed] are final. (Confirmed, Present] are predicted. Received ≥ Confirmed is the last tick whose
// inputs are final here; Confirmed follows it once the states up to it were computed from them. The ring always holds
// a state of a tick ≤ Confirmed from which the present can be computed again.
//
// A caller alternates: Confirm and AddOrder as news arrive, Rewind once, then Step until the tick it wants. While a
// rewind is being made up for, Present may lie before Confirmed; once it has caught up, Present − Confirmed is in
// [0, MaxPrediction].
type Timeline struct {
	config   Config
	world    *ecs.World
	ring     *Snapshots
	inputs   *InputLog // what was used, or is final, per tick
	own      *InputLog // what the local player did, per tick
	orders   OrderLog
	effects  *Effects
	scratch  scratch
	present  ecs.Tick
	furthest ecs.Tick // the furthest tick ever computed: up to it, Step simulates again
	received ecs.Tick
	sure     ecs.Tick // Confirmed
	base     ecs.Tick // newest saved tick ≤ sure: resimulation starts no earlier
	wrong    ecs.Tick // first tick in (sure, present] that was computed from wrong inputs or orders, if differs
	differs  bool
	rerun    bool     // the last Rewind has not been made up for yet
	limit    ecs.Tick // MaxPrediction
	interval ecs.Tick // most ticks from one saved state to the next
	stats    Stats

	// guess replaces a prediction, for SyncTest; nil in play.
	guess func(f ecs.Tick, p ecs.Player, predicted ecs.InputBytes) ecs.InputBytes
}

type scratch struct {
	orders []image.Order
}

// New returns a timeline whose present is the world's tick, confirmed.
func New(c Config) (*Timeline, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	players, depth := c.World.Game().MaxPlayers, powerOfTwo(c.Depth)
	t := &Timeline{config: c, world: c.World, effects: c.Effects, limit: ecs.Tick(c.MaxPrediction),
		ring: NewSnapshots(depth), inputs: NewInputLog(players, max(depth, c.History)), own: NewInputLog(1, 2*depth)}
	// Between two saved states lie at most so many ticks that the newest one ≤ Confirmed never leaves the ring.
	t.interval = ecs.Tick(depth - c.MaxPrediction - 1)
	t.Reset()
	return t, nil
}

// Reset takes the world's state as confirmed and present, and forgets everything else but the orders and the local
// player's inputs of later ticks. It is for after the world was loaded from an image. Predicted events that nobody
// heard the end of are forgotten too: a view starts anew.
func (t *Timeline) Reset() {
	f := t.world.Tick()
	t.ring.Clear()
	t.inputs.Clear()
	t.present, t.furthest, t.received, t.sure, t.base, t.differs, t.rerun = f, f, f, f, f, false, false
	inputs, marks := t.inputs.Row(f)
	for p := range inputs {
		inputs[p], marks[p] = t.world.Image().Input(ecs.Player(p)), Confirmed
	}
	t.orders.DropBefore(f + 1)
	if t.effects != nil {
		t.effects.Reset()
	}
	t.save()
}

// World returns the world, in the state of Present.
func (t *Timeline) World() *ecs.World { return t.world }

// Present returns the last tick computed.
func (t *Timeline) Present() ecs.Tick { return t.present }

// Confirmed returns the last tick whose inputs are final here and whose state was computed from them.
func (t *Timeline) Confirmed() ecs.Tick { return t.sure }

// Received returns the last tick whose inputs are final here.
func (t *Timeline) Received() ecs.Tick { return t.received }

// Furthest returns the last tick ever computed: Step simulates again what is ≤ Furthest.
func (t *Timeline) Furthest() ecs.Tick { return t.furthest }

// Snapshot returns the saved state of tick f, if the policy saved it and the ring still holds it.
func (t *Timeline) Snapshot(f ecs.Tick) (*image.Snapshot, bool) { return t.ring.At(f) }

// Floor returns the newest saved state of a tick ≤ f.
func (t *Timeline) Floor(f ecs.Tick) (*image.Snapshot, bool) { return t.ring.Floor(f) }

// Stats returns what the timeline counted.
func (t *Timeline) Stats() Stats { return t.stats }

// InputAt returns p's input of tick f and where it came from.
func (t *Timeline) InputAt(f ecs.Tick, p ecs.Player) (ecs.InputBytes, Provenance) {
	return t.inputs.At(f, p)
}

// SetLocal gives the local player's input for tick f, which must not have been computed yet and lie at most the ring's
// depth ahead.
func (t *Timeline) SetLocal(f ecs.Tick, in ecs.InputBytes) error {
	if f <= t.furthest || f > t.furthest+ecs.Tick(t.ring.Depth()) {
		return ErrTooFar
	}
	inputs, marks := t.own.Row(f)
	inputs[0], marks[0] = in, Predicted
	return nil
}

// maxOrders bounds the orders that wait for their ticks or for these to be final: 4 MiB of the largest.
const maxOrders = 4096

// AddOrder adds an order that the server stamped into tick f. An order for a tick that was computed already is made
// up for by the next Rewind; one for a confirmed tick is refused.
func (t *Timeline) AddOrder(f ecs.Tick, o image.Order) error {
	if f <= t.received || t.orders.Len() >= maxOrders {
		return ErrTooFar
	}
	t.orders.Add(f, o)
	if f <= t.present {
		t.mistake(f)
	}
	return nil
}

// Confirm makes the inputs of tick f final. f must be Received + 1; inputs are by player; late holds the players
// whose input the server substituted; digest proves the tick's orders. The slices are copied.
func (t *Timeline) Confirm(f ecs.Tick, inputs []ecs.InputBytes, late ecs.PlayerSet, digest OrderDigest) error {
	if f != t.received+1 {
		return ErrGap
	}
	if f > t.base+ecs.Tick(t.inputs.Depth()) {
		return ErrTooFar
	}
	t.scratch.orders = t.orders.AppendAt(t.scratch.orders[:0], f)
	if DigestOrders(t.scratch.orders) != digest {
		return ErrOrdersMissing
	}
	row, marks := t.inputs.Row(f)
	joined := t.world.Players()
	for p := range row {
		in := ecs.InputBytes{}
		if p < len(inputs) {
			in = inputs[p]
		}
		if f <= t.present {
			if row[p] != in {
				t.stats.WrongInputs++
				t.mistake(f)
			} else if joined.Has(ecs.Player(p)) {
				t.stats.RightInputs++
			}
		}
		row[p], marks[p] = in, Confirmed
		if late.Has(ecs.Player(p)) {
			marks[p] = Substituted
		}
	}
	t.received = f
	if t.config.Confirmed != nil {
		t.config.Confirmed(f, row, late, t.scratch.orders)
	}
	t.settle()
	return nil
}

// mistake notes that tick f was computed from something that turned out otherwise.
func (t *Timeline) mistake(f ecs.Tick) {
	if !t.differs || f < t.wrong {
		t.wrong, t.differs = f, true
	}
}

// settle moves Confirmed to where it is true: up to received, as far as computed, short of a known mistake.
func (t *Timeline) settle() {
	until := min(t.received, t.present)
	if t.differs {
		until = min(until, t.wrong-1)
	}
	for t.sure < until {
		t.sure++
		if t.effects != nil {
			t.effects.confirm(t.sure)
		}
	}
	if s, ok := t.ring.Floor(t.sure); ok && s.Tick() > t.base {
		t.base = s.Tick()
		t.orders.DropBefore(t.base + 1)
	}
}

// Rewind goes back to the newest saved state before the first tick that was computed from something wrong, if there
// is one, and returns how many ticks it went back. Step then computes them again; until Present has caught up, the
// caller may spread the steps over several frames, and confirm more in between.
func (t *Timeline) Rewind() (depth int) {
	if !t.differs {
		return 0
	}
	depth = t.rewindTo(t.wrong - 1)
	t.stats.Rewinds++
	t.stats.DeepestTick = max(t.stats.DeepestTick, uint64(depth))
	return depth
}

// RewindTo goes back at least to tick f, though not before the newest saved tick ≤ Confirmed, since what came before
// that is not kept. It goes further if a mistake lies before f, or if f was not saved. It is for measuring what a
// rewind costs, and for tests.
func (t *Timeline) RewindTo(f ecs.Tick) (depth int) {
	if t.differs {
		f = min(f, t.wrong-1)
	}
	return t.rewindTo(max(t.base, min(f, t.present)))
}

func (t *Timeline) rewindTo(f ecs.Tick) int {
	s, ok := t.ring.Floor(f)
	if !ok {
		panic(fmt.Sprintf("rollback: no saved state at or before tick %d in a ring of depth %d: call Reset after changing the world outside the timeline", f, t.ring.Depth()))
	}
	image.SectionRewind.Enter(t.config.Observer)
	t.world.Image().Restore(s)
	depth := int(t.present - s.Tick())
	t.present = s.Tick()
	t.ring.DropAfter(t.present)
	t.differs, t.rerun = false, t.present < t.furthest
	image.SectionRewind.Leave(t.config.Observer)
	return depth
}

// Stalled reports whether Step would refuse a new tick. While a rewind is due or being made up for, it would not.
func (t *Timeline) Stalled() bool {
	return !t.differs && t.present >= t.furthest && t.present-t.sure >= t.limit
}

// Step computes tick Present + 1 from what is known of it. It returns ErrStalled if that would be a new tick beyond
// the prediction limit.
func (t *Timeline) Step() error {
	if t.differs {
		panic("rollback: Step with a mistake pending: call Rewind first")
	}
	if t.Stalled() {
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
	t.scratch.orders = t.orders.AppendAt(t.scratch.orders[:0], f)
	t.world.Step(ecs.TickInputs{Players: t.assume(f), Orders: t.scratch.orders})
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
		t.rerun = false
	}
	return nil
}

// assume returns the inputs of tick f: final ones where they are, else the local player's own, else predicted from
// the tick before. Who was not in the match after the tick before has none.
func (t *Timeline) assume(f ecs.Tick) []ecs.InputBytes {
	row, marks := t.inputs.Row(f)
	if f <= t.received {
		return row
	}
	last, _ := t.inputs.Row(f - 1)
	game, joined := t.world.Game(), t.world.Players()
	for p := range row {
		marks[p] = Predicted
		if !joined.Has(ecs.Player(p)) {
			row[p] = ecs.InputBytes{}
			continue
		}
		if p == t.config.Local {
			if own, mark := t.own.At(f, 0); mark != Missing {
				row[p] = own
				continue
			}
		}
		row[p] = game.Input.Predict(last[p])
		if t.guess != nil {
			row[p] = t.guess(f, ecs.Player(p), row[p])
		}
	}
	return row
}

func (t *Timeline) saveIfWanted(f ecs.Tick) {
	until := ecs.Tick(0)
	if t.rerun {
		until = t.furthest
	}
	check := t.config.CheckEvery > 0 && f%ecs.Tick(t.config.CheckEvery) == 0
	due := f-t.ring.newest >= t.interval
	if check || due || t.config.Policy.wants(f, t.received, until) {
		t.save()
	}
}

func (t *Timeline) save() {
	t.ring.Save(t.world)
	t.stats.Saves++
}
