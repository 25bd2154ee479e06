package inputs

import (
	"testing"

	"tendon/ecs"
)

// Each tick uses one input: the player's, or the one predicted from the last. A press that came too late is in the next.
func TestATickTakesOneInput(t *testing.T) {
	game, b := testGame(), &Buffer{}
	walk, shot := padInput.Pack(pad{X: 1}), padInput.Pack(pad{X: 1, Fire: true})
	if !b.Put(1, 0, Entry{In: walk}, game) || b.Put(1, 0, Entry{In: shot}, game) {
		t.Error("an input that comes twice is new once")
	}
	take := func(f ecs.Tick, want ecs.InputBytes, altered bool) {
		t.Helper()
		if in, a := b.Next(f, game); in != want || a != altered {
			t.Errorf("tick %d: %x, altered %v", f, in, a)
		}
	}
	take(1, walk, false)
	take(2, walk, true)
	if !b.Put(2, 2, Entry{In: shot}, game) || b.Late != 1 || b.Substituted != 1 {
		t.Errorf("late %d, substituted %d", b.Late, b.Substituted)
	}
	b.Put(3, 2, Entry{In: walk}, game)
	take(3, shot, true)
	b.Put(4, 3, Entry{In: walk}, game)
	take(4, walk, false)
	b.Put(6, 4, Entry{In: shot}, game)
	b.Forget(4)
	take(5, walk, true)
	take(6, walk, true)
}

// A late input of a tick in which the seat was vacant, or in which another connection had it, is not merged into the next one.
func TestALateInputOfATickBeforeThePlayersIsDropped(t *testing.T) {
	walk, shot := padInput.Pack(pad{X: 1}), padInput.Pack(pad{X: 1, Fire: true})
	for name, start := range map[string]func(b *Buffer, f ecs.Tick){"vacant": (*Buffer).Vacant, "another connection": (*Buffer).Forget} {
		game, b := testGame(), &Buffer{}
		start(b, 3)
		b.Put(3, 3, Entry{In: shot}, game)
		b.Put(4, 3, Entry{In: walk}, game)
		if in, altered := b.Next(4, game); in != walk || altered || b.Late != 0 {
			t.Errorf("%s: %x, altered %v, %d late", name, in, altered, b.Late)
		}
	}
}
