package main

import (
	"fmt"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/relay"
)

// sessionRows measure the cost of a rollback session around a game that does nothing. The reference is the smallest loop
// that rolls back.
func sessionRows() []measure.Row {
	const reference = "a bare loop over an array ring of states and inputs"
	return []measure.Row{
		{Name: "session-timeline", What: "timeline with a game that does nothing, 7 ticks rolled back each tick: confirm, rewind, 8 steps, 8 saves",
			Reference: reference, Reach: 20, Run: sessionTimeline},
		{Name: "session-relay", What: "the same with the relay client around it: clock, messages both ways, checksums, effects",
			Reference: reference, Reach: 20, Missed: "a third of it is messages: every unacknowledged tick is repeated in each datagram and checked bit by bit", Run: sessionRelay},
	}
}

// idle returns the game that does nothing.
func idle() *ecs.Game {
	return &ecs.Game{Name: "idle", TickRate: 60, MaxPlayers: 2, Input: entities.Input, Systems: ecs.Systems(func(*ecs.World) {})}
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

func sessionTimeline() measure.Result {
	t := newTimeline(entities.New(idle()))
	for _, o := range joins(2) {
		if err := t.AddOrder(1, o); err != nil {
			panic(err)
		}
	}
	inputs, f, digest := make([]ecs.InputBytes, 2), ecs.Tick(0), rollback.DigestOrders(joins(2))
	tick := func() {
		f++
		inputs[1][0]++
		if err := t.Confirm(f, inputs, 0, digest); err != nil {
			panic(err)
		}
		t.Rewind(t.Present())
		forward(t, int(f+rolledBack-t.Present()))
	}
	tick()
	digest = 0
	r := measure.Compare(minimalLoop(), measure.Op{Units: sessionRuns, Run: func() {
		for range sessionRuns {
			tick()
		}
	}})
	return measure.Result{Unit: "tick", Ratio: r, Note: resimulated(t.Stats.Resimulated, uint64(f))}
}

func resimulated(again, ticks uint64) string {
	return fmt.Sprintf("%.2f ticks resimulated per tick", float64(again)/float64(ticks))
}

// relayMatch is a relay match of two players in the idle game, whose delay makes clients roll back rolledBack ticks.
func relayMatch() *match {
	m := newMatch(relay.Strategy, idle(), 2, 5*systems.Second/60/2)
	m.input = func(player int) ecs.InputBytes { // player 1 is always mispredicted
		return entities.Input.Pack(entities.Pad{DX: int8(m.f) * int8(player)})
	}
	return m
}

// playOthers plays a tick of all but client 0.
func (m *match) playOthers() {
	m.f++
	m.playServer()
	m.playClient(1)
}

func sessionRelay() measure.Result {
	m := relayMatch()
	for range 600 {
		m.playOthers()
		m.playClient(0)
	}
	before, f := m.clients[0].Stats(), m.f
	r := measure.Compare(minimalLoop(), measure.Op{Prepare: m.playOthers, Run: func() { m.playClient(0) }})
	after := m.clients[0].Stats()
	return measure.Result{Unit: "tick", Ratio: r, Note: resimulated(after.Resimulated-before.Resimulated, uint64(m.f-f))}
}
