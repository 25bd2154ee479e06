package room

import (
	"tendon/ecs"
	"tendon/rollback/journal"
	"tendon/systems"
)

// ledger follows the final ticks of a match: at is where they end. It remembers the chain at the last ticks, tick f in
// slot f % chainsKept, so that a state can be handed out with the chain that it lies on, and one that a client holds be
// told from one of ticks that were lost.
type ledger struct {
	codec  *journal.Codec
	at     journal.Position
	code   []byte // scratch
	chains [chainsKept]link
}

// link is the chain at a tick.
type link struct {
	tick  ecs.Tick
	chain journal.Chain
}

// chainsKept is for how many ticks the chain is remembered: 16 KiB.
const chainsKept = 1024

func newLedger(world *ecs.World, chain journal.Chain) *ledger {
	l := &ledger{codec: journal.NewCodec(world.Game()), at: journal.PositionOf(world, chain)}
	l.remember()
	return l
}

func (l *ledger) remember() {
	l.chains[l.at.Tick%chainsKept] = link{l.at.Tick, l.at.Chain}
}

// add takes the next tick.
func (l *ledger) add(f *systems.FinalTick) {
	t := journal.Tick{Tick: f.Tick, Inputs: f.Inputs, Orders: f.Orders}
	l.code = l.codec.AppendTick(l.code[:0], l.at.Inputs, &t)
	l.at.Tick, l.at.Chain = f.Tick, l.at.Chain.Next(l.code)
	clear(l.at.Inputs)
	copy(l.at.Inputs, f.Inputs)
	l.remember()
}

// chain returns the chain at a tick, if it is remembered.
func (l *ledger) chain(f ecs.Tick) (c journal.Chain, ok bool) {
	at := &l.chains[f%chainsKept]
	return at.chain, at.tick == f && f <= l.at.Tick
}
