package lockstep

import (
	"tendon/ecs"
	"tendon/systems"
)

// news are the events that the view was not told of yet. There is only one kind: an event that is confirmed, for the
// first time.
type news struct {
	list []systems.Effect
	text []byte // their values
}

// maxNews bounds the news that wait for a view that does not ask: the oldest are dropped.
const maxNews = 1024

// add takes the events of the world's last tick; grave says that only the irreversible ones matter.
func (n *news) add(w *ecs.World, grave bool) {
	for _, e := range w.Events() {
		if grave && !e.Irreversible {
			continue
		}
		if len(n.list) >= maxNews {
			n.list, n.text = n.list[:0], n.text[:0]
		}
		n.text = append(n.text, e.Value...)
		n.list = append(n.list, systems.Effect{Event: e, Status: ecs.EffectConfirmed, First: true})
	}
}

// drain calls f with each piece of news in order and forgets them. Values are valid during the call.
func (n *news) drain(present ecs.Tick, f func(systems.Effect)) {
	at := 0
	for _, e := range n.list {
		size := len(e.Event.Value)
		e.Event.Value = n.text[at : at+size]
		at += size
		e.Age = present - min(present, e.Event.Key.Tick)
		f(e)
	}
	n.list, n.text = n.list[:0], n.text[:0]
}
