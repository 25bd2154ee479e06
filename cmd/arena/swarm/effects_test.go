package swarm

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// effectCheck checks the irreversible events that one process of a client reports. It must report each of them once and
// in tick order. Events before the state with which it joined or rejoined are exempt.
type effectCheck struct {
	*run
	client     int
	next       position // the next event that it must report
	loaded     bool
	reconnects uint64   // when it last loaded a state
	power      int      // power cuts then
	resting    bool     // it has reported none since
	caught     ecs.Tick // in lockstep, up to which it caught up last: those events are exempt
	wrongs     int      // events that were not the next
}

// event is an irreversible event of the server.
type event struct {
	key   image.EventKey
	value string
}

// position is an event's tick and its index within the tick.
type position struct {
	tick  ecs.Tick
	index int
}

func (p position) before(q position) bool {
	return p.tick < q.tick || p.tick == q.tick && p.index < q.index
}

// following returns the first event that is not before p; ok is false if there is none yet.
func (r *run) following(p position) (at position, f event, ok bool) {
	for ; p.tick < ecs.Tick(len(r.events)); p = (position{p.tick + 1, 0}) {
		if p.index < len(r.events[p.tick]) {
			return p, r.events[p.tick][p.index], true
		}
	}
	return p, f, false
}

// take records a final tick's irreversible events and its presses. A tick that is computed again replaces the earlier
// one and all that follow it.
func (r *run) take(f systems.FinalTick) {
	if f.World.Tick() != f.Tick {
		return
	}
	for ecs.Tick(len(r.events)) < f.Tick {
		r.events = append(r.events, nil)
	}
	var now []event
	for _, e := range f.World.Events() {
		if e.Irreversible {
			now = append(now, event{e.Key, string(e.Value)})
		}
	}
	r.events = append(r.events[:f.Tick], now)
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

// stateLoaded receives the tick of a state that the client's half loads. A client that played until then must still
// report all events. A client on the worst links is exempt, since its image may expire on the way.
func (e *effectCheck) stateLoaded(f ecs.Tick) {
	reconnects := e.Clients[e.client].Core.Stats().Reconnects
	away := !e.loaded || reconnects != e.reconnects || !e.Clients[e.client].Live() || e.worst(e.client)
	if after := (position{f + 1, 0}); e.power != e.cuts || away && e.next.before(after) {
		e.next = after
	}
	e.power, e.reconnects, e.loaded = e.cuts, reconnects, true
}

// effect receives an effect that the client reports.
func (e *effectCheck) effect(n systems.Effect) {
	if n.Status == ecs.EffectCancelled {
		e.counts.Replication.Cancelled++
	}
	if !n.Event.Irreversible || n.Verdict != nil { // a verdict is no event of the world
		return
	}
	if n.Status != ecs.EffectConfirmed {
		e.fail("client %d reported an irreversible event as %v: %v", e.client, n.Status, n.Event.Key)
		return
	}
	e.counts.Replication.Events++
	at, next, ok := e.following(e.next)
	got := event{n.Event.Key, string(n.Event.Value)}
	for ok && got != next && at.tick <= e.caught {
		at, next, ok = e.following(position{at.tick, at.index + 1})
	}
	if ok && got == next {
		e.next = position{at.tick, at.index + 1}
		return
	}
	if e.wrongs++; e.wrongs > 1 || e.state[e.client].planted != 0 { // its wrong state causes events, too
		return
	}
	e.fail("client %d at %v reported %v %x, and the next is %v %x (%v)", e.client, e.Net.Now(), got.key, got.value, next.key, next.value, ok)
}

// finish fails if the client has not reported an event that is old enough. Events are sent reliably, so on the worst links one
// may be retransmitted several times, with a round trip of two seconds.
func (e *effectCheck) finish() {
	until, age := confirmed(e.Clients[e.client]), ecs.Tick(behind)
	if e.worst(e.client) {
		age = 600
	}
	if at, f, ok := e.following(e.next); ok && at.tick+age < until && at.tick > e.caught && e.state[e.client].planted == 0 {
		e.fail("client %d has confirmed tick %d and has not reported %v %x", e.client, until, f.key, f.value)
	}
}
