package predictor

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/code"
	"tendon/systems/state"
)

// Mirror is the Half of a client that receives the server's states and events. It predicts the rows in Predicted only.
//
// The world is in State(Tick) of this client. The rows that are not in Predicted are as in the newest state received, that of
// tick Received.
type Mirror[C any] struct {
	Half[C]
	Receiver  *state.Receiver
	Received  ecs.Tick            // of the newest state received
	Tick      ecs.Tick            // of the world's state
	Predicted image.RowSet        // the predicted rows
	History   *rollback.Snapshots // the predicted states of the last ticks ≤ Tick
	Refused   uint64              // bodies that could not be used
	Unusable  int                 // of them in a row

	effects *rollback.Effects
	// Predicted events of ticks ≤ announced that have not arrived are cancelled when those of tick last have.
	announced ecs.Tick             // the last tick that the server has announced
	last      ecs.Tick             // the newest tick ≤ announced that had events
	arrived   ecs.Tick             // the newest tick whose events have arrived
	emitted   []image.EmittedEvent // scratch

	sees    func(ecs.Entity) bool // whether the player sees an entity; nil if nothing is private
	inputs  []ecs.InputBytes      // of a simulated tick, by player; only the local player's is set
	altered uint64                // ticks with a substituted input, by the newest message
}

var _ systems.Presenter = (*Mirror[int])(nil)

const (
	// FarAhead is the most ticks that a message may be ahead of all before. A server sends nothing beyond.
	FarAhead = 1 << 14
	// MostUnusable is the number of bodies in a row that cannot be used after which only an image helps.
	MostUnusable = 40
)

// Init sets the systems and the context that they run over. history is the number of ticks of states to keep, effects the
// number of ticks whose predicted events wait for the server's.
func (m *Mirror[C]) Init(self C, core Core, list []systems.System[C], history, effects int) (err error) {
	m.Core, m.History, m.effects = core, rollback.NewSnapshots(history), rollback.NewEffects(core.Game.Schema(), effects, core.Config.Seat)
	m.inputs = make([]ecs.InputBytes, m.Game.MaxPlayers)
	m.Start(self, list)
	m.world.Image().SetPredicted(&m.Predicted)
	if m.world.Image().Schema().HasPrivate() {
		m.sees = func(e ecs.Entity) bool { return m.world.Sees(m.Config.Seat, e) }
	}
	if m.Receiver, err = state.NewReceiver(m.world); err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	return nil
}

// Begin starts from the state that was loaded into World, which is the server's: see Core.Begin.
func (m *Mirror[C]) Begin(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	m.Core.Begin(now, serverTick, rtt)
	f := m.world.Tick()
	m.Receiver.Load()
	m.effects.Begin(f)
	m.announced, m.last, m.arrived = f, f, f
	m.History.Clear()
	m.Tick, m.Received, m.Unusable = f, f, 0
}

// Current returns the state of Tick.
func (m *Mirror[C]) Current() *image.Snapshot {
	s, _ := m.History.At(m.Tick)
	return s
}

// Take makes the world the state that a body leads to. fresh is false for a body that is not newer than the last one. It is
// also false for one that builds on a state that is not held: the next message reports it. A malformed body is an error.
func (m *Mirror[C]) Take(body []byte) (fresh bool, err error) {
	switch err := m.Receiver.Receive(body); {
	case err == state.ErrDelta:
		return false, m.malformed
	case err != nil:
		m.Refused++
		m.Unusable++
		m.Timer.Pending = true
		if s, ok := m.History.At(m.Tick); ok {
			m.world.Image().Restore(s)
		}
		return false, nil
	case m.Receiver.Tick() == m.Received:
		return false, nil
	}
	m.Received, m.Unusable = m.Receiver.Tick(), 0
	return true, nil
}

// NeedsImage reports whether so many bodies in a row could not be used that the server must send an image.
func (m *Mirror[C]) NeedsImage() bool { return m.Unusable >= MostUnusable }

// ReceiveEvents accepts the events of a tick. It is a system of phase Receive.
func (m *Mirror[C]) ReceiveEvents(msg systems.Message) error {
	list, ok := code.ReadEvents(m.emitted[:0], msg.Body, msg.Body[0], m.world.Image().Schema())
	m.emitted = list
	if !ok || list[0].Key.Tick > m.Counted.ServerTick+FarAhead {
		return m.malformed
	}
	f := list[0].Key.Tick
	m.arrived = max(m.arrived, f)
	m.effects.Settle(f, list)
	m.cancelEvents()
	return nil
}

