package client

import (
	"tendon/ecs"
	"tendon/systems"
)

// news stands between a half and the client's owner. Whatever states are loaded, and however old they are, the owner
// hears of each irreversible event once, in the order of ticks: one that was told before a state of an earlier tick came
// is not told again, and one that waited when a state came is not lost with what the half forgets.
type news struct {
	hand   func(systems.Effect) // tell, made once
	to     func(systems.Effect) // where news go now
	newest ecs.Tick             // irreversible events of ticks ≤ newest were taken out of the half
	again  ecs.Tick             // those of ticks ≤ again that come now come for the second time
	kept   []systems.Effect     // irreversible ones that wait; their values lie in values
	values []byte
}

// mostKept bounds the news that wait for an owner who does not ask: beyond, they are all dropped.
const mostKept = 1024

// tell passes on what the half has.
func (n *news) tell(e systems.Effect) {
	if e.Event.Irreversible {
		if e.Event.Key.Tick <= n.again {
			return
		}
		n.newest = max(n.newest, e.Event.Key.Tick)
	}
	n.to(e)
}

// keep takes one that waits.
func (n *news) keep(e systems.Effect) {
	if !e.Event.Irreversible {
		return
	}
	if len(n.kept) == mostKept {
		n.kept, n.values = n.kept[:0], n.values[:0]
	}
	n.values = append(n.values, e.Event.Value...)
	n.kept = append(n.kept, e)
}

// drain hands over all that waits, here and in the half.
func (n *news) drain(half systems.Client, f func(systems.Effect)) {
	at := 0
	for _, e := range n.kept {
		size := len(e.Event.Value)
		e.Event.Value = n.values[at : at+size : at+size]
		at += size
		f(e)
	}
	n.kept, n.values = n.kept[:0], n.values[:0]
	n.from(half, f)
}

// from hands over what waits in the half.
func (n *news) from(half systems.Client, f func(systems.Effect)) {
	if n.hand == nil {
		n.hand = n.tell
	}
	n.to = f
	half.Effects(n.hand)
	n.to = nil
}

// load is called before a half loads a state, or is replaced: it may forget what waits, and tell of what happened after
// that state again.
func (n *news) load(half systems.Client) {
	n.from(half, n.keep)
	n.again = n.newest
}

// restart is called when the server's match is not the one that was heard of, or goes on from a tick before: what
// happens there happens for the first time.
func (n *news) restart() { n.newest, n.again = 0, 0 }
