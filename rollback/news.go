package rollback

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// News are effects that a view was not told of yet, in the order in which they came about. They hold copies of the
// events' values. A view that does not ask loses them all each time that maxNews wait.
type News struct {
	list []Effect
	text []byte // values of list
	lost uint64
}

// maxNews bounds the news that wait.
const maxNews = 1024

// Add takes a piece of news; first says that it is the first of its event.
func (n *News) Add(e image.EmittedEvent, s ecs.EffectStatus, first bool) {
	if len(n.list) >= maxNews {
		n.lost += uint64(len(n.list))
		n.Clear()
	}
	n.text = append(n.text, e.Value...)
	n.list = append(n.list, Effect{Event: e, Status: s, First: first})
}

// Clear forgets what waits.
func (n *News) Clear() { n.list, n.text = n.list[:0], n.text[:0] }

// Drain calls f with each piece of news in order and forgets them. Values are valid during the call.
func (n *News) Drain(present ecs.Tick, f func(Effect)) {
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
	n.Clear()
}

// Lost returns how many news were dropped because nobody drained them.
func (n *News) Lost() uint64 { return n.lost }
