package state

import (
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
)

// Receiver is a client's half. It makes a world the replica of the server's. The world holds the replica after each Load and
// Receive. The next Receive undoes other changes of the world, such as predicted ticks.
type Receiver struct {
	world    *ecs.World
	store    storage
	decoder  decoder
	replica  image.Snapshot // empty before Load
	complete bool           // see Complete
	sequence uint64         // of the newest accepted delta, 0: none since Load
	older    uint32         // bit i: the delta with the number sequence − 1 − i was accepted
	refused  uint64         // the newest delta that was refused, 0: none since
}

type storage struct {
	entities histories   // and globals
	accepted recentTicks // of the last accepted deltas
}

func (s *storage) update(e ecs.Entity, set image.ComponentSet, values []uint64, tick ecs.Tick) {
	s.entities.push(s.entities.begin(e, set, len(values)), tick, values, storedValues)
}

const (
	storedValues = 32      // values of each entity that a client stores; a server may use any of them as baseline
	maxEntities  = 1 << 18 // entities that a client has room for
)

// NewReceiver returns a receiver that makes w a replica. Call Load before Receive. It fails for a game that cannot be
// replicated.
func NewReceiver(w *ecs.World) (*Receiver, error) {
	s, err := newSchema(w.Game())
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	r := &Receiver{world: w}
	r.store.entities.bound = maxScalars
	r.decoder = newDecoder(s)
	return r, nil
}

// Load starts anew with the state in the world as the replica: an image of the server's of the tick that its Sender was
// opened with. The connection may be another one, whose deltas are numbered from 1.
func (r *Receiver) Load() {
	s := &r.replica
	r.world.Image().Save(s)
	r.sequence, r.older, r.complete, r.refused = 0, 0, true, 0
	r.decoder.checkpoints.clear()
	r.store.entities.clear()
	r.store.accepted = append(r.store.accepted[:0], r.Tick())
	values := r.decoder.values
	s.Entities(func(e ecs.Entity) bool {
		var set image.ComponentSet
		e, set, values = s.AppendScalars(values[:0], e.Row)
		r.store.update(e, set, values, r.Tick())
		return true
	})
	for i := range r.decoder.schema.globals() {
		values = appendGlobal(values[:0], s, i)
		r.store.update(global(i), 0, values, r.Tick())
	}
	r.decoder.values = values
}

// Receive applies a delta. One that is not newer than the last is ignored. On an error nothing of it is applied.
func (r *Receiver) Receive(delta []byte) error {
	if r.replica.Empty() {
		panic("state: Receive before Load: load the server's image into the world, and then call Load")
	}
	var h header
	content, ok := h.read(delta)
	if !ok {
		return ErrDelta
	}
	sequence := wire.Expand16(r.sequence, h.sequence)
	tick := ecs.Tick(wire.Expand16(uint64(r.Tick()), h.tick))
	if sequence <= r.sequence || tick <= r.Tick() {
		return nil
	}
	err := r.decoder.read(content, sequence, tick, &r.store)
	if err == nil {
		err = r.apply(tick)
	}
	if err == ErrBaseline || err == ErrValues {
		r.refused = max(r.refused, sequence)
	}
	if err != nil {
		return err
	}
	by := sequence - r.sequence
	if r.sequence > 0 {
		r.older = uint32((uint64(r.older)<<1 | 1) << min(by-1, 63))
	}
	r.sequence = sequence
	if sequence-r.refused > 32 {
		r.refused = 0 // the server knows by now, or sends it again
	}
	r.complete = h.relies != reliesOnBudget && r.older|^uint32(0)<<h.relies == ^uint32(0)
	r.keep(sequence, tick)
	return nil
}

// apply makes the world the state of a tick, by the decoder's elements.
func (r *Receiver) apply(tick ecs.Tick) error {
	w, d := r.world, &r.decoder
	if r.store.entities.rows.Len()+len(d.elements) > maxEntities || !r.store.entities.room(len(d.values)) {
		return ErrValues
	}
	w.Image().Restore(&r.replica)
	players := r.replica.Players()
	if len(d.elements) > 0 && d.elements[0].list == listGlobals && d.elements[0].place == 0 {
		players = image.PlayerSet(d.values[d.elements[0].from])
	}
	err := w.Image().PutTick(tick, players)
	for i := 0; i < len(d.elements) && err == nil; i++ {
		x := &d.elements[i]
		switch {
		case x.list == listGone:
			w.Image().DropRow(x.place)
		case x.list >= listEntities:
			err = w.Image().PutEntity(x.entity, x.set, d.values[x.from:x.to])
		case x.place > 0:
			err = w.Image().PutResource(int(x.place)-1, d.values[x.from:x.to])
		}
	}
	if err != nil {
		w.Image().Restore(&r.replica)
		return ErrValues
	}
	return nil
}

// keep stores the state in the world, which is of a tick, and the values of its delta.
func (r *Receiver) keep(sequence uint64, tick ecs.Tick) {
	r.world.Image().Save(&r.replica)
	r.store.accepted.push(tick)
	d := &r.decoder
	for i := range d.elements {
		x := &d.elements[i]
		if x.list == listGone {
			r.store.entities.drop(x.place)
		} else {
			r.store.update(x.entity, x.set, d.values[x.from:x.to], tick)
		}
	}
	if len(d.elements) == 0 {
		return
	}
	if p := d.checkpoints.keep(sequence, d.schema, d.models); p != nil {
		for i := range d.elements {
			if d.elements[i].list >= listEntities {
				p.rows = append(p.rows, d.elements[i].place)
			}
		}
		slices.Sort(p.rows)
	}
}

// Ack returns the acknowledgement to send with the next message to the server. It may be sent any number of times.
func (r *Receiver) Ack() Ack {
	return Ack{Any: r.sequence > 0, Newest: uint16(r.sequence), Older: r.older, Lost: r.refused != 0, Refused: uint16(r.refused)}
}

// Tick returns the tick of the replica.
func (r *Receiver) Tick() ecs.Tick { return r.replica.Tick() }

// State returns the replica. It is valid until the next Receive or Load.
func (r *Receiver) State() *image.Snapshot { return &r.replica }

// Complete reports whether the replica has everything that this client is to know of the server's state in its tick.
func (r *Receiver) Complete() bool { return r.complete }

// Current reports whether an entity of the replica equals the server's in its tick: the last delta updated it, or the replica
// is complete.
func (r *Receiver) Current(e ecs.Entity) bool {
	h := r.store.entities.of(e)
	return h != nil && (r.complete || h.tick(h.count-1) == r.Tick())
}

// LastUpdate returns the last tick that updated e, 0 for none.
func (r *Receiver) LastUpdate(e ecs.Entity) ecs.Tick {
	if h := r.store.entities.of(e); h != nil {
		return h.tick(h.count - 1)
	}
	return 0
}
