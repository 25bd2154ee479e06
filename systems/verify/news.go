package verify

import (
	"tendon/ecs"
	"tendon/systems"
)

// news are the events that the view has not asked for yet. Here every event is final when it is heard of.
type news struct {
	list []systems.Effect
	text []byte // values of list
}

// maxNews bounds the news that wait for a view that does not ask; what is older is forgotten.
const maxNews = 1024

func (n *news) add(e ecs.EmittedEvent) {
	if len(n.list) == maxNews {
		n.list, n.text = n.list[:0], n.text[:0]
	}
	n.text = append(n.text, e.Value...)
	n.list = append(n.list, systems.Effect{Event: e, Status: ecs.EffectConfirmed, First: true})
}

// drain calls f with each piece of news in order and forgets them.
func (n *news) drain(present ecs.Tick, f func(systems.Effect)) {
	at := 0
	for _, e := range n.list {
		size := len(e.Event.Value)
		e.Event.Value = n.text[at : at+size : at+size]
		at += size
		if present > e.Event.Key.Tick {
			e.Age = present - e.Event.Key.Tick
		}
		f(e)
	}
	n.list, n.text = n.list[:0], n.text[:0]
}
