package server

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/net/client"
	"tendon/net/room"
	"tendon/net/session"
)

// A client whose address has changed notices the timeout, and comes back to its seat from another port with a reconnect
// token. Its player has not left the match meanwhile.
func TestAClientWithANewAddressComesBackToItsSeat(t *testing.T) {
	inBubble(t, "P2", nil, func(w *world) {
		a, _ := w.pair(10 * time.Second)
		seat, port := a.Seat(), a.socket.LocalAddr().String()
		a.socket.Close()
		w.pass(time.Second)
		w.until("a is back", 12*time.Second, func() bool { return a.State() == client.Live && a.Stats().Reconnects > 0 })
		if a.Seat() != seat || a.socket.LocalAddr().String() == port || a.Stats().Reconnects != 1 {
			t.Errorf("seat %d, port %s, reconnects %d; want seat %d, another port than %s, 1", a.Seat(), a.socket.LocalAddr(), a.Stats().Reconnects, seat, port)
		}
		w.pass(time.Second)
		w.do("duel", func(r *room.Room) {
			x, ok := runnerOf(r.World(), seat)
			if y, _ := runnerOf(r.World(), 1-seat); !ok || x.Ticks+30 < y.Ticks {
				t.Errorf("a's runner has lived %d ticks, b's %d: a left the match", x.Ticks, y.Ticks)
			}
		})
	})
}

// A reconnect token replaces the old connection at once, without waiting for its timeout.
func TestAReconnectTokenReplacesTheOldConnectionAtOnce(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.until("a live", 5*time.Second, w.live(a))
		w.until("a has a token", 5*time.Second, func() bool { return a.token != nil })
		seat, token := a.Seat(), a.token
		w.players = nil // the process of a is killed; its connection is alive for the server
		b := w.join(token)
		w.until("b live", 500*time.Millisecond, w.live(b))
		st := w.server.Stats()
		if b.Seat() != seat || st.Replaced != 1 || st.Clients != 1 || st.TimedOut != 0 || w.runners("duel") != 1 {
			t.Errorf("seat %d (was %d), runners %d, stats %+v", b.Seat(), seat, w.runners("duel"), st)
		}
		w.players = append(w.players, a) // to be closed
	})
}

// The token of an older connection does not replace the newer connection, even if it was never used.
func TestAnOlderReconnectTokenIsRefusedOnceANewerConnectionHasItsOwn(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.until("a live", 5*time.Second, func() bool { return a.State() == client.Live && a.token != nil })
		first := a.token
		w.pass(31 * time.Second)
		second := a.token
		if string(first) == string(second) {
			t.Fatal("no fresh token after 30 s")
		}
		a.Close()
		w.players = nil
		b := w.join(second)
		w.until("b live", 5*time.Second, func() bool { return b.State() == client.Live && b.token != nil })
		c := w.join(first)
		w.pass(3 * time.Second)
		if st := w.server.Stats(); !errors.Is(c.Err(), &session.Error{Code: session.CodeReplaced}) || b.State() != client.Live || st.TokensPast != 1 || st.Replaced != 0 {
			t.Errorf("old token: %v, newer connection: %v, stats %+v", c.Err(), b.State(), w.server.Stats())
		}
	})
}

// tokenStore holds what a client stored last: its unused reconnect tokens, newest first.
type tokenStore struct{ tokens [][]byte }

func (s *tokenStore) store(tokens [][]byte) { s.tokens = slices.Clone(tokens) }

// loading reports whether a client of a room has been sent its Welcome, and does not hold a state yet.
func (w *world) loading(name string) bool {
	peers, err := w.server.Peers(name)
	return err == nil && slices.ContainsFunc(peers, func(p PeerInfo) bool { return p.State == "loading" })
}

