package server

import (
	"errors"
	"testing"
	"time"

	"tendon/ecs"
)

// computed returns how many ticks the rooms of a server have computed, the closed ones included.
func computed(st Stats) (n uint64) {
	all := st.Past
	for i := range st.Table {
		all.Add(&st.Table[i].Stats)
	}
	for _, ticks := range all.Lateness {
		n += ticks
	}
	return n
}

// Peers reports the loss of the network, and none if it loses nothing.
func TestPeersReportTheLossOfTheNetwork(t *testing.T) {
	for profile, lossy := range map[string]bool{"P0": false, "P5": true} {
		inBubble(t, profile, nil, func(w *world) {
			a, b := w.join(w.mint(w.ticket(1, "main"))), w.join(w.mint(w.ticket(2, "main")))
			w.until("both live", 15*time.Second, w.live(a, b))
			before, err := w.server.Peers("main")
			if err != nil || len(before) != 2 {
				t.Fatalf("%v, %v", before, err)
			}
			w.pass(10 * time.Second)
			after, err := w.server.Peers("main")
			if err != nil || len(after) != 2 {
				t.Fatalf("%v, %v", after, err)
			}
			for i := range after {
				sent, got := after[i].Newest-before[i].Newest, after[i].Accepted-before[i].Accepted
				if sent < 200 || got == 0 || got > sent+1 {
					t.Fatalf("%s: of %d packets %d arrived", profile, sent, got)
				}
				if loss := 1 - float64(got)/float64(sent); lossy != (loss > 0.005) {
					t.Errorf("%s: %.3f of the packets were lost", profile, loss)
				}
				if after[i].Link.BytesSent <= before[i].Link.BytesSent || after[i].Link.BytesReceived <= before[i].Link.BytesReceived || after[i].Session.RTT <= 0 {
					t.Errorf("%s: %+v", profile, after[i])
				}
			}
			if _, err := w.server.Peers("elsewhere"); !errors.Is(err, ErrNoRoom) {
				t.Errorf("an unknown room: %v", err)
			}
		})
	}
}

// The counters never decrease when rooms are closed.
func TestTheCountersOfClosedRoomsAreKept(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		before, open := uint64(0), 0
		for id := range 3 {
			p := w.join(w.mint(w.ticket(uint64(id+1), "room"+string(rune('a'+id)))))
			w.until("live", 15*time.Second, w.live(p))
			w.pass(3 * time.Second)
			p.Close()
			w.until("the room is closed", emptyRoom+15*time.Second, func() bool {
				st := w.server.Stats()
				now := computed(st)
				if now < before {
					t.Fatalf("%d ticks were computed, and then %d", before, now)
				}
				before, open = now, max(open, len(st.Table))
				return st.Rooms == 0 && len(st.Table) == 0
			})
		}
		st := w.server.Stats()
		if open == 0 || st.Past.Tick == ecs.Tick(0) || before < 3*60 || st.BytesIn < 1000 || st.BytesOut < 1000 || st.Past.Players != 0 {
			t.Errorf("%d rooms at once, %d ticks, %+v", open, before, st)
		}
	})
}
