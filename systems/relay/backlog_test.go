package relay

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/raworder"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
)

// While a peer needs them, ticks are kept beyond the last 1024, but never more bytes than Backlog. When none is needed, the
// memory is released.
func TestOlderTicksAreKeptWithinTheBacklog(t *testing.T) {
	const limit = 64 << 10
	world, err := ecs.NewWorld(testGame(), 1)
	if err != nil {
		t.Fatal(err)
	}
	half, err := NewServer(systems.ServerConfig{World: world, Peers: 2, Backlog: limit})
	if err != nil {
		t.Fatal(err)
	}
	s := half.(*Server)
	run := func(ticks int, keep ...ecs.Tick) {
		for range ticks {
			s.Keep(keep)
			s.Tick(0)
		}
	}
	run(100)
	run(backlog+1000, 100)
	if !s.Serves(100) || s.Serves(99) {
		t.Errorf("State(100) is served: %v, the oldest is %d", s.Serves(100), s.OldestServable())
	}
	for f := s.OldestServable() + 1; f <= s.Done(); f++ {
		if len(s.code(f)) == 0 {
			t.Fatalf("the code of tick %d is not kept", f)
		}
	}
	most := 0
	for range 8000 {
		run(1, 100)
		most = max(most, s.older.bytes())
	}
	if s.Serves(100) || most > limit || most < limit/2 {
		t.Errorf("State(100) is served: %v, at most %d bytes were kept, the oldest state is %d of %d", s.Serves(100), most, s.OldestServable(), s.Done())
	}
	run(1)
	if s.OldestServable() != s.Done()-backlog || s.older.codes != nil {
		t.Errorf("the oldest state is %d of %d, %d bytes are kept", s.OldestServable(), s.Done(), s.older.bytes())
	}
}

// A peer that never acknowledges the ticks that it is sent makes the server keep 1024 of them, and is sent an image.
func TestAPeerWithoutAcknowledgementsKeepsNoTicks(t *testing.T) {
	s := afterwards(t, testGame(), play(t, testGame(), 300), 0)
	s.Open(0, 0, 300, 0, halves.Discard)
	for range 2 * backlog {
		s.Keep(nil)
		s.Tick(0)
		s.Send(0, halves.Discard)
	}
	images := 0
	s.Desynced(func(systems.Peer) { images++ })
	if images != 1 || s.older.bytes() > 0 {
		t.Errorf("%d images, %d bytes are kept", images, s.older.bytes())
	}
}

// The older ticks are kept for a peer that catches up, until it is at most backlog/2 ticks behind.
func TestAPeerThatCatchesUpMayPause(t *testing.T) {
	s := afterwards(t, testGame(), play(t, testGame(), 300), 0)
	for range 3 * backlog {
		s.Keep([]ecs.Tick{300})
		s.Tick(0)
	}
	s.Open(0, -1, 300, 0, halves.Discard)
	s.Peers[0].Acked = s.Done() - backlog + 10
	for range 100 {
		s.Keep(nil)
		s.Tick(0)
		s.Send(0, halves.Discard)
	}
	s.Desynced(func(systems.Peer) { t.Error("the peer is sent an image") })
}

// meter counts the bytes of reliable messages.
type meter int

func (m *meter) Send(_ systems.Peer, ch systems.Channel, message []byte) {
	if ch == systems.Reliable {
		*m += meter(len(message))
	}
}

func (*meter) Ready(systems.Peer) bool { return true }

func (*meter) Room(systems.Peer) int { return 1 << 16 }

// A peer with an old state is sent the orders since then in turn, as it acknowledges ticks.
func TestAPeerReceivesOldOrdersInTurn(t *testing.T) {
	s := afterwards(t, testGame(), play(t, testGame(), 300), 0)
	const orders, bytes = 800, 1000
	for range orders {
		s.Stamp(image.Order{Kind: image.OrderGame, Payload: raworder.Bytes(bytes)}, halves.Discard)
		s.Keep([]ecs.Tick{300})
		s.Tick(0)
	}
	var out meter
	s.Open(0, -1, 300, 0, &out)
	if out > ordersInFlight+2*bytes {
		t.Fatalf("%d bytes of orders when the peer is opened", out)
	}
	p := &s.Peers[0]
	for round := 0; p.Acked < s.Done(); round++ {
		before := out
		s.Keep(nil)
		s.Send(0, &out)
		if out-before > ordersInFlight+2*bytes || round > orders {
			t.Fatalf("%d bytes of orders at once, round %d", out-before, round)
		}
		p.Acked = min(p.Acked+20, s.Done())
	}
	for range 3 {
		s.Send(0, &out)
	}
	if out < orders*bytes {
		t.Errorf("%d bytes of orders were sent, want %d", out, orders*bytes)
	}
}

// An image may arrive so late that more than 1024 ticks follow it. The client receives them all, and the orders in them.
func TestTicksAfterALateImageAreReceived(t *testing.T) {
	const late = 25 * time.Second
	m := several(t, 2, profile(t, "P3"), 5, systems.ClientConfig{})
	c := m.clients[0]
	m.Net.At(2*time.Second, func() {
		c.peer.Drop()
		c.peer.SendImage(late)
	})
	m.Net.At(late, func() { m.join(profile(t, "P3"), simnet.Clock{}, systems.ClientConfig{Seat: 2}, 60, idle) })
	m.Net.RunUntil(late + 5*time.Second)
	if behind := m.server.Done() - c.timeline.Confirmed(); !c.Live() || behind > 12 || c.peer.Loads != 2 {
		t.Errorf("%d ticks behind after %d images", behind, c.peer.Loads)
	}
	m.wantSound(200)
}