// A process may be killed after its token is used and before it receives the next one. The next process then has only older
// tokens, which must be valid.
func TestAClientThatIsKilledBeforeItHasANewTokenComesBackWithAnOlderOne(t *testing.T) {
	for name, until := range map[string]func(w *world, p *player) bool{
		"connected": func(w *world, p *player) bool { return w.server.Stats().Joined == 2 },
		"sent one":  func(w *world, _ *player) bool { return w.loading("duel") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, "P3", nil, func(w *world) {
				var first, second tokenStore
				a := w.join(w.mint(w.ticket(1, "duel")), func(c *client.DialConfig) { c.StoreTokens = first.store })
				w.until("a has tokens", 10*time.Second, func() bool { return a.State() == client.Live && len(first.tokens) == 4 })
				seat := a.Seat()
				b := w.join(first.tokens[0], func(c *client.DialConfig) { c.StoreTokens = second.store })
				w.players = w.players[1:] // a is killed
				w.until("b is there", 10*time.Second, func() bool { return until(w, b) })
				if len(second.tokens) > 0 {
					t.Fatal("b was killed too late for the test: it has a token")
				}
				w.players = nil
				w.pass(time.Second) // its last packets arrive
				c := w.join(first.tokens[1])
				w.until("c live", 10*time.Second, w.live(c))
				if st := w.server.Stats(); c.Seat() != seat || st.Clients != 1 || w.runners("duel") != 1 {
					t.Errorf("seat %d, was %d; stats %+v", c.Seat(), seat, st)
				}
				w.players = append(w.players, a, b) // to be closed
			})
		})
	}
}

// The store holds every token that the server sent and that had no connection, so a killed process leaves to the next
// one what it may present.
func TestTheTokenStoreHoldsTheUnusedTokens(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		store, stores := tokenStore{}, 0
		a := w.join(w.mint(w.ticket(1, "duel")), func(c *client.DialConfig) {
			c.StoreTokens = func(tokens [][]byte) { store.store(tokens); stores++ }
		})
		a.Frame(time.Now())
		if stores != 0 {
			t.Error("the store was changed before a token was used")
		}
		w.until("connected", 5*time.Second, func() bool { return stores == 1 })
		if len(store.tokens) != 0 {
			t.Errorf("%d tokens are stored when that of Dial is used, want 0", len(store.tokens))
		}
		w.until("a has tokens", 5*time.Second, func() bool { return a.State() == client.Live && len(store.tokens) == 4 })
		before := store.tokens
		a.socket.Close()
		w.until("a is back", 12*time.Second, func() bool { return len(store.tokens) == 3 })
		if !slices.EqualFunc(store.tokens, before[1:], bytes.Equal) {
			t.Error("another token than the newest was used to come back")
		}
		w.until("a has new tokens", 12*time.Second, func() bool { return a.State() == client.Live && len(store.tokens) == 4 })
		if slices.ContainsFunc(store.tokens, func(k []byte) bool { return bytes.Equal(k, before[0]) }) {
			t.Error("a used token is stored")
		}
	})
}

// A token of the backend replaces the connection of a process that hangs, if it is newer than that connection. Otherwise two
// processes with a token each would replace each other for ever.
func TestABackendTokenReplacesAnOlderConnection(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		before := w.mint(w.ticket(1, "duel"))
		time.Sleep(time.Second)
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.until("a live", 5*time.Second, w.live(a))
		b := w.join(before)
		w.pass(2 * time.Second)
		if st := w.server.Stats(); b.State() != client.Connecting || a.State() != client.Live || st.Replaced != 0 {
			t.Errorf("an older token: %v, the connection %v, stats %+v", b.State(), a.State(), st)
		}
		b.Close()
		w.players = nil // a hangs
		c := w.join(w.mint(w.ticket(1, "duel")))
		w.until("c live", time.Second, w.live(c))
		if st := w.server.Stats(); st.Replaced != 1 || st.Clients != 1 || c.Seat() != a.Seat() {
			t.Errorf("seat %d, was %d, stats %+v", c.Seat(), a.Seat(), st)
		}
		w.players = append(w.players, a)
	})
}

