package swarm

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// ear hears what one process of a client tells its owner of irreversible events: each once, in the order of ticks, and
// all, but for those before the state with which it came or came back.
type ear struct {
	*run
	client     int
	next       place // the next fact that it is to be told
	loaded     bool
	reconnects uint64   // when it last loaded a state
	power      int      // power cuts then
	resting    bool     // it was told of none since
	caught     ecs.Tick // in lockstep, up to which it caught up last: of those it need not hear
	wrongs     int      // facts that were not the next
}

// fact is an irreversible event of the server's.
type fact struct {
	key   image.EventKey
	value string
}

// place is a fact's: its tick, and how many the tick has before it.
type place struct {
	tick  ecs.Tick
	index int
}

func (p place) before(q place) bool {
	return p.tick < q.tick || p.tick == q.tick && p.index < q.index
}

// following returns the first fact that is not before p; ok is false if there is none yet.
func (r *run) following(p place) (at place, f fact, ok bool) {
	for ; p.tick < ecs.Tick(len(r.facts)); p = (place{p.tick + 1, 0}) {
		if p.index < len(r.facts[p.tick]) {
			return p, r.facts[p.tick][p.index], true
		}
	}
	return p, f, false
}

// take notes what a final tick had that clients must hear of, and the presses that went into it. A tick that is taken
// again takes the place of the one before it, and of all after that.
func (r *run) take(f systems.FinalTick) {
	if f.World.Tick() != f.Tick {
		return
	}
	for ecs.Tick(len(r.facts)) < f.Tick {
		r.facts = append(r.facts, nil)
	}
	var now []fact
	for _, e := range f.World.Events() {
		if e.Irreversible {
			now = append(now, fact{e.Key, string(e.Value)})
		}
	}
	r.facts = append(r.facts[:f.Tick], now)
	if r.Match == nil || r.dead {
		return
	}
	for p := range f.Inputs {
		if in := f.Inputs[p]; in != r.rules.Input.Predict(in) {
			if s := r.Room.SeatAt(p); s.Client > 0 && s.Client <= uint64(len(r.state)) {
				r.state[s.Client-1].used++
			}
		}
	}
}

// loads is told that the client's half goes on from a state of tick f. Who plays on until then hears of all the same; not
// so where an image may be too old for the server when it is there, so that another one follows.
func (e *ear) loads(f ecs.Tick) {
	reconnects := e.Clients[e.client].Core.Stats().Reconnects
	away := !e.loaded || reconnects != e.reconnects || !e.Clients[e.client].Live() || e.worst(e.client)
	if after := (place{f + 1, 0}); e.power != e.cuts || away && e.next.before(after) {
		e.next = after
	}
	e.power, e.reconnects, e.loaded = e.cuts, reconnects, true
}

// hears is told of news of an event.
func (e *ear) hears(n systems.Effect) {
	if n.Status == ecs.EffectCancelled {
		e.tally.Told.Cancelled++
	}
	if !n.Event.Irreversible {
		return
	}
	if n.Status != ecs.EffectConfirmed {
		e.fail("client %d was told of an irreversible event as %v: %v", e.client, n.Status, n.Event.Key)
		return
	}
	e.tally.Told.Facts++
	at, next, ok := e.following(e.next)
	got := fact{n.Event.Key, string(n.Event.Value)}
	for ok && got != next && at.tick <= e.caught {
		at, next, ok = e.following(place{at.tick, at.index + 1})
	}
	if ok && got == next {
		e.next = place{at.tick, at.index + 1}
		return
	}
	if e.wrongs++; e.wrongs > 1 || e.state[e.client].planted != 0 { // whose own mistake makes facts, too
		return
	}
	e.fail("client %d at %v was told of %v %x, and the next is %v %x (%v)", e.client, e.Net.Now(), got.key, got.value, next.key, next.value, ok)
}

// finish demands that the client was told of all that happened long enough ago.
func (e *ear) finish() {
	until := confirmed(e.Clients[e.client])
	if at, f, ok := e.following(e.next); ok && at.tick+behind < until && at.tick > e.caught && e.state[e.client].planted == 0 {
		e.fail("client %d has confirmed tick %d and was not told of %v %x", e.client, until, f.key, f.value)
	}
}
