package state

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
)

// Receiver is a client's half: it makes a world the replica of the server's. The world holds the replica after each Load and
// Receive, and snapshots hold the last ones. The next Receive undoes other changes of the world, such as predicted ticks.
type Receiver struct {
	world    *ecs.World
	held     holding
	decoder  decoder
	states   []replica // the last ones, in slot n % len of the n-th
	count    int       // states since Load; the newest is the one of count − 1
	sequence uint64    // of the newest body that was taken
	older    uint32    // bit i: the body i+1 before that was taken
	any      bool      // a body was taken
	refused  uint64    // the newest that could not be used, 0: none since
	stats    ReceiverStats
}

// holding is what a client holds of each thing.
type holding struct {
	entities tracks
	specials []track
	ticks    [heldStates]ecs.Tick // the last ones that it was brought to, in a ring
	count    int                  // of all ticks
}

// took reports whether tick f is among them.
func (h *holding) took(f ecs.Tick) bool {
	for i := h.count - 1; i >= max(0, h.count-heldStates); i-- {
		if g := h.ticks[i%heldStates]; g <= f {
			return g == f
		}
	}
	return false
}

// take takes note of a tick, later than all before.
func (h *holding) take(f ecs.Tick) {
	h.ticks[h.count%heldStates] = f
	h.count++
}

// replica is a state that was held.
type replica struct {
	state    image.Snapshot
	complete bool
}

// ReceiverStats counts bodies since NewReceiver.
type ReceiverStats struct {
	Taken   uint64 // applied
	Stale   uint64 // doubled or overtaken
	Refused uint64 // could not be used
	Updates uint64 // entities that came or changed
	Gone    uint64 // entities that left
}

const (
	heldValues   = 32      // of each entity that a client keeps, so that a server may build on any of them
	heldStates   = 64      // replicas that a client keeps
	heldEntities = 1 << 16 // that a client has room for
)

// NewReceiver returns a receiver that makes w a replica. Call Load before Receive.
func NewReceiver(w *ecs.World) (*Receiver, error) {
	s, err := newSchema(w.Game())
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	r := &Receiver{world: w, states: make([]replica, heldStates)}
	r.held.entities.bound = trackedScalars
	r.held.specials = make([]track, s.specials())
	r.decoder = decoder{schema: s, models: newModels(s)}
	return r, nil
}

// Renew begins anew, as NewReceiver does: another connection numbers bodies from 1 on. Call Load before Receive.
func (r *Receiver) Renew() {
	r.count, r.sequence, r.older, r.any, r.stats = 0, 0, 0, false, ReceiverStats{}
}

// Load takes over the state that is in the world: an image of the server's, of the tick that its Sender was opened with.
func (r *Receiver) Load() {
	for i := range r.states {
		r.states[i].state.Release()
	}
	s := &r.states[0]
	r.world.Image().Save(&s.state)
	s.complete, r.count, r.refused = true, 1, 0
	r.held.entities.clear()
	r.held.count = 0
	r.held.take(r.Tick())
	values := r.decoder.values
	s.state.Entities(func(e ecs.Entity) bool {
		var set image.ComponentSet
		e, set, values = s.state.AppendScalars(values[:0], e.Row)
		r.held.entities.push(r.held.entities.begin(e, set, len(values)), r.Tick(), values, heldValues)
		return true
	})
	for i := range r.held.specials {
		if i == 0 {
			values = append(values[:0], uint64(s.state.Players()))
		} else {
			values = s.state.AppendResource(values[:0], i-1)
		}
		r.held.specials[i].begin(ecs.Entity{}, 0, len(values))
		r.held.specials[i].push(r.Tick(), values, heldValues)
	}
	r.decoder.values = values
}

// Forget drops of everything all values but the newest, as happens where memory is short. Bodies that build on others are
// refused from then on, until the server knows.
func (r *Receiver) Forget() {
	for i := range r.held.entities.all {
		r.held.entities.all[i].forget()
	}
	for i := range r.held.specials {
		r.held.specials[i].forget()
	}
	r.held.count = 0
	r.held.take(r.Tick())
}

// track returns the track of the resource or entity of an element, nil if there is none.
func (h *holding) track(x *element) *track {
	if x.list == listSpecials {
		return &h.specials[x.place]
	}
	return h.entities.at(x.place)
}

