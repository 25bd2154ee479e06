package bench

import (
	"fmt"
	"testing"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/net/matchsim/halves"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/relay"
)

// BenchmarkSession measures the cost of a rollback session around a game that does nothing. The reference is the smallest
// loop that rolls back.
func BenchmarkSession(b *testing.B) {
	b.Run("timeline", sessionTimeline)
	b.Run("relay", sessionRelay)
}

// sessionRow returns a row of BenchmarkSession.
func sessionRow(what, missed string, resimulated, ticks uint64) measure.Row {
	return measure.Row{What: what, Missed: missed, Reference: "a bare loop over an array ring of states and inputs",
		Unit: "tick", Reach: 18, Note: fmt.Sprintf("%.2f ticks resimulated per tick", float64(resimulated)/float64(ticks))}
}

const (
	rolledBack  = 7  // ticks, each tick
	sessionRuns = 32 // ticks in one timed run
)

// minimal is the smallest loop that rolls back: no interfaces, no checks, no growth.
type minimal struct {
	ring      [16]minimalState
	inputs    [16][2]ecs.InputBytes
	state     minimalState
	present   uint64
	confirmed uint64
}

type minimalState struct {
	tick   uint64
	inputs [2]ecs.InputBytes
}

//go:noinline
func (s *minimalState) step(in *[2]ecs.InputBytes) {
	s.tick++
	s.inputs = *in
}

func (m *minimal) tick(right *[2]ecs.InputBytes) {
	m.confirmed++
	if f := m.confirmed; m.inputs[f&15] != *right {
		m.inputs[f&15] = *right
		m.state = m.ring[(f-1)&15]
		for k := f; k <= m.present; k++ {
			if k > f {
				m.inputs[k&15] = m.inputs[(k-1)&15]
			}
			m.state.step(&m.inputs[k&15])
			m.ring[k&15] = m.state
		}
	}
	m.present++
	m.inputs[m.present&15] = m.inputs[(m.present-1)&15]
	m.state.step(&m.inputs[m.present&15])
	m.ring[m.present&15] = m.state
}

func minimalLoop() measure.Op {
	m := minimal{present: rolledBack}
	var right [2]ecs.InputBytes
	return measure.Op{Units: sessionRuns, Run: func() {
		for range sessionRuns {
			right[1][0]++
			m.tick(&right)
		}
	}}
}

func sessionTimeline(b *testing.B) {
	t := newTimeline(newWorld(idle(60)))
	for _, o := range joins(2) {
		if err := t.AddOrder(1, o); err != nil {
			b.Fatal(err)
		}
	}
	inputs, f, digest := make([]ecs.InputBytes, 2), ecs.Tick(0), rollback.DigestOrders(joins(2))
	tick := func() {
		f++
		inputs[1][0]++
		if err := t.Confirm(f, inputs, 0, digest); err != nil {
			b.Fatal(err)
		}
		t.Rewind(t.Present())
		t.forward(int(f + rolledBack - t.Present()))
	}
	tick()
	digest = 0
	r := measure.Compare(b, minimalLoop(), measure.Op{Units: sessionRuns, Run: func() {
		for range sessionRuns {
			tick()
		}
	}})
	sessionRow("timeline with a game that does nothing, 7 ticks rolled back each tick: confirm, rewind, 8 steps, 8 saves", "",
		t.Stats.Resimulated, uint64(f)).Report(b, r)
}

// loop is a match whose halves are timed on their own: without the network between them.
type loop struct {
	*halves.Loop
	in, out []messages // by seat
}

// messages are messages of both channels, in order.
type messages struct {
	data  []byte
	ends  []int
	chans []systems.Channel
}

func (m *messages) Ready(systems.Peer) bool { return true }

func (m *messages) Room(systems.Peer) int { return 1 << 20 }

