package server

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tendon/net/client"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/relay"
)

// faulty is a client half of relay whose messages a test changes.
type faulty struct {
	systems.Client
	send func(half systems.Client, now systems.Time, out systems.Outbox)
}

func (f faulty) Send(now systems.Time, out systems.Outbox) { f.send(f.Client, now, out) }

// outbox changes messages.
type outbox func(to systems.Peer, ch systems.Channel, message []byte)

func (f outbox) Send(to systems.Peer, ch systems.Channel, message []byte) { f(to, ch, message) }

func (f outbox) Ready(systems.Peer) bool { return true }

func (f outbox) Room(systems.Peer) int { return 0 }

const hashMessage = 5 // the kind of a checksum in systems/relay

// faults are the ways to be expelled, and the cause that the server records.
var faults = map[room.Cause]func(half systems.Client, now systems.Time, out systems.Outbox){
	room.CauseLying: func(half systems.Client, now systems.Time, out systems.Outbox) {
		half.Send(now, outbox(func(to systems.Peer, ch systems.Channel, message []byte) {
			if message[0] == hashMessage {
				message[len(message)-1] ^= 1
			}
			out.Send(to, ch, message)
		}))
	},
	room.CauseFlooding: func(half systems.Client, now systems.Time, out systems.Outbox) {
		half.Send(now, out)
		for range 40 { // valid, and of a tick that does not count
			out.Send(0, systems.Reliable, append([]byte{hashMessage, 1}, make([]byte, 8)...))
		}
	},
	room.CauseFraming: func(half systems.Client, now systems.Time, out systems.Outbox) {
		half.Send(now, out)
		out.Send(0, systems.Reliable, []byte("no message of relay"))
	},
}

// faulty adds a client that plays as any other one until broken is true. The store holds its reconnect tokens.
func (w *world) faulty(id uint64, cause room.Cause, broken *bool, store *tokenStore) *player {
	strategy := relay.Strategy
	strategy.NewClient = func(c systems.ClientConfig) (systems.Client, error) {
		half, err := relay.Strategy.NewClient(c)
		return faulty{half, func(half systems.Client, now systems.Time, out systems.Outbox) {
			if *broken {
				faults[cause](half, now, out)
			} else {
				half.Send(now, out)
			}
		}}, err
	}
	return w.join(w.mint(w.ticket(id, "duel")), func(c *client.DialConfig) {
		c.Strategies, c.StoreTokens = []systems.Strategy{strategy}, store.store
	})
}

// expelled plays until a client is expelled for a cause, and returns its unused reconnect tokens. The second client plays on.
func (w *world) expelled(cause room.Cause) (tokens [][]byte, honest *player) {
	w.t.Helper()
	var store tokenStore
	broken := false
	v, honest := w.faulty(66, cause, &broken, &store), w.join(w.mint(w.ticket(2, "duel")))
	w.until("both live", 10*time.Second, func() bool { return w.live(v, honest)() && len(store.tokens) == 4 })
	tokens, broken = slices.Clone(store.tokens), true
	w.until("the client is expelled", 30*time.Second, func() bool { return w.server.Stats().Expelled == 1 })
	v.Close()
	w.players = []*player{honest}
	return tokens, honest
}

// banned presents a token, and fails unless the client receives the reason and no room has it.
func (w *world) banned(token []byte) {
	w.t.Helper()
	before := w.server.Stats().Banned
	b := w.join(token)
	w.pass(3 * time.Second)
	var why *session.Error
	if !errors.As(b.Err(), &why) || why.Code != session.CodeKicked || !strings.HasPrefix(why.Text, "banned for another ") {
		w.t.Errorf("a banned client is %v and received %v", b.State(), b.Err())
	}
	if st := w.server.Stats(); st.Banned != before+1 {
		w.t.Errorf("the room may have a banned client: %+v", st)
	}
	b.Close()
	w.players = w.players[:len(w.players)-1]
}