// SettleEvents notes which events the server has sent up to tick f. since is the number of ticks from the newest event
// to f, plus 1, or 0 for none. A predicted event that the server did not send is cancelled once all others have arrived.
func (m *Mirror[C]) SettleEvents(f ecs.Tick, since uint64) {
	m.announced, m.last = f, 0
	if since > 0 && since <= uint64(f) {
		m.last = f + 1 - ecs.Tick(since)
	}
	m.cancelEvents()
}

func (m *Mirror[C]) cancelEvents() {
	if m.arrived >= m.last {
		m.effects.Settle(m.announced, nil)
	}
}

// CountAltered takes the server's count of ticks in which another input than the player's was used, and returns how many
// are new. The first count since Begin is a start.
func (m *Mirror[C]) CountAltered(altered uint64) (fresh uint64) {
	if m.Phase != Waiting && altered > m.altered {
		fresh = altered - m.altered
	}
	m.altered = altered
	m.Counted.Substituted += fresh
	return fresh
}

// Effects drains the effects of events.
func (m *Mirror[C]) Effects(f func(systems.Effect)) { m.effects.Drain(m.Tick, f) }

// Replica returns the newest state received, nil before a state was loaded. Entities that no body updated since are in there
// as they were. complete reports that there are none: the state is all that this client is to receive.
func (m *Mirror[C]) Replica() (s *image.Snapshot, complete bool) {
	if !m.Loaded() {
		return nil, false
	}
	return m.Receiver.State(), m.Receiver.Complete()
}

// LastUpdate returns the last tick that updated an entity, 0 for none.
func (m *Mirror[C]) LastUpdate(e ecs.Entity) ecs.Tick { return m.Receiver.LastUpdate(e) }

// OwnCurrent reports whether the newest state received updates at least every predicted entity. mine is the predicted state of
// its tick.
func (m *Mirror[C]) OwnCurrent(mine *image.Snapshot) bool {
	if m.Receiver.Complete() {
		return true
	}
	current, replica := true, m.Receiver.State()
	for e := range mine.Entities {
		current = current && (!m.Predicted.Has(e.Row) || image.ExistsAt(replica, e))
	}
	for e := range replica.Entities {
		current = current && (!m.Predicted.Has(e.Row) || m.Receiver.Current(e))
	}
	return current
}

// Agree keeps the predicted rows, and takes all others from the newest state received.
func (m *Mirror[C]) Agree() {
	m.world.Image().Restore(m.Current())
	m.world.Image().Overlay(m.Receiver.State(), &m.Predicted)
	m.History.Save(m.world)
}

// Simulate computes the tick after the world's with an input of the local player. Private values that the player does not see
// remain zero, as in the states of the server.
func (m *Mirror[C]) Simulate(in ecs.InputBytes) {
	m.inputs[m.Config.Seat] = in
	m.world.Step(ecs.TickInputs{Players: m.inputs})
	m.Tick = m.world.Tick()
	if m.sees != nil {
		m.world.Image().RedactRows(&m.Predicted, m.sees)
	}
}

// PredictEvents notes the events of the tick that Simulate computed as predictions.
func (m *Mirror[C]) PredictEvents() {
	events := m.world.Events()
	if m.sees != nil {
		m.emitted = image.KnownEvents(m.emitted[:0], events, m.Config.Seat)
		events = m.emitted
	}
	m.effects.Predicted(m.Tick, events)
}

// CountReplay counts a resimulation of the ticks from f + 1 to Tick.
func (m *Mirror[C]) CountReplay(f ecs.Tick) {
	depth := uint64(m.Tick - f)
	m.Counted.Rollbacks++
	m.Counted.Resimulated += depth
	m.Counted.Deepest = max(m.Counted.Deepest, depth)
}

// Present brings the view up to date with now: see systems.Presenter.
func (m *Mirror[C]) Present(v *ecs.View, now systems.Time) { m.Show(v, now) }

// CommonStats returns Core.CommonStats with the counts of events.
func (m *Mirror[C]) CommonStats() systems.ClientStats {
	s := m.Core.CommonStats()
	s.EventsPredicted, s.EventsCancelled = m.effects.Counts()
	return s
}
