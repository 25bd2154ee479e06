package client

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// emitter is a client half that only emits effects.
type emitter struct {
	systems.Client
	list []systems.Effect
}

func (g *emitter) Effects(f func(systems.Effect)) {
	for _, e := range g.list {
		f(e)
	}
	g.list = nil
}

func (g *emitter) emit(tick ecs.Tick, irreversible bool) {
	g.list = append(g.list, systems.Effect{Status: ecs.EffectConfirmed, Event: image.EmittedEvent{
		Key: image.EventKey{Tick: tick}, Irreversible: irreversible, Value: []byte{byte(tick)}}})
}

// A strategy that loads a state drops the effects that wait, and repeats those of ticks after the state. The owner still
// receives each irreversible effect once.
func TestALoadedStateNeitherRepeatsNorDropsIrreversibleEffects(t *testing.T) {
	var n effects
	half, got := &emitter{}, []int{}
	drain := func(want ...int) {
		t.Helper()
		got = got[:0]
		n.drain(half, func(e systems.Effect) {
			if int(e.Event.Value[0]) != int(e.Event.Key.Tick) {
				t.Errorf("the value of tick %d is %x", e.Event.Key.Tick, e.Event.Value)
			}
			got = append(got, int(e.Event.Key.Tick))
		})
		if !slices.Equal(got, want) {
			t.Errorf("effects of ticks %v, want %v", got, want)
		}
	}
	half.emit(5, true)
	half.emit(6, false)
	drain(5, 6)
	half.emit(8, true)
	half.emit(9, false)
	n.beforeLoad(half) // a state of tick 4
	half.emit(5, true)
	half.emit(6, false)
	half.emit(8, true)
	half.emit(10, true)
	drain(8, 6, 10)
	drain()
	n.beforeLoad(half)
	n.restart() // the server goes on from before tick 5
	half.emit(5, true)
	drain(5)
	for range maxKept + 1 {
		half.emit(11, true)
	}
	n.beforeLoad(half)
	if len(n.kept) != 1 {
		t.Errorf("%d effects are kept for an owner that never drains them", len(n.kept))
	}
}

// Draining effects allocates nothing.
func TestDrainingEffectsAllocatesNothing(t *testing.T) {
	var n effects
	half, f := &emitter{}, func(systems.Effect) {}
	n.drain(half, f)
	if allocs := testing.AllocsPerRun(100, func() { n.drain(half, f) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
