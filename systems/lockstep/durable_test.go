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
