package relay

import (
	"testing"

	"tendon/ecs/race"
)

// Nothing is allocated in a tick, on the server or on a client, rollbacks included.
func TestATickAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	l := newLoop(t, testGame(), 2, 3, zigzag)
	for range 1500 {
		l.Step()
	}
	rollbacks := l.clients[0].Stats().Rollbacks
	if n := testing.AllocsPerRun(600, l.Step); n != 0 {
		t.Errorf("%v allocations in a tick", n)
	}
	for _, c := range l.clients {
		s := c.Stats()
		if !c.Live() || s.Stalls > 0 || s.Resimulated < 1000 {
			t.Errorf("%+v", s)
		}
	}
	if n := l.clients[0].Stats().Rollbacks - rollbacks; n < 100 {
		t.Errorf("only %d rollbacks", n)
	}
	if st := l.server.PeerStats(0); st.Checked < 20 || st.Desyncs > 0 {
		t.Errorf("%+v", st)
	}
}
