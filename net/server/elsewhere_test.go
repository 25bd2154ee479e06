package server

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/systems/relay"
)

var otherAddr = netip.MustParseAddrPort("10.0.0.2:7777")

// other starts a second server, on another host, which opens rooms as open does. The function stops it.
func (w *world) other(open func(name string, c *room.Config) error, change func(*Config)) (s *Server, stop func()) {
	w.t.Helper()
	socket, err := w.net.Listen(otherAddr)
	if err != nil {
		w.t.Fatal(err)
	}
	c := Config{Room: room.Config{Game: w.game, Strategy: relay.Strategy}, Socket: socket, Keys: []netcode.Key{testKey}, Workers: 1, OpenRoom: open}
	if change != nil {
		change(&c)
	}
	s, err = New(c)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return s, func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("Run: %v", err)
		}
	}
}

// A client whose room is on another server plays there, in its seat. It needs no other token.
func TestAClientIsSentToTheServerOfItsRoom(t *testing.T) {
	inBubble(t, "P3", nil, func(w *world) {
		asked := 0
		other, stop := w.other(func(string, *room.Config) error {
			asked++
			return &Elsewhere{Addresses: []netip.AddrPort{serverAddr}}
		}, nil)
		ticket := w.ticket(1, "duel")
		ticket.Addresses, ticket.Pass.Seat = []netip.AddrPort{otherAddr}, 2
		a := w.join(w.mint(ticket))
		if err := w.net.Route(a.host, otherAddr.Addr(), w.profile); err != nil {
			t.Fatal(err)
		}
		w.until("live on the other server", 5*time.Second, func() bool { return w.live(a)() && w.runners("duel") == 1 })
		if a.Seat() != 2 || asked == 0 {
			t.Errorf("seat %d, the first server opened the room %d times", a.Seat(), asked)
		}
		w.until("the first server has space for another room", 5*time.Second, func() bool { return other.Stats().Rooms == 0 })
		stop()
	})
}

// redirected plays with clients of the room duel of the first server, whose tokens also name a second one. That sends all clients to the
// first server.
func redirected(t *testing.T, play func(w *world, join func(token []byte) *player)) {
	t.Helper()
	inBubble(t, "P1", func(c *Config) { c.Others = func(string) []netip.AddrPort { return []netip.AddrPort{otherAddr} } }, func(w *world) {
		_, stop := w.other(func(string, *room.Config) error { return &Elsewhere{Addresses: []netip.AddrPort{serverAddr}} }, nil)
		play(w, func(token []byte) *player {
			p := w.join(token)
			if err := w.net.Route(p.host, otherAddr.Addr(), w.profile); err != nil {
				t.Fatal(err)
			}
			return p
		})
		stop()
	})
}

// A second connection of a client replaces the first one, which does not return by way of another server.
func TestAReplacedClientIsNotSentBack(t *testing.T) {
	redirected(t, func(w *world, join func([]byte) *player) {
		first := join(w.mint(w.ticket(1, "duel")))
		w.until("live", 5*time.Second, w.live(first))
		w.pass(time.Second)
		second := join(w.mint(w.ticket(1, "duel")))
		w.until("the first connection has ended", 5*time.Second, func() bool { return first.State() == client.Ended })
		if why := (*session.Error)(nil); !errors.As(first.Err(), &why) || why.Code != session.CodeReplaced {
			t.Errorf("the first connection ended: %v", first.Err())
		}
		w.pass(5 * time.Second)
		if st := w.server.Stats(); !w.live(second)() || second.Stats().Reconnects > 0 || st.Joined != 2 {
			t.Errorf("the second connection is %v after %d reconnects; %d clients joined", second.State(), second.Stats().Reconnects, st.Joined)
		}
	})
}

// A kicked client does not return by way of another server, neither with its reconnect tokens nor with an older token of a backend.
func TestAKickedClientIsNotSentBack(t *testing.T) {
	redirected(t, func(w *world, join func([]byte) *player) {
		first := join(w.mint(w.ticket(1, "duel")))
		ticket := w.ticket(1, "duel")
		ticket.Addresses = []netip.AddrPort{otherAddr}
		unused := w.mint(ticket)
		w.until("live", 5*time.Second, w.live(first))
		w.pass(time.Second)
		if err := w.server.Kick(1, "rude"); err != nil {
			t.Fatal(err)
		}
		w.until("the client has ended", 5*time.Second, func() bool { return first.State() == client.Ended })
		joined := w.server.Stats().Joined
		for _, token := range [][]byte{first.token, unused} {
			again := join(token)
			for range 300 {
				if w.pass(time.Second / 60); again.State() == client.Live {
					t.Fatal("a kicked client is in the match again")
				}
			}
		}
		if now := w.server.Stats().Joined; now != joined {
			t.Errorf("%d connections after the kick", now-joined)
		}
		w.until("live with a new token", 5*time.Second, w.live(join(w.mint(ticket))))
	})
}

