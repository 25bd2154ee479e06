package relay

import (
	"bytes"
	"testing"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/net/wire/vectors"
	"tendon/systems"
	"tendon/systems/internal/code"
	"tendon/systems/internal/inputs"
)

// near is the tick that short ticks are expanded against in fuzz targets and vectors.
const near = 1000

// confirmation is a whole confirmation in the clear, for tests: its ticks are coded against zero inputs.
//
// If own inputs are left out, the receiver is player ownSeat and sent the input 1,0 for each tick.
type confirmation struct {
	head  confirmHead
	ticks []finalTick
}

const ownSeat = 1

func (c *confirmation) append(dst []byte, game *ecs.Game) []byte {
	w := wire.NewWriter(dst, systems.MaxDatagram)
	c.head.append(&w)
	bits := wire.NewBitWriter(w.Bytes(), w.Room())
	before := make([]code.Course, game.MaxPlayers)
	ends := make([]uint16, game.MaxPlayers+1)
	for i := range c.ticks {
		t := &c.ticks[i]
		stored := wire.NewBitWriter(nil, systems.MaxDatagram)
		t.append(&stored, before, game, ends)
		stored.Bool(true)
		if c.head.withoutOwn && stored.Len() > 2 && !t.altered.Has(ownSeat) {
			code.AppendWithout(&bits, stored.Bytes(), int(ends[ownSeat]), int(ends[ownSeat+1]))
		} else {
			code.AppendStored(&bits, stored.Bytes())
		}
	}
	return bits.Bytes()
}

func (c *confirmation) read(message []byte, game *ecs.Game) error {
	r := wire.NewReader(message)
	if err := c.head.read(&r, near); err != nil {
		return err
	}
	bits := wire.NewBitReader(r.Rest())
	before := make([]code.Course, game.MaxPlayers)
	for range c.head.count {
		var t finalTick
		own := ownInput{seat: -1}
		if c.head.withoutOwn {
			own = ownInput{ownSeat, padInput.Pack(pad{DX: 1}), true}
		}
		if !t.read(&bits, before, game, own) {
			return ErrMessage
		}
		for p := range before {
			t.inputs = append(t.inputs, before[p].Last)
		}
		c.ticks = append(c.ticks, t)
	}
	return bits.Close()
}

func seeds(f *testing.F, kind string) {
	for _, v := range vectors.Read(f) {
		if v.Kind == kind {
			f.Add(v.Bytes)
		}
	}
}

// FuzzInput decodes input messages. Accepted ones are encoded to the same bytes, others are errors, and inputs stay bounded.
func FuzzInput(f *testing.F) {
	seeds(f, "input")
	game := testGame()
	f.Fuzz(func(t *testing.T, data []byte) {
		var m inputMessage
		if m.readAlone(data, near, game) != nil {
			return
		}
		if len(m.inputs) > inputs.MaxWindow || len(m.inputs) > 8*len(data) {
			t.Fatal(len(m.inputs))
		}
		if again := m.alone(game); !bytes.Equal(again, data) && len(data) <= systems.MaxDatagram {
			t.Fatalf("%x became %x", data, again)
		}
	})
}

func FuzzConfirm(f *testing.F) {
	seeds(f, "confirm")
	game := testGame()
	f.Fuzz(func(t *testing.T, data []byte) {
		var c confirmation
		if c.read(data, game) != nil {
			return
		}
		if len(c.ticks) > maxConfirms {
			t.Fatal(len(c.ticks))
		}
		if again := c.append(nil, game); !bytes.Equal(again, data) && len(data) <= systems.MaxDatagram {
			t.Fatalf("%x became %x", data, again)
		}
	})
}

func FuzzStamped(f *testing.F) {
	seeds(f, "stamped")
	seeds(f, "order")
	game := testGame()
	f.Fuzz(func(t *testing.T, data []byte) {
		var s stampedOrder
		if s.read(data, game) == nil {
			if again := s.append(nil); !bytes.Equal(again, data) {
				t.Fatalf("%x became %x", data, again)
			}
		}
		if n, target, payload, err := readRequest(data); err == nil {
			if again := appendRequest(nil, n, target, payload); !bytes.Equal(again, data) {
				t.Fatalf("%x became %x", data, again)
			}
		}
	})
}

func FuzzHash(f *testing.F) {
	seeds(f, "hash")
	f.Fuzz(func(t *testing.T, data []byte) {
		var m hashMessage
		if m.read(data) != nil {
			return
		}
		if again := m.append(nil); !bytes.Equal(again, data) {
			t.Fatalf("%x became %x", data, again)
		}
	})
}

// FuzzReceive sends any message to a running server and a running client, which neither panic nor grow.
func FuzzReceive(f *testing.F) {
	for _, kind := range []string{"input", "confirm", "stamped", "order", "hash"} {
		seeds(f, kind)
	}
	l := newLoop(f, testGame(), 2, 3, zigzag)
	for range 200 {
		l.Step()
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, ch := range []systems.Channel{systems.Datagram, systems.Reliable} {
			_ = l.server.Receive(0, ch, data, 0, l)
			_ = l.clients[1].Receive(ch, data, 0)
		}
		if len(l.server.requested) > orderBurst {
			t.Fatal(len(l.server.requested))
		}
	})
}

const orderBurst = 20 // of ecs.OrderBudget
