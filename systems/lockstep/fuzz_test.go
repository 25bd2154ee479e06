package lockstep

import (
	"bytes"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
)

// near is the frame that short ticks are expanded against in fuzz targets.
const near = 1000

func seedOps(f *testing.F, game *ecs.Game) {
	for _, m := range []opsMessage{{}, {received: 1010, executed: 1001, live: true, lead: 9, stalled: 300},
		{received: 990, executed: 990, first: 77, ops: []op{{in: padInput.Pack(pad{DX: 1, Throw: true})}, {isOrder: true, number: 1, target: ecs.Entity{Row: 8, Born: 900}, payload: []byte("buy")}, {}}}} {
		message, _ := m.append(nil, game)
		f.Add(message)
	}
}

func seedStamped(f *testing.F, game *ecs.Game) {
	for _, s := range []stamped{{tick: 1001, player: 2, input: true, in: padInput.Pack(pad{DY: -1})}, {tick: 1002, number: 3, order: image.Order{Kind: image.OrderJoin, Player: 3}},
		{tick: 1005, number: 200, order: image.Order{Player: 1, Entity: ecs.Entity{Row: 1, Born: 1}, Payload: make([]byte, 30)}}} {
		f.Add(s.append(nil, game))
	}
}

// seedSyncs are what a running server sends.
func seedSyncs(f *testing.F, game *ecs.Game) {
	l := newLoop(f, Config{}, game, 2, 0, zigzag)
	for range 40 {
		l.Next()
		l.server.Tick(0)
		head := l.server.head(&l.server.Peers[0], 1)
		l.server.write(&head, systems.MaxDatagram, 0)
		f.Add(bytes.Clone(l.server.Sending.Message))
	}
}

// A message that decodes is encoded to the same bytes. Any other is an error. The number of operations is bounded.
func FuzzOps(f *testing.F) {
	game := testGame()
	seedOps(f, game)
	f.Fuzz(func(t *testing.T, data []byte) {
		var m opsMessage
		if m.read(data, near, game) != nil {
			return
		}
		if len(m.ops) > maxOps || m.executed > m.received {
			t.Fatalf("%+v", m)
		}
		if again, _ := m.append(nil, game); !bytes.Equal(again, data) && len(data) <= systems.MaxDatagram {
			t.Fatalf("%x became %x", data, again)
		}
	})
}

func FuzzStamped(f *testing.F) {
	game := testGame()
	seedStamped(f, game)
	f.Fuzz(func(t *testing.T, data []byte) {
		var s stamped
		if s.read(data, game) == nil {
			if again := s.append(nil, game); !bytes.Equal(again, data) {
				t.Fatalf("%x became %x", data, again)
			}
		}
	})
}

func FuzzHashAndResult(f *testing.F) {
	f.Add((&hashMessage{60, 1 << 60}).append(nil))
	f.Add((&resultMessage{900, 77, []byte("3:1")}).append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		var h hashMessage
		if h.read(data) == nil {
			if again := h.append(nil); !bytes.Equal(again, data) {
				t.Fatalf("%x became %x", data, again)
			}
		}
		var r resultMessage
		if r.read(data) == nil {
			if again := r.append(nil); !bytes.Equal(again, data) || len(r.result) > image.MaxResultBytes {
				t.Fatalf("%x became %x", data, again)
			}
		}
	})
}

// A frame that decodes is encoded to the same bits.
func FuzzFrame(f *testing.F) {
	game := testGame()
	f.Add([]byte{0})
	f.Add([]byte{1, 0xff, 7, 8, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, before := newFrame(game), make([]ecs.InputBytes, game.MaxPlayers)
		before[1] = padInput.Pack(pad{DX: 3, Throw: true})
		r := wire.NewBitReader(data)
		if _, whole, ok := frame.read(&r, before, game); !ok || !whole || r.Err() != nil {
			return
		}
		used := len(data)*8 - r.Len()
		w := wire.NewBitWriter(nil, worstCode(game))
		frame.append(&w, before, game)
		w.Bool(true)
		again := wire.NewBitWriter(nil, len(data)+9)
		for r = wire.NewBitReader(data); used > 0; used-- {
			again.Bool(r.Bool())
		}
		again.Bool(true)
		if !bytes.Equal(w.Bytes(), again.Bytes()) {
			t.Fatalf("%x became %x", again.Bytes(), w.Bytes())
		}
	})
}

func FuzzParams(f *testing.F) {
	f.Add(Strategy.Params)
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Config
		if c.readParams(data) == nil {
			if again := c.appendParams(nil); !bytes.Equal(again, data) {
				t.Fatalf("%x became %x", data, again)
			}
		}
	})
}

// No message makes a running server or a running client panic or grow.
func FuzzReceive(f *testing.F) {
	game := testGame()
	seedOps(f, game)
	seedStamped(f, game)
	seedSyncs(f, game)
	f.Add((&hashMessage{180, 1}).append(nil))
	f.Add((&resultMessage{180, 1, []byte("3:1")}).append(nil))
	l := newLoop(f, Config{RelayAtOnce: true}, ending(), 2, 3, zigzag)
	for range 200 {
		l.Step()
	}
	l.Lost = func(bool, int, systems.Channel, []byte) bool { return true } // nothing is sent
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, ch := range []systems.Channel{systems.Datagram, systems.Reliable} {
			_ = l.server.Receive(0, ch, data, 0, l)
			_ = l.clients[1].Receive(ch, data, 0)
		}
		c := l.clients[1]
		c.Frame(systems.Time(l.Tick+300) * l.Length)
		if waiting(l.server) > 1000 || len(c.incoming.held) > maxHeld || c.log.bytes > maxPending || len(c.own.list) > maxQueue {
			t.Fatal(waiting(l.server), len(c.incoming.held), c.log.bytes)
		}
	})
}