// A server that a kicked client was not connected to refuses its tokens, also those of other servers.
func TestAKickConcernsTokensOfOtherServers(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		older := w.ticket(1, "duel")
		older.Pass.Reconnect, older.Pass.Epoch = true, 5
		token := w.mint(older)
		w.pass(time.Second)
		if err := w.server.Kick(1, "rude"); !errors.Is(err, ErrNoRoom) {
			t.Fatal(err)
		}
		a := w.join(token)
		w.until("the client ends", 5*time.Second, func() bool { return a.State() == client.Ended })
		if past := w.server.Stats().TokensPast; !errors.Is(a.Err(), &session.Error{Code: session.CodeKicked}) || past == 0 {
			t.Errorf("the client ends with %v; %d tokens were refused", a.Err(), past)
		}
		w.until("live with a new token", 5*time.Second, w.live(w.join(w.mint(w.ticket(1, "duel")))))
	})
}

// A client that was never live tries all servers of its token before a full one ends it.
func TestAFullServerLeadsToTheNextOne(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		_, stop := w.other(nil, func(c *Config) { c.MaxRooms = 1 })
		join := func(id uint64, room string, at ...netip.AddrPort) *player {
			ticket := w.ticket(id, room)
			ticket.Addresses = at
			p := w.join(w.mint(ticket))
			if err := w.net.Route(p.host, otherAddr.Addr(), w.profile); err != nil {
				t.Fatal(err)
			}
			return p
		}
		w.until("the other server is full", 5*time.Second, w.live(join(1, "first", otherAddr)))
		a, b := join(2, "duel", otherAddr, serverAddr), join(3, "duel", otherAddr)
		w.until("live on the next server", 5*time.Second, w.live(a))
		if !errors.Is(b.Err(), client.ErrFull) {
			t.Errorf("a client of the full server is %v, %v", b.State(), b.Err())
		}
		stop()
	})
}

// A client that is kicked or banned while it waits for its room does not enter it.
func TestAClientIsExcludedWhileItsRoomOpens(t *testing.T) {
	for what, exclude := range map[string]func(*Server) error{
		"kick": func(s *Server) error { return s.Kick(1, "rude") },
		"ban": func(s *Server) error {
			_, err := s.Ban(1, time.Hour, CauseOperator, "rude")
			return errors.Join(err, ErrNoRoom)
		},
	} {
		t.Run(what, func(t *testing.T) {
			var opened chan struct{}
			start := func(c *Config) {
				opened = make(chan struct{}) // of the bubble
				c.OpenRoom = func(string, *room.Config) error { <-opened; return nil }
			}
			inBubble(t, "P1", start, func(w *world) {
				a, b := w.join(w.mint(w.ticket(1, "duel"))), w.join(w.mint(w.ticket(2, "duel")))
				w.pass(time.Second)
				if err := exclude(w.server); !errors.Is(err, ErrNoRoom) {
					t.Error(err)
				}
				close(opened)
				w.pass(3 * time.Second)
				if why := (*session.Error)(nil); !errors.As(a.Err(), &why) || why.Code != session.CodeKicked || !w.live(b)() {
					t.Errorf("the client is %v, %v; the other one is %v", a.State(), a.Err(), b.State())
				}
			})
		})
	}
}

// The reconnect tokens of a server name the servers that may take its rooms over. When it is killed, its clients go on there.
func TestClientsOfAKilledServerPlayOnAnotherOne(t *testing.T) {
	d := newDisk(relay.Strategy)
	var socket Socket
	start := func(c *Config) {
		d.config(c)
		socket = c.Socket
		c.Others = func(name string) []netip.AddrPort {
			if name != "duel" {
				t.Errorf("room %q", name)
			}
			return []netip.AddrPort{otherAddr}
		}
	}
	inBubble(t, "P3", start, func(w *world) {
		a, b := w.duel()
		w.pass(time.Second)
		seats, last := [2]int{a.Seat(), b.Seat()}, w.tick("duel")
		socket.Close()
		w.cancel()
		killed := time.Now()
		d.restart()
		_, stop := w.other(nil, d.config)
		w.until("play goes on", 3*time.Second, func() bool { return playsOn(a, last)() && playsOn(b, last)() })
		t.Logf("after %v", time.Since(killed))
		if now := [2]int{a.Seat(), b.Seat()}; now != seats {
			t.Errorf("the seats are %d, were %d", now, seats)
		}
		stop()
		w.ended = make(chan error, 1)
		w.start(nil) // for the end of the test
	})
}