// A banned client enters no room, with any token. When its ban ends, it may play. The others continue.
func TestAnExpelledClientIsBannedWithAllItsTokens(t *testing.T) {
	for cause := range faults {
		t.Run(string(cause), func(t *testing.T) {
			inBubble(t, "P1", func(c *Config) { c.BanTime = time.Minute }, func(w *world) {
				tokens, honest := w.expelled(cause)
				start := time.Now()
				bans := w.server.Bans()
				if len(bans) != 1 || bans[0].ClientID != 66 || bans[0].Cause != cause || bans[0].Until.Sub(start) > time.Minute || bans[0].Until.Sub(start) < 59*time.Second {
					t.Fatalf("bans: %+v", bans)
				}
				e := bans[0].Evidence
				if e.Room != "duel" || e.Seconds <= 0 || e.Kbits <= 0 ||
					(cause == room.CauseLying) != (e.Desyncs >= 3 && e.DesyncTick > 0 && e.Claim != e.Own && e.Own != 0) ||
					(cause == room.CauseFlooding) != (e.Limited > 0) || (cause == room.CauseFraming) != (e.Malformed > 30) {
					t.Errorf("evidence: %+v", e)
				}
				for _, token := range append(tokens, w.mint(w.ticket(66, "duel")), w.mint(w.ticket(66, "elsewhere"))) {
					w.banned(token)
				}
				if st := w.server.Stats(); !w.live(honest)() || st.Clients != 1 || len(st.Table) != 1 || w.runners("duel") != 1 || st.Banned < 6 || st.Bans != 1 {
					t.Errorf("the other client is %v, %d runners, stats %+v", honest.State(), w.runners("duel"), st)
				}
				w.pass(time.Minute - time.Since(start) + time.Second)
				b := w.join(w.mint(w.ticket(66, "duel")))
				w.until("the client plays again", 5*time.Second, w.live(b, honest))
				if n := len(w.server.Bans()); n != 0 || w.server.Stats().Bans != 0 {
					t.Errorf("%d bans after the end", n)
				}
			})
		})
	}
}

// A client that breaks the reliable stream is banned, too. Its connection has no session that could receive a reason.
func TestABrokenStreamBansItsClient(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		honest, v := w.join(w.mint(w.ticket(2, "duel"))), w.hostile(66, "duel")
		w.until("live", 5*time.Second, func() bool { v.frame(); return w.live(honest)() && w.server.Stats().Clients == 2 })
		v.frame()
		segment := binary.LittleEndian.AppendUint32(nil, 0x646e6574)
		segment = append(segment, 81, 0, 32, 0)        // push, no fragments, the window
		segment = append(segment, make([]byte, 12)...) // time, sequence, acknowledged
		segment = append(segment, 1, 0, 0, 0, 0)       // one byte: a message of length 0
		packet := wire.AppendPart(wire.AppendEnvelope(nil, 0), wire.Reliable, segment)
		_ = v.Send(&v.out, packet, time.Now())
		v.write()
		w.until("expelled", 5*time.Second, func() bool { return w.server.Stats().Expelled == 1 })
		w.pass(time.Second)
		w.banned(w.mint(w.ticket(66, "duel")))
		if b := w.server.Bans(); len(b) != 1 || b[0].Cause != room.CauseFraming || !w.live(honest)() || w.server.Stats().Clients != 1 {
			t.Errorf("%+v, the other client is %v", b, honest.State())
		}
	})
}

// A client that no room takes receives the reason before its connection ends, also on a network that loses and reorders packets.
func TestTheReasonArrivesBeforeTheEnd(t *testing.T) {
	inBubble(t, "P6", func(c *Config) { c.OpenRoom = func(string, *room.Config) error { return syscall.ENOSPC } }, func(w *world) {
		for i := range 20 {
			w.join(w.mint(w.ticket(uint64(i+1), "duel")))
		}
		w.pass(10 * time.Second)
		for i, p := range w.players {
			if err := p.Err(); !errors.Is(err, &session.Error{Code: session.CodeUnavailable}) || !strings.Contains(err.Error(), "the disk of the server is full") {
				t.Errorf("client %d is %v and received %v", i, p.State(), p.Err())
			}
		}
		if st := w.server.Stats(); st.Clients != 0 || st.Joined != 40 { // each client tries again with its reconnect token
			t.Errorf("%+v", st)
		}
	})
}

