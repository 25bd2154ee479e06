package server

import (
	"bytes"
	"testing"
	"time"

	"tendon/net/room"
)

// Two clients play over a typical network with the whole stack: sockets, seals, KCP, sessions, rooms and the relay strategy.
// Their checksums equal those of the server.
func TestTwoPlayersPlayAMatchOverALossyNetwork(t *testing.T) {
	inBubble(t, "P3", nil, func(w *world) {
		a, b := w.pair(10 * time.Second)
		w.pass(10 * time.Second)
		sa, sb := a.Stats(), b.Stats()
		if sa.Strategy.Confirmed < 250 || sb.Strategy.Confirmed < 250 || sa.Strategy.Rollbacks == 0 || sa.Strategy.Corrections == 0 {
			t.Errorf("too little happened: %+v", sa.Strategy)
		}
		var x [2]runner
		w.do("duel", func(r *room.Room) {
			s := r.Stats()
			if s.Players != 2 || s.Resyncs != 0 || s.Late != 0 {
				t.Errorf("room: %+v", s)
			}
			for i := range x {
				x[i], _ = runnerOf(r.World(), i)
			}
			for _, p := range r.AppendPeers(nil) {
				if p.Strategy.Checked == 0 || p.Strategy.Desyncs != 0 {
					t.Errorf("peer %d: %d checksums compared, %d differed", p.Peer, p.Strategy.Checked, p.Strategy.Desyncs)
				}
			}
		})
		if x[0].Ticks < 250 || x[0].X == 0 && x[1].X == 0 {
			t.Errorf("no runner moved: %+v", x)
		}
		if st := w.server.Stats(); st.Rooms != 1 || st.Clients != 2 || len(st.Table) != 1 || st.Table[0].Name != "duel" || st.PacketsLost != 0 || st.Malformed != 0 {
			t.Errorf("stats: %+v", st)
		}
	})
}

// The data of a player's card comes from the sealed token.
func TestATokenBringsTheDataOfACard(t *testing.T) {
	inBubble(t, "P2", nil, func(w *world) {
		with := w.ticket(1, "duel")
		with.Pass.Seat, with.Pass.Name, with.Pass.Data = 0, "ann", []byte("red")
		without := w.ticket(2, "duel")
		without.Pass.Seat = 1
		a, b := w.join(w.mint(with)), w.join(w.mint(without))
		w.until("both live", 10*time.Second, w.live(a, b))
		w.pass(time.Second)
		first := bytes.Clone(a.token) // the reconnect token has the card too
		w.pass(time.Second)
		a.Close()
		w.until("the player has left", 10*time.Second, func() bool {
			left := false
			w.do("duel", func(r *room.Room) { left = !r.World().Players().Has(0) })
			return left
		})
		a = w.join(first)
		w.until("live again", 10*time.Second, w.live(a, b))
		w.pass(time.Second)
		for seat, want := range []int64{3, 0} {
			w.do("duel", func(r *room.Room) {
				if x, ok := runnerOf(r.World(), seat); !ok || (x.X+ahead/2)/ahead != want {
					t.Errorf("seat %d begins %d ahead, want %d", seat, (x.X+ahead/2)/ahead, want)
				}
			})
			if x, ok := runnerOf(a.World(), seat); !ok || (x.X+ahead/2)/ahead != want {
				t.Errorf("the client has seat %d %d ahead, want %d", seat, (x.X+ahead/2)/ahead, want)
			}
		}
	})
}
