package server

import (
	"errors"
	"maps"
	"syscall"
	"testing"
	"time"

	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/session"
)

// record is a record of used tokens whose disk can be made slow.
type record struct {
	since   time.Time
	floor   uint64
	earlier map[netcode.TokenID]bool
	now     map[netcode.TokenID]bool
	slow    bool
	err     error
	asked   int
}

func (r *record) Since() time.Time { return r.since }
func (r *record) Used(token netcode.TokenID, expires uint64) bool {
	return r.earlier[token] || expires <= r.floor
}

func (r *record) Floor() uint64 { return r.floor }

func (r *record) Record(token netcode.TokenID, _ uint64, _ time.Time) (bool, error) {
	r.asked++
	if !r.slow && r.err == nil {
		r.now[token] = true
	}
	return r.now[token], r.err
}

func (r *record) config(c *Config) { c.UsedTokens = r }

// restart ends the server and starts another one, for which the tokens of the record are those of an earlier process.
func (w *world) restart(r *record, change func(*Config)) {
	w.t.Helper()
	for _, p := range w.players {
		p.Close()
	}
	w.players = nil
	w.pass(100 * time.Millisecond)
	w.cancel()
	if err := <-w.ended; err != nil {
		w.t.Errorf("Run: %v", err)
	}
	if r != nil {
		r.restart()
	}
	w.start(change)
}

// restart makes the recorded tokens those of earlier processes.
func (r *record) restart() {
	maps.Copy(r.earlier, r.now)
	clear(r.now)
}

func newRecord() *record {
	return &record{earlier: map[netcode.TokenID]bool{}, now: map[netcode.TokenID]bool{}}
}

// wantRefused joins with a token that the server must refuse, without a packet to the client.
func (w *world) wantRefused(name string, token []byte) {
	w.t.Helper()
	before := w.server.Stats()
	c := w.join(token)
	w.pass(2 * time.Second)
	after := w.server.Stats()
	if c.State() != client.Connecting || after.TokensEarly == before.TokensEarly || after.Netcode[netcode.Challenges] != before.Netcode[netcode.Challenges] {
		w.t.Errorf("%s: the client is %v; stats %+v", name, c.State(), after.ConnectionStats)
	}
}

// A server without a record refuses every token that was issued before it began: it may have been used.
func TestARestartedServerRefusesEarlierTokens(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		used, unused := w.mint(w.ticket(1, "duel")), w.mint(w.ticket(2, "duel"))
		a := w.join(used)
		w.until("a live", 5*time.Second, func() bool { return a.State() == client.Live && a.token != nil })
		reconnect := a.token
		w.restart(nil, nil)
		w.wantRefused("a used token", used)
		w.wantRefused("an unused token", unused)
		w.wantRefused("a reconnect token", reconnect)
		b := w.join(w.mint(w.ticket(1, "duel")))
		w.until("b live", 5*time.Second, w.live(b))
	})
}

// A server with a record refuses the used tokens of earlier processes only.
func TestARestartedServerAcceptsUnusedTokensOfItsRecord(t *testing.T) {
	r := newRecord()
	inBubble(t, "P1", r.config, func(w *world) {
		used, unused := w.mint(w.ticket(1, "duel")), w.mint(w.ticket(2, "duel"))
		a := w.join(used)
		w.until("a live", 5*time.Second, func() bool { return a.State() == client.Live && a.token != nil })
		reconnect := a.token
		w.restart(r, r.config)
		w.wantRefused("a used token", used)
		b := w.join(reconnect)
		w.until("b live", 5*time.Second, w.live(b))
		c := w.join(unused)
		w.until("c live", 5*time.Second, w.live(c))
		w.restart(r, r.config)
		w.wantRefused("a reconnect token that is used now", reconnect)
		r.since = time.Now()
		w.restart(r, r.config)
		w.wantRefused("a token from before the record", w.mintAt(w.ticket(3, "duel"), time.Now().Add(-3*time.Second)))
	})
}

// No connection is made before its token is on the disk. A crash in between leaves a token that is used or not, but never
// one that has a connection and is not recorded.
func TestAConnectionWaitsForTheRecord(t *testing.T) {
	r := newRecord()
	r.slow = true
	inBubble(t, "P1", r.config, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.pass(time.Second)
		if st := w.server.Stats(); st.Joined != 0 || r.asked < 5 || a.State() != client.Connecting {
			t.Errorf("%d joined, %d calls of Record, the client is %v", st.Joined, r.asked, a.State())
		}
		r.slow = false
		w.until("a live", 3*time.Second, w.live(a))
		if len(r.now) != 1 {
			t.Errorf("%d tokens recorded, want 1", len(r.now))
		}
	})
}

// A server that cannot record tokens refuses a client with the reason, and the token remains unused. The refusals are not larger
// than the requests. When the disk has space again, the client connects with the same token.
func TestAClientReceivesWhyItsTokenIsNotRecorded(t *testing.T) {
	r := newRecord()
	r.err = syscall.ENOSPC
	inBubble(t, "P1", r.config, func(w *world) {
		token := w.mint(w.ticket(1, "duel"))
		a := w.join(token)
		w.pass(5 * time.Second)
		st := w.server.Stats()
		if !errors.Is(a.Refusal(), &session.Error{Code: session.CodeStorage}) || a.State() != client.Connecting || a.Err() != nil {
			t.Errorf("the client is %v: %v, %v", a.State(), a.Refusal(), a.Err())
		}
		if refused := st.Netcode[netcode.Denials]; st.Joined != 0 || refused == 0 || refused != st.Unrecorded || refused > 10*5 {
			t.Errorf("%d joined, %d refused, %+v", st.Joined, refused, st.ConnectionStats)
		}
		r.err = nil
		w.until("a live", 3*time.Second, w.live(a))
		if a.Refusal() != nil || len(r.now) != 1 {
			t.Errorf("live: %v; %d tokens recorded", a.Refusal(), len(r.now))
		}
		w.restart(r, r.config)
		w.wantRefused("the used token", token)
	})
}

// A token of a backend whose clock is ahead is accepted when its time has come. Otherwise it would be valid again after a
// restart.
func TestATokenOfTheFutureWaits(t *testing.T) {
	inBubble(t, "P1", nil, func(w *world) {
		early := w.mintAt(w.ticket(1, "duel"), time.Now().Add(3*time.Second))
		w.wantRefused("a token of the future", early)
		w.until("live", 5*time.Second, w.live(w.players[0]))
	})
}

func (w *world) mintAt(t Ticket, at time.Time) []byte {
	w.t.Helper()
	token, err := Mint(t, at)
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}