// Receive applies a body. It ignores a body that is not newer than the last. An error leaves the receiver unchanged.
func (r *Receiver) Receive(body []byte) error {
	if r.count == 0 {
		panic("state: Receive before Load: load the server's image into the world, and then call Load")
	}
	var h header
	content, ok := h.read(body)
	if !ok {
		r.stats.Refused++
		return ErrBody
	}
	sequence := wire.Expand16(r.sequence, h.sequence)
	tick := ecs.Tick(wire.Expand16(uint64(r.Tick()), h.tick))
	if sequence <= r.sequence || tick <= r.Tick() {
		r.stats.Stale++
		return nil
	}
	err := r.decoder.read(content, tick, &r.held)
	if err == nil {
		err = r.apply(tick)
	}
	if err != nil {
		r.stats.Refused++
		if err != ErrBody {
			r.refused = max(r.refused, sequence)
		}
		return err
	}
	r.taken(sequence)
	r.keep(tick, h.relies != reliesOnBudget && r.older|^uint32(0)<<h.relies == ^uint32(0))
	return nil
}

// apply makes the world the state of a tick, by the elements at hand.
func (r *Receiver) apply(tick ecs.Tick) error {
	w, d := r.world, &r.decoder
	newest := &r.newest().state
	if r.held.entities.size()+len(d.elements) > heldEntities || !r.held.entities.room(len(d.values)) {
		return ErrValues
	}
	w.Image().Restore(newest)
	players := newest.Players()
	if len(d.elements) > 0 && d.elements[0].list == listSpecials && d.elements[0].place == 0 {
		players = image.PlayerSet(d.values[d.elements[0].from])
	}
	err := w.Image().PutTick(tick, players)
	for i := 0; i < len(d.elements) && err == nil; i++ {
		x := &d.elements[i]
		switch {
		case x.list == listGone:
			w.Image().DropRow(x.place)
		case x.list == listEntities:
			err = w.Image().PutEntity(x.entity, x.set, d.values[x.from:x.to])
		case x.place > 0:
			err = w.Image().PutResource(int(x.place)-1, d.values[x.from:x.to])
		}
	}
	if err != nil {
		w.Image().Restore(newest)
		return ErrValues
	}
	return nil
}

// keep holds the state in the world, which is that of a tick, and the values that came with it.
func (r *Receiver) keep(tick ecs.Tick, complete bool) {
	slot := &r.states[r.count%heldStates]
	r.world.Image().Save(&slot.state)
	slot.complete = complete
	r.held.take(tick)
	r.count++
	d := &r.decoder
	for i := range d.elements {
		x := &d.elements[i]
		values := d.values[x.from:x.to]
		switch x.list {
		case listGone:
			r.held.entities.drop(x.place)
			r.stats.Gone++
		case listEntities:
			r.held.entities.push(r.held.entities.begin(x.entity, x.set, len(values)), tick, values, heldValues)
			r.stats.Updates++
		default:
			r.held.specials[x.place].push(tick, values, heldValues)
		}
	}
}

// taken takes note of a body, which is newer than all before.
func (r *Receiver) taken(sequence uint64) {
	by := sequence - r.sequence
	if r.any {
		r.older = uint32((uint64(r.older)<<1 | 1) << min(by-1, 63))
	}
	r.any, r.sequence = true, sequence
	if sequence-r.refused > 32 {
		r.refused = 0 // the server knows by now, or sends it again
	}
	r.stats.Taken++
}

// Ack returns the acknowledgement for the next message to the server.
func (r *Receiver) Ack() Ack {
	a := Ack{Any: r.any, Newest: uint16(r.sequence), Older: r.older, Lost: r.refused != 0, Refused: uint16(r.refused)}
	if !a.Any {
		a.Newest = 0
	}
	return a
}

// Stats returns what was counted.
func (r *Receiver) Stats() ReceiverStats { return r.stats }

func (r *Receiver) newest() *replica { return &r.states[(r.count-1)%heldStates] }

// Tick returns the newest tick of which something is held.
func (r *Receiver) Tick() ecs.Tick { return r.newest().state.Tick() }

// State returns the newest replica. It is valid until the next Receive or Load.
func (r *Receiver) State() *image.Snapshot { return &r.newest().state }

// Complete returns the newest tick in which the replica was all that this client is to know of the server's state.
func (r *Receiver) Complete() (f ecs.Tick, ok bool) {
	for n := r.count - 1; n >= r.oldest(); n-- {
		if s := &r.states[n%heldStates]; s.complete {
			return s.state.Tick(), true
		}
	}
	return 0, false
}

// oldest returns the number of the oldest state that is held.
func (r *Receiver) oldest() int { return max(0, r.count-heldStates) }
