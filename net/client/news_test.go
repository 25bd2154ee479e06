package client

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// gossip is a half that has nothing but news.
type gossip struct {
	systems.Client
	list []systems.Effect
}

func (g *gossip) Effects(f func(systems.Effect)) {
	for _, e := range g.list {
		f(e)
	}
	g.list = nil
}

func (g *gossip) say(tick ecs.Tick, irreversible bool) {
	g.list = append(g.list, systems.Effect{Status: ecs.EffectConfirmed, Event: image.EmittedEvent{
		Key: image.EventKey{Tick: tick}, Irreversible: irreversible, Value: []byte{byte(tick)}}})
}

// A state that is loaded while somebody plays makes a half forget what waits, and tell again what happened after that
// state. Who counts points must hear of each once.
func TestAStateThatIsLoadedNeitherDoublesNorDropsWhatCannotBeTakenBack(t *testing.T) {
	var n news
	half, heard := &gossip{}, []int{}
	drain := func(want ...int) {
		t.Helper()
		heard = heard[:0]
		n.drain(half, func(e systems.Effect) {
			if int(e.Event.Value[0]) != int(e.Event.Key.Tick) {
				t.Errorf("the value of tick %d is %x", e.Event.Key.Tick, e.Event.Value)
			}
			heard = append(heard, int(e.Event.Key.Tick))
		})
		if !slices.Equal(heard, want) {
			t.Errorf("heard of ticks %v, want %v", heard, want)
		}
	}
	half.say(5, true)
	half.say(6, false)
	drain(5, 6)
	half.say(8, true)
	half.say(9, false)
	n.load(half) // a state of tick 4
	half.say(5, true)
	half.say(6, false)
	half.say(8, true)
	half.say(10, true)
	drain(8, 6, 10)
	drain()
	n.load(half)
	n.restart() // the server goes on from before tick 5, and it all happens otherwise
	half.say(5, true)
	drain(5)
	for range mostKept + 1 {
		half.say(11, true)
	}
	n.load(half)
	if len(n.kept) != 1 {
		t.Errorf("%d news are kept for an owner who never asks", len(n.kept))
	}
}

// Asking for news costs nothing.
func TestAskingForNewsAllocatesNothing(t *testing.T) {
	var n news
	half, f := &gossip{}, func(systems.Effect) {}
	n.drain(half, f)
	if allocs := testing.AllocsPerRun(100, func() { n.drain(half, f) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
