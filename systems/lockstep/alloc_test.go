package lockstep

import (
	"testing"

	"tendon/ecs/race"
)

// Nothing is allocated in a tick, on the server or on a client, operations included, whichever way frames go.
func TestATickAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			c := way.config
			c.Backlog = 40 << 10 // so that the log is as full as it gets
			l := newLoop(t, c, testGame(), 2, 3, zigzag)
			for range 3000 {
				l.Step()
			}
			if n := testing.AllocsPerRun(600, l.Step); n != 0 {
				t.Errorf("%v allocations in a tick", n)
			}
			for _, c := range l.clients {
				if s := c.Stats(); !c.Live() || s.Present < 3000 || s.Stalls > 60 {
					t.Errorf("%+v", s)
				}
			}
			if st := l.server.PeerStats(0); st.Checked < 20 || st.Desyncs > 0 || st.Refused > 0 {
				t.Errorf("%+v", st)
			}
			if l.server.log.bytes > 64<<10 {
				t.Errorf("the log has %d bytes", l.server.log.bytes)
			}
		})
	}
}
