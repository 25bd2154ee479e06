package lockstep

import (
	"testing"

	"tendon/ecs"
	"tendon/systems"
)

// counted is an outbox that counts.
type counted int

func (c *counted) Send(systems.Peer, systems.Channel, []byte) { *c++ }

func (c *counted) Ready(systems.Peer) bool { return true }

func (c *counted) Room(systems.Peer) int { return 0 }

// A room that cannot write its journal calls Tick and no Send. A match that waits for players repeats its last sync to
// a peer that asks again. That sync must not promise frames that are not durable.
func TestARepeatedSyncPromisesOnlyDurableFrames(t *testing.T) {
	game := testGame()
	l := newLoop(t, Config{Interval: 1, Closing: Waiting}, game, 1, 1, zigzag)
	for range 100 {
		l.Step()
	}
	s, now := l.server, l.Net.Now()
	ask := func(received ecs.Tick) (answers int) {
		now += resendHeld
		m := opsMessage{received: received, executed: received, live: true}
		message, _ := m.append(nil, game)
		var out counted
		if err := s.Receive(0, systems.Datagram, message, now, &out); err != nil {
			t.Fatal(err)
		}
		return int(out)
	}
	for !s.Hold(now) {
		s.Tick(now)
	}
	if s.syncs.sync == s.syncs.released {
		t.Fatal("there is no frame that is not durable")
	}
	if n := ask(s.syncs.released - 1); n != 0 {
		t.Errorf("%d messages before Send", n)
	}
	s.Send(now, l)
	if n := ask(s.syncs.sync - 1); n != 1 {
		t.Errorf("%d messages after Send, want the last sync again", n)
	}
}

// congested is an outbox to a peer whose line is congested. It passes the messages to the others on.
type congested struct {
	systems.Outbox
	peer systems.Peer
	full bool // messages wait in the queue of the reliable channel; else the line is congested
	sent int  // to the peer
}

func (c *congested) Ready(p systems.Peer) bool { return p != c.peer || c.full }

func (c *congested) Room(p systems.Peer) int {
	if p == c.peer && c.full {
		return 0
	}
	return c.Outbox.Room(p)
}

func (c *congested) Send(p systems.Peer, ch systems.Channel, message []byte) {
	if p == c.peer {
		c.sent++
		return
	}
	c.Outbox.Send(p, ch, message)
}

// An operation is not sent by itself where it would wait for those before it: on a congested line, or behind a long queue. It comes
// with its frame.
func TestAnOperationComesWithItsFrameOnACongestedLine(t *testing.T) {
	t.Run("congested", func(t *testing.T) { operationComesWithItsFrame(t, false) })
	t.Run("long queue", func(t *testing.T) { operationComesWithItsFrame(t, true) })
}

func operationComesWithItsFrame(t *testing.T, full bool) {
	game := testGame()
	l := newLoop(t, Config{Interval: 1, RelayAtOnce: true}, game, 2, 1, func(int, int) pad { return pad{} })
	for range 100 {
		l.Step()
	}
	s, own := l.server, l.Peers[0].ID
	out := congested{Outbox: l, peer: l.Peers[1].ID, full: full}
	p := &s.Peers[own]
	m := opsMessage{received: p.Acked, executed: p.Acked, live: true, first: p.Own.operated + 1, ops: []op{{in: padInput.Pack(pad{DX: 1})}}}
	message, _ := m.append(nil, game)
	if err := s.Receive(own, systems.Datagram, message, l.Net.Now(), &out); err != nil || out.sent > 0 || s.running.touched == 0 {
		t.Fatalf("%v, %d messages", err, out.sent)
	}
	frame := s.Done() + 1
	for range 20 {
		l.Step()
	}
	for i, c := range l.clients {
		if c.at() < frame || c.at()+5 < s.Done() {
			t.Errorf("client %d has executed frame %d of %d; the operation is in %d", i, c.at(), s.Done(), frame)
		}
	}
}
