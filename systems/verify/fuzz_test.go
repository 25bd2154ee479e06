package verify

import (
	"bytes"
	"testing"

	"tendon/net/wire/vectors"
	"tendon/systems"
)

func seeds(f *testing.F, kinds ...string) {
	for _, v := range vectors.Read(f) {
		for _, kind := range kinds {
			if v.Kind == kind {
				f.Add(v.Bytes)
			}
		}
	}
}

// A message that decodes is encoded to the same bytes. Any other is an error. The number of commands is bounded.
func FuzzAsk(f *testing.F) {
	seeds(f, "ask")
	game := testGame(60)
	f.Fuzz(func(t *testing.T, data []byte) {
		var m askMessage
		if m.read(data, near, game) != nil {
			return
		}
		if len(m.asked) > maxOutstanding {
			t.Fatal(len(m.asked))
		}
		if again, n := m.append(nil, systems.MaxReliable, game); n != len(m.asked) || !bytes.Equal(again, data) {
			t.Fatalf("%x became %x", data, again)
		}
	})
}

func FuzzState(f *testing.F) {
	seeds(f, "state")
	f.Fuzz(func(t *testing.T, data []byte) {
		var m stateMessage
		if m.read(data) != nil {
			return
		}
		if len(m.rejected) > maxOutstanding || len(m.happened) > maxHistory {
			t.Fatal(len(m.rejected), len(m.happened))
		}
		if again := m.append(nil); !bytes.Equal(again, data) {
			t.Fatalf("%x became %x", data, again)
		}
	})
}

func FuzzPiece(f *testing.F) {
	seeds(f, "piece")
	f.Fuzz(func(t *testing.T, data []byte) {
		more, piece, err := readPiece(data)
		if err != nil {
			return
		}
		if again := appendPiece(nil, more, piece); !bytes.Equal(again, data) {
			t.Fatalf("%x became %x", data, again)
		}
	})
}

func FuzzParams(f *testing.F) {
	seeds(f, "params")
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Config
		if c.takeParams(data) != nil {
			return
		}
		if again := c.params(); !bytes.Equal(again, data) {
			t.Fatalf("%x became %x", data, again)
		}
		if _, err := c.withDefaults(); err != nil {
			t.Fatal(err)
		}
	})
}

// No message makes a running server panic or grow, or disturbs another peer. No message makes a client panic or show a
// state with another checksum than the server's.
func FuzzReceive(f *testing.F) {
	seeds(f, "ask", "state", "piece")
	l := newLoop(f, testGame(60), Config{}, 2, 3, zigzag)
	for range 200 {
		l.Step()
	}
	// A State that the client would take as it is, for the fuzzer to spoil.
	l.server.Tick(0)
	f.Add(bytes.Clone(l.server.state(&l.server.Peers[1], l.server.Peers[1].Acked, l.server.Done())))
	f.Fuzz(func(t *testing.T, data []byte) {
		other := l.server.Peers[1]
		c := l.clients[1]
		for _, ch := range []systems.Channel{systems.Datagram, systems.Reliable} {
			_ = l.server.Receive(0, ch, data, 0, l)
			before := c.present
			_ = c.Receive(ch, data, 0)
			if s, ok := c.ring.At(c.present); !ok || c.World().Tick() != c.present || c.present < before || s.Tick() != c.present {
				t.Fatalf("the client stands in tick %d of %d", c.World().Tick(), c.present)
			}
		}
		if len(l.server.queue) > 2*maxOutstanding || len(l.server.seats[0].rejected) > maxOutstanding || len(c.pieces) > maxState {
			t.Fatal(len(l.server.queue), len(c.pieces))
		}
		if now := l.server.Peers[1]; now.Acked != other.Acked || now.Stats != other.Stats || l.server.Peers[0].Acked > l.server.Done() {
			t.Fatal("a peer changed another")
		}
		l.server.Tick(0) // what it asked for is decided on, whatever it is
		l.server.Send(0, discard{})
	})
}

type discard struct{}

func (discard) Send(systems.Peer, systems.Channel, []byte) {}

func (discard) Ready(systems.Peer) bool { return true }

func (discard) Room(systems.Peer) int { return 1 << 16 }