// A process that a token of the backend has replaced does not come back, although it is alive. Otherwise two processes would
// replace each other for ever.
func TestAReplacedClientDoesNotTakeTheSeatBack(t *testing.T) {
	for _, profile := range []string{"P1", "P3"} {
		inBubble(t, profile, nil, func(w *world) {
			a := w.join(w.mint(w.ticket(1, "duel")))
			w.until("a live", 10*time.Second, func() bool { return a.State() == client.Live && a.token != nil })
			seat := a.Seat()
			w.pass(time.Second)
			b := w.join(w.mint(w.ticket(1, "duel")))
			w.until("b live", 10*time.Second, w.live(b))
			w.pass(20 * time.Second)
			if st := w.server.Stats(); b.State() != client.Live || a.State() == client.Live || b.Seat() != seat || st.Joined != 2 || st.Replaced != 1 {
				t.Errorf("%s: the older client is %v, the newer %v in seat %d, want %d; stats %+v", profile, a.State(), b.State(), b.Seat(), seat, st)
			}
		})
	}
}

// A kicked client cannot come back with its tokens, only with a new one of the backend.
func TestAKickedClientComesBackOnlyWithANewToken(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		spare := w.mint(w.ticket(1, "duel"))
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.until("a live", 5*time.Second, func() bool { return a.State() == client.Live && a.token != nil })
		token := a.token
		w.pass(time.Second)
		if err := w.server.Kick(99, "unknown"); !errors.Is(err, ErrNoRoom) {
			t.Errorf("an unknown client: %v", err)
		}
		if err := w.server.Kick(1, "bad manners"); err != nil {
			t.Fatal(err)
		}
		w.until("a out", time.Second, func() bool { return a.State() == client.Ended })
		var why *session.Error
		if !errors.As(a.Err(), &why) || why.Code != session.CodeKicked || why.Text != "bad manners" {
			t.Errorf("a received %v", a.Err())
		}
		for _, held := range [][]byte{token, spare} {
			b := w.join(held)
			w.pass(2 * time.Second)
			if !errors.Is(b.Err(), &session.Error{Code: session.CodeKicked}) || w.server.Stats().Clients != 0 {
				t.Errorf("a kicked client is %v again, %v", b.State(), b.Err())
			}
			b.Close()
		}
		w.players = nil
		c := w.join(w.mint(w.ticket(1, "duel")))
		w.until("with a new token", 5*time.Second, w.live(c))
	})
}

// A client that is kicked during an outage receives the reason when it comes back. This holds even if its connection has timed out, or if
// the clock of the host was stepped. It can play again with a new token.
func TestAClientIsKickedDuringAnOutage(t *testing.T) {
	for length, step := range map[time.Duration]time.Duration{2 * time.Second: 0, time.Minute: 0, 61 * time.Second: -20 * time.Minute, 62 * time.Second: 20 * time.Minute} {
		var clock host
		inBubble(t, "P1", func(c *Config) { c.Clock, c.UsedTokens = clock.now, newRecord() }, func(w *world) {
			a, b := w.pair(5 * time.Second)
			w.pass(time.Second)
			clock.step(step)
			end := w.cut(a, true, true)
			w.passAt(length, 12)
			if err := w.server.Kick(1, "rude"); (err == nil) != (length < 10*time.Second) {
				t.Errorf("after %v: %v", length, err)
			}
			end()
			w.until("the client ends", 5*time.Second, func() bool { return a.State() == client.Ended })
			if !errors.Is(a.Err(), &session.Error{Code: session.CodeKicked}) || !w.live(b)() {
				t.Errorf("after %v: the client ends with %v; the other is %v", length, a.Err(), b.State())
			}
			w.until("live with a new token", 5*time.Second, w.live(w.join(w.mintAt(w.ticket(1, "duel"), clock.now()))))
		})
	}
}

// A kick stays in effect while other clients come and go, for as many clients as can be banned.
func TestAKickDoesNotExpire(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := revoked{of: map[uint64]revocation{}, kicks: map[uint64]kick{}, limit: 4, life: time.Minute}
	for client := range uint64(MaxBans + 10) {
		at := begin.Add(time.Duration(client) * time.Minute)
		r.kick(client, at, at)
		r.add(client+MaxBans, 1, at)
	}
	for _, reconnect := range []bool{false, true} {
		old, next := &Pass{Issued: begin.Add(-time.Second), Reconnect: reconnect}, &Pass{Issued: begin.Add(30 * 24 * time.Hour), Reconnect: reconnect}
		if !r.refuses(10, old) || !r.refuses(MaxBans+9, old) || r.refuses(MaxBans-1, next) {
			t.Errorf("reconnect tokens: %v: a kick is forgotten, or a new token is refused", reconnect)
		}
	}
	if len(r.kicks) != MaxBans || len(r.kicked) != MaxBans || len(r.of) > r.limit {
		t.Errorf("%d kicks, %d other records", len(r.kicks), len(r.of))
	}
}