// A client that is kicked or sends nothing is not banned.
func TestAnEndWithoutACauseBansNoClient(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		kicked, idle := w.join(w.mint(w.ticket(1, "duel"))), w.join(w.mint(w.ticket(2, "duel")))
		w.until("both live", 5*time.Second, w.live(kicked, idle))
		w.pass(time.Second)
		if err := w.server.Kick(1, "bad manners"); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		w.players = []*player{kicked}
		w.pass(15 * time.Second) // idle sends nothing
		idle.Close()
		again, next := w.join(w.mint(w.ticket(1, "duel"))), w.join(w.mint(w.ticket(2, "duel")))
		w.until("both are back", 20*time.Second, w.live(again, next))
		if st := w.server.Stats(); st.Expelled != 0 || st.Bans != 0 || st.Banned != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// A client that ends its session with a reason for an expulsion is not expelled.
func TestAReasonThatTheClientSendsBansNoClient(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		honest, v := w.join(w.mint(w.ticket(2, "duel"))), w.hostile(66, "duel")
		w.until("live", 5*time.Second, func() bool { v.frame(); return w.live(honest)() && w.server.Stats().Clients == 2 })
		s, err := session.NewServer(session.ServerConfig{TickRate: 30}, v.link, 0)
		if err != nil {
			t.Fatal(err)
		}
		s.End(session.CodeFlood, "")
		v.frame()
		v.flush()
		w.until("gone", 5*time.Second, func() bool { return w.server.Stats().Dropped == 1 })
		if st := w.server.Stats(); st.Expelled != 0 || st.Bans != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// A client that was banned after its connection was made, and before its room has it, does not enter the room.
func TestABanBetweenConnectionAndRoom(t *testing.T) {
	inBubble(t, "P1", func(c *Config) { c.Workers = 1 }, func(w *world) {
		honest := w.join(w.mint(w.ticket(2, "duel")))
		w.until("live", 5*time.Second, w.live(honest))
		held, release := make(chan struct{}), make(chan struct{})
		go w.server.Do(context.Background(), "duel", func(*room.Room) { close(held); <-release })
		<-held // the worker computes nothing
		v := w.join(w.mint(w.ticket(66, "duel")))
		w.until("connected", time.Second, func() bool { return w.server.Stats().Joined == 2 })
		now := time.Now()
		w.server.conns.mu.Lock()
		w.server.conns.bans.add(Ban{ClientID: 66, Cause: CauseOperator}, time.Hour, now)
		w.server.conns.mu.Unlock()
		close(release)
		w.until("the client receives the reason", 2*time.Second, func() bool { return errors.Is(v.Err(), &session.Error{Code: session.CodeKicked}) })
		w.pass(time.Second)
		if st := w.server.Stats(); st.Clients != 1 || st.Banned != 1 || w.runners("duel") != 1 || !w.live(honest)() {
			t.Errorf("%d runners, %+v", w.runners("duel"), st)
		}
	})
}

// With a BanTime below 0, an expelled client may connect again.
func TestWithoutABanTimeAnExpelledClientConnectsAgain(t *testing.T) {
	inBubble(t, "P1", func(c *Config) { c.BanTime = -1 }, func(w *world) {
		tokens, honest := w.expelled(room.CauseFraming)
		b := w.join(tokens[0])
		w.until("it is back", 5*time.Second, w.live(b, honest))
		if st := w.server.Stats(); st.Bans != 0 || st.Expelled != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// The next process has the bans of this one.
func TestABanSurvivesARestart(t *testing.T) {
	var mu sync.Mutex // the server saves on a goroutine of its own
	var last, reported []Ban
	keep := func(c *Config) {
		c.SaveBans = func(list []Ban) error { mu.Lock(); defer mu.Unlock(); last = slices.Clone(list); return nil }
		c.Expelled = func(b Ban) { mu.Lock(); defer mu.Unlock(); reported = append(reported, b) }
		c.UsedTokens = newRecord()
	}
	saved := func() []Ban { mu.Lock(); defer mu.Unlock(); return last }
	inBubble(t, "P1", keep, func(w *world) {
		tokens, honest := w.expelled(room.CauseFlooding)
		w.pass(100 * time.Millisecond)
		if list := saved(); len(list) != 1 || len(reported) != 1 || list[0] != reported[0] {
			t.Fatalf("saved %+v, reported %+v", list, reported)
		}
		honest.Close()
		w.players = nil
		w.cancel()
		if err := <-w.ended; err != nil {
			t.Fatal(err)
		}
		w.start(func(c *Config) { keep(c); c.Bans = saved() })
		for _, token := range tokens {
			w.banned(token)
		}
		if _, err := w.server.Ban(66, 0, CauseOperator, ""); err != nil || len(saved()) != 0 {
			t.Errorf("the ban ends: %v, and %d are saved", err, len(saved()))
		}
		if _, err := w.server.Ban(66, 0, CauseOperator, ""); !errors.Is(err, ErrNotBanned) {
			t.Errorf("it ends again: %v", err)
		}
		b := w.join(w.mint(w.ticket(66, "duel")))
		w.until("the client plays again", 5*time.Second, w.live(b))
	})
}

// A backend changes only its own ban of a client. The client is refused until both have ended. An operator replaces both.
func TestABackendChangesOnlyItsBans(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		ban := func(d time.Duration, cause room.Cause, want ...string) {
			t.Helper()
			if _, err := w.server.Ban(1, d, cause, ""); err != nil {
				t.Error(err)
			}
			var got []string
			for _, b := range w.server.Bans() {
				got = append(got, fmt.Sprint(b.Cause, " ", time.Until(b.Until).Round(time.Second)))
			}
			if !slices.Equal(got, want) {
				t.Errorf("the bans are %q, want %q", got, want)
			}
		}
		none := func(cause room.Cause) {
			t.Helper()
			if _, err := w.server.Ban(1, 0, cause, ""); !errors.Is(err, ErrNotBanned) {
				t.Error(err)
			}
		}
		ban(time.Hour, CauseOperator, "operator 1h0m0s")
		none(CauseBackend)
		ban(2*time.Hour, CauseBackend, "operator 1h0m0s", "backend 2h0m0s")
		ban(time.Minute, CauseBackend, "backend 1m0s", "operator 1h0m0s")
		w.banned(w.mint(w.ticket(1, "duel")))
		ban(2*time.Hour, CauseBackend, "operator 59m57s", "backend 2h0m0s")
		ban(0, CauseBackend, "operator 59m57s")
		w.banned(w.mint(w.ticket(1, "duel")))
		ban(time.Hour, CauseBackend, "operator 59m54s", "backend 1h0m0s")
		ban(time.Minute, CauseOperator, "operator 1m0s")
		ban(0, CauseOperator)
		none(CauseOperator)
	})
}

// An operator bans a client, connected or not. The reason is the operator's.
func TestAnOperatorBansClients(t *testing.T) {
	failing := errors.New("disk full")
	var fails error
	inBubble(t, "P1", func(c *Config) { c.SaveBans = func([]Ban) error { return fails } }, func(w *world) {
		a, b := w.join(w.mint(w.ticket(1, "duel"))), w.join(w.mint(w.ticket(2, "duel")))
		w.until("both live", 5*time.Second, func() bool { return w.live(a, b)() && a.token != nil })
		token := a.token
		w.pass(time.Second)
		ban, err := w.server.Ban(1, time.Hour, CauseOperator, "speed hack")
		if err != nil || ban.Evidence.Room != "duel" || ban.Evidence.Kbits <= 0 {
			t.Fatalf("%+v, %v", ban, err)
		}
		w.until("a out", time.Second, func() bool { return a.State() == client.Ended })
		if !strings.Contains(a.Err().Error(), "banned for another 1h0m0s: speed hack") {
			t.Errorf("a received %v", a.Err())
		}
		w.players = []*player{b}
		w.banned(token)
		if _, err := w.server.Ban(3, time.Hour, CauseOperator, ""); err != nil {
			t.Error(err)
		}
		w.banned(w.mint(w.ticket(3, "duel")))
		fails = failing
		if _, err := w.server.Ban(4, time.Hour, CauseOperator, ""); !errors.Is(err, failing) {
			t.Errorf("a ban that cannot be saved: %v", err)
		}
		w.banned(w.mint(w.ticket(4, "duel")))
		if _, err := w.server.Ban(2, -1, CauseOperator, ""); !errors.Is(err, ErrBan) {
			t.Errorf("a time below 0: %v", err)
		}
		if _, err := w.server.Ban(2, time.Hour, CauseOperator, "two\nlines"); !errors.Is(err, ErrBan) {
			t.Errorf("a reason of two lines: %v", err)
		}
		if !w.live(b)() || len(w.server.Bans()) != 3 {
			t.Errorf("b is %v, bans %+v", b.State(), w.server.Bans())
		}
	})
}

// A change that cannot be saved is saved later, without another change.
func TestAFailedSaveIsRepeated(t *testing.T) {
	var mu sync.Mutex
	var lists [][]Ban
	save := func(list []Ban) error {
		mu.Lock()
		defer mu.Unlock()
		if lists = append(lists, list); len(lists) < 4 {
			return errors.New("disk full")
		}
		return nil
	}
	inBubble(t, "P1", func(c *Config) { c.SaveBans = save }, func(w *world) {
		if _, err := w.server.Ban(1, time.Hour, CauseOperator, ""); err == nil {
			t.Error("a ban that is not saved has no error")
		}
		w.pass(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if len(lists) != 4 || len(lists[3]) != 1 {
			t.Errorf("%d attempts with %d bans in a minute", len(lists), len(lists[len(lists)-1]))
		}
	})
}

// A client that sends twice the packets of its limit for long is expelled and banned, whatever they contain. A client that had
// no network for a few seconds, and then sends its waiting packets at once, is not.
func TestAFloodOfPacketsBansItsClient(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		honest, v := w.join(w.mint(w.ticket(2, "duel"))), w.hostile(66, "duel")
		w.until("live", 5*time.Second, func() bool { v.frame(); return w.live(honest)() && w.server.Stats().Clients == 2 })
		burst := func(n int) {
			for range n {
				_ = v.Send(&v.out, []byte("junk"), time.Now())
			}
			v.write()
			w.pass(100 * time.Millisecond)
			v.frame()
		}
		burst(600) // five seconds
		if st := w.server.Stats(); st.Expelled != 0 || st.PacketsFlood == 0 {
			t.Fatalf("after a burst: %+v", st)
		}
		for range 150 {
			burst(80) // the limit is 10
		}
		b := w.server.Bans()
		if st := w.server.Stats(); st.Expelled != 1 || st.Clients != 1 || len(b) != 1 || b[0].Cause != room.CauseFlooding || b[0].Evidence.Floods < 1000 {
			t.Errorf("%+v, bans %+v", st, b)
		}
		w.banned(w.mint(w.ticket(66, "duel")))
		if !w.live(honest)() {
			t.Errorf("the other client is %v", honest.State())
		}
	})
}

// The list is bounded: the ban that would end first leaves, and never the new one.
func TestTheListOfBansIsBounded(t *testing.T) {
	now := time.Unix(1000, 0)
	l := newBanList(nil, now, now)
	for i := range MaxBans {
		l.add(Ban{ClientID: uint64(i), Cause: CauseOperator}, time.Hour+time.Duration(i), now)
	}
	l.add(Ban{ClientID: 1 << 40, Cause: room.CauseLying}, time.Minute, now)
	if _, first := l.find(0, now); len(l.of) != MaxBans || first {
		t.Errorf("%d bans, and the first to end is there: %v", len(l.of), first)
	}
	if _, added := l.find(1<<40, now); !added {
		t.Error("the new ban is missing")
	}
	l.add(Ban{ClientID: 5, Cause: room.CauseLying}, time.Minute, now)
	if b, _ := l.find(5, now); b.Cause != CauseOperator {
		t.Error("an expulsion shortened the ban of an operator")
	}
	l.add(Ban{ClientID: 5, Cause: CauseOperator}, time.Minute, now)
	if b, _ := l.find(5, now); !b.Until.Equal(now.Add(time.Minute)) {
		t.Error("an operator cannot shorten a ban")
	}
	if list := l.list(now.Add(2 * time.Hour)); len(list) != 0 || len(l.of) != 0 {
		t.Errorf("%d bans are left after their end", len(list))
	}
}

// FuzzBans reads any list of banned clients. The server keeps a bounded number of them, and every text for a player is valid.
func FuzzBans(f *testing.F) {
	for _, text := range []string{"[]", `[{"client_id":"7","until":"2030-01-02T03:04:05Z","cause":"lying","reason":"its checksums differed"}]`,
		`[{"client_id":"7","until":"9999-12-31T23:59:59Z","cause":"operator","reason":"\u202e\u0000"},{"client_id":"7","until":"2031-01-02T03:04:05Z"}]`, `[{"client_id":7}]`, "null"} {
		f.Add([]byte(text))
	}
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, text []byte) {
		var list []Ban
		if json.Unmarshal(text, &list) != nil {
			return
		}
		l := newBanList(list, now, now)
		if len(l.of) > MaxBans || len(l.of) > len(list) {
			t.Fatalf("%d bans of %d", len(l.of), len(list))
		}
		for key, b := range l.of {
			if b.key() != key || !now.Before(b.Until) {
				t.Fatalf("client %d has %+v", key.client, b)
			}
			if text := b.text(now); CheckReason(text) != nil {
				t.Fatalf("a player receives %q", text)
			}
		}
	})
}