func (m *messages) Send(_ systems.Peer, ch systems.Channel, message []byte) {
	m.data = append(m.data, message...)
	m.ends, m.chans = append(m.ends, len(m.data)), append(m.chans, ch)
}

// each yields the messages and drops them.
func (m *messages) each(yield func(systems.Channel, []byte) bool) {
	from := 0
	for i, end := range m.ends {
		if !yield(m.chans[i], m.data[from:end]) {
			break
		}
		from = end
	}
	m.data, m.ends, m.chans = m.data[:0], m.ends[:0], m.chans[:0]
}

// hold makes clients receive their messages in play, and send them in sendHeld.
func (l *loop) hold() *loop {
	l.in, l.out = make([]messages, len(l.Peers)), make([]messages, len(l.Peers))
	for seat, p := range l.Peers {
		p.Receive = func(ch systems.Channel, message []byte, _ systems.Time) error {
			l.in[seat].Send(0, ch, message)
			return nil
		}
	}
	return l
}

// next begins the next tick.
func (l *loop) next() {
	l.sendHeld()
	l.Next()
}

// sendHeld sends the messages of the clients.
func (l *loop) sendHeld() {
	for seat := range l.out {
		for ch, message := range l.out[seat].each {
			l.Peers[seat].Send(0, ch, message)
		}
	}
}

// play plays a frame of some clients: they receive what is held, and run.
func (l *loop) play(seats ...int) {
	for _, seat := range seats {
		p, now := l.Peers[seat], l.Peers[seat].Now()
		for ch, message := range l.in[seat].each {
			if err := p.Half.Receive(ch, message, now); err != nil {
				l.T.Fatal(err)
			}
		}
		if p.Input != nil {
			p.Half.SetInput(p.Input(l.Tick))
		}
		p.Half.Frame(now)
		p.Half.Send(now, &l.out[seat])
		p.Half.Effects(noEffect)
	}
}

func noEffect(systems.Effect) {}

// newRelayLoop returns a relay match of two players in the idle game, whose delays make clients roll back rolledBack ticks.
func newRelayLoop(t testing.TB) *loop {
	l := &loop{Loop: halves.NewLoop(t, halves.Config{Game: idle(60), Strategy: relay.Strategy, Seed: 1}, 3, 3)}
	l.AddPlayers(2, func(seat, tick int) ecs.InputBytes { // player 1 is always mispredicted
		return entities.Input.Pack(entities.Pad{DX: int8(tick * seat)})
	})
	return l
}

func sessionRelay(b *testing.B) {
	l := newRelayLoop(b)
	l.Run(600)
	l.hold()
	before, began := l.Peers[0].Half.Stats(), l.Tick
	r := measure.Compare(b, minimalLoop(), measure.Op{
		Prepare: func() { l.next(); l.Serve(); l.play(1) },
		Run:     func() { l.play(0) },
		Less:    &measure.Op{Run: func() {}}, // reading the clock, once for each tick
	})
	sessionRow("the same with the relay client around it: clock, messages both ways, checksums, effects",
		"half of it is eight steps with their saves, and a quarter is messages both ways",
		l.Peers[0].Half.Stats().Resimulated-before.Resimulated, uint64(l.Tick-began)).Report(b, r)
}

// A tick of a relay match, with both clients, the server and seven ticks of rollback, leaves nothing to collect.
func TestATickOfAMatchAllocatesNothing(t *testing.T) {
	l := newRelayLoop(t)
	l.Run(2000)
	before, began := l.Peers[0].Half.Stats(), l.Tick
	allocatesNothing(t, 1000, l.Step)
	after, ticks := l.Peers[0].Half.Stats(), uint64(l.Tick-began)
	if again := after.Resimulated - before.Resimulated; again < 6*ticks || after.Rollbacks-before.Rollbacks < ticks*99/100 {
		t.Errorf("proves nothing: %d ticks resimulated by %d rollbacks", again, after.Rollbacks-before.Rollbacks)
	}
}