// Close frees the place and the seat of a client without a timeout.
func TestACloseFreesPlaceAndSeatAtOnce(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		a, _ := w.pair(5 * time.Second)
		w.pass(time.Second)
		a.Close()
		w.pass(500 * time.Millisecond)
		if st := w.server.Stats(); st.Clients != 1 || st.Left != 1 || w.runners("duel") != 1 {
			t.Errorf("%d runners, stats %+v", w.runners("duel"), st)
		}
		if !errors.Is(a.Frame(time.Now()), client.ErrClosed) {
			t.Error("a closed client goes on")
		}
	})
}

// A server that stops sends every client the reason, and refuses new ones.
func TestAStoppingServerSendsTheReason(t *testing.T) {
	inBubble(t, "P3", nil, func(w *world) {
		a, b := w.join(w.mint(w.ticket(1, "one"))), w.join(w.mint(w.ticket(2, "two")))
		w.until("both live", 10*time.Second, w.live(a, b))
		w.cancel()
		c := w.join(w.mint(w.ticket(3, "one")))
		w.pass(4 * time.Second)
		for i, p := range []*player{a, b} {
			if !errors.Is(p.Err(), &session.Error{Code: session.CodeShutdown}) {
				t.Errorf("client %d received %v", i, p.Err())
			}
		}
		if !errors.Is(c.Err(), client.ErrFull) {
			t.Errorf("a client that came too late received %v", c.Err())
		}
		select {
		case err := <-w.ended:
			w.ended <- err
		default:
			t.Error("Run has not returned 4 s after its context was done")
		}
		if err := w.server.Do(context.Background(), "one", func(*room.Room) {}); err == nil {
			t.Error("Do works on a stopped server")
		}
	})
}

// A player who joins from elsewhere takes the place of the first client. That one receives the reason, and ends at once.
func TestADisplacedClientReceivesTheReason(t *testing.T) {
	inBubble(t, "P3", nil, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.until("a live", 5*time.Second, func() bool { return a.State() == client.Live && a.token != nil })
		w.pass(time.Second)
		b := w.join(w.mint(w.ticket(1, "duel")))
		w.until("b live", 5*time.Second, w.live(b))
		w.until("a has ended", time.Second, func() bool { return a.State() == client.Ended })
		if !errors.Is(a.Err(), &session.Error{Code: session.CodeReplaced}) {
			t.Errorf("%v", a.Err())
		}
		w.pass(5 * time.Second)
		if st := w.server.Stats(); b.State() != client.Live || st.Joined != 2 {
			t.Errorf("the second client is %v; stats %+v", b.State(), st)
		}
	})
}

// The reconnect tokens of an older connection are denied. The client then presents the others.
func TestADeniedTokenIsNotTheLast(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.until("a live", 5*time.Second, func() bool { return a.State() == client.Live && a.token != nil })
		first := a.token
		w.pass(31 * time.Second)
		second := a.token
		a.Close()
		b := w.join(second)
		w.until("b live", 5*time.Second, func() bool { return b.State() == client.Live && b.token != nil })
		third := b.token
		b.Close()
		w.players = nil
		c := w.join(first, func(c *client.DialConfig) { c.Spare = [][]byte{third} })
		w.until("c live", 5*time.Second, w.live(c))
	})
}

// A client whose server does not come back ends when its last token has expired. The error has the time.
func TestTheErrorOfALostServerHasTheTime(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.until("a live", 5*time.Second, func() bool { return a.State() == client.Live && a.token != nil })
		w.cut(a, true, true)
		w.until("a has ended", 3*time.Minute, func() bool { return a.State() == client.Ended })
		if err := a.Err(); !errors.Is(err, client.ErrUnreachable) || !strings.HasPrefix(err.Error(), "client: the server has not answered for 1m") {
			t.Errorf("%v", err)
		}
	})
}