// isSteady reports whether a time has a monotonic reading: comparisons with it do not depend on the clock of the host.
func isSteady(at time.Time) bool { return at != at.Round(0) }

// A ban has a length, whatever the host's clock does meanwhile. The list shows its end by the host's clock.
func TestBansEndByTheMonotonicClock(t *testing.T) {
	now := time.Now()
	l := newBanList(nil, now, now)
	if b := l.add(Ban{ClientID: 1}, time.Minute, now); !isSteady(b.Until) || !isSteady(l.of[banKey{client: 1}].Until) {
		t.Errorf("the end %v moves with the clock of the host", b.Until)
	}
	if list := l.list(now.Add(time.Second)); len(list) != 1 || isSteady(list[0].Until) || list[0].Until.Location() != time.UTC || list[0].Until.Sub(now) != time.Minute {
		t.Errorf("the list has %+v", list)
	}
}

// The rest of a ban of an earlier process is computed at the start. Later steps of the clock do not change it. A ban that was added
// before the clock was set back lasts its whole length again, and not hours.
func TestABanLastsItsLengthWhenTheClockIsStepped(t *testing.T) {
	now := time.Now()
	host := now.Round(0).Add(-7 * time.Hour)
	for name, at := range map[string]time.Time{"of the past": host.Add(-time.Minute), "of the future": host.Add(7 * time.Hour), "without a time": {}} {
		left := 9 * time.Minute
		b := Ban{ClientID: 1, Until: host.Add(left), Evidence: Evidence{At: at}}
		if at.After(host) {
			b.Until = at.Add(left)
		}
		l := newBanList([]Ban{b}, host, now)
		if !isSteady(l.of[banKey{client: 1}].Until) {
			t.Errorf("%s: the end moves with the clock of the host", name)
		}
		_, before := l.find(1, now.Add(left-time.Second))
		_, after := l.find(1, now.Add(left))
		if !before || after || l.unsaved != at.After(host) {
			t.Errorf("%s: banned %v, after the end %v, unsaved %v", name, before, after, l.unsaved)
		}
	}
}
