package state

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
)

// Deltas of another state, cut ones and changed ones: a client takes them or not, but goes on, and so does its world.
func FuzzBody(f *testing.F) {
	_, deltas, _ := traffic(f, 40)
	for i, b := range deltas {
		if i%7 == 0 {
			f.Add(b)
		}
	}
	game := testGame(&scene{busy: true, move: true})
	source, _, _ := traffic(f, 0)
	encoded := source.state().AppendImage(nil)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		w := newWorld(t, game)
		if err := w.Image().Load(encoded); err != nil {
			t.Fatal(err)
		}
		r, err := NewReceiver(w)
		if err != nil {
			t.Fatal(err)
		}
		r.Load()
		before, tick := r.State().Checksum(), r.Tick()
		if err := r.Receive(b); err != nil || r.Tick() == tick {
			var s image.Snapshot
			w.Image().Save(&s)
			if s.Checksum() != before || r.Ack().Any {
				t.Fatalf("%v, and a trace", err)
			}
			return
		}
		// An accepted state can be stored, loaded and continued.
		if err := newWorld(t, game).Image().Load(r.State().AppendImage(nil)); err != nil {
			t.Fatal(err)
		}
		w.Step(ecs.TickInputs{})
		elements, values := slices.Clone(r.decoder.elements), slices.Clone(r.decoder.values)
		if again := encodeAgain(r, tick, b, elements, values); again != nil {
			d := newDecoder(r.decoder.schema)
			h := header{}
			content, ok := h.read(again)
			if !ok || d.read(content, 1, r.Tick(), &r.store) != nil || !slices.Equal(d.elements, elements) || !slices.Equal(d.values, values) {
				t.Fatal("what was read, written and read again is not the same")
			}
		}
	})
}

// encodeAgain writes what a receiver has taken as a delta of whole values.
func encodeAgain(r *Receiver, _ ecs.Tick, b []byte, elements []element, values []uint64) []byte {
	h := header{}
	if h.read(b); !h.content {
		return nil
	}
	return delta(r.decoder.schema, h.sequence, h.tick, func(e *encoder) {
		c, list := coding{}, 0
		for _, x := range elements {
			for ; list < x.list; list++ {
				e.end(list)
				c = coding{}
			}
			e.element(list, &c, x.place)
			switch list {
			case listGlobals:
				e.based(list, &c, asWhole, 0, 0, false)
				e.part(e.schema.components+int(x.place), asWhole, values[x.from:x.to], nil, nil, new(uint64))
			case listEntities:
				e.based(list, &c, asWhole, 0, 0, false)
				e.identity(&c, r.Tick(), x.entity.Born, x.set)
				e.entity(x.set, asWhole, values[x.from:x.to], nil, nil)
			}
		}
		for ; list < lists; list++ {
			e.end(list)
		}
	})
}

// FuzzAck reads acknowledgements. One is refused, or written back unchanged.
func FuzzAck(f *testing.F) {
	_, _, acks := traffic(f, 20)
	for _, a := range acks[:5] {
		f.Add(a)
	}
	f.Add([]byte{3, 1, 0, 0, 0, 0, 0, 1, 0})
	g := newRig(f, 5, &scene{busy: true})
	c := g.join(0, 700, link{})
	for range 100 {
		g.world.Step(ecs.TickInputs{})
		g.record(g.world)
		c.sender.Append(nil, 700, g.changes.All)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := wire.NewReader(b)
		a := ReadAck(&r)
		if r.Close() != nil {
			return
		}
		w := wire.NewWriter(nil, 16)
		if a.Append(&w); !slices.Equal(w.Bytes(), b) {
			t.Fatalf("%x is written as %x", b, w.Bytes())
		}
		c.sender.Acked(a)
		g.world.Step(ecs.TickInputs{})
		g.record(g.world)
		if n := len(c.sender.Append(nil, 700, g.changes.All)); n > 700 {
			t.Fatal("a delta of", n, "bytes")
		}
	})
}
