package server

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/relay"
)

// stall observes how long a player receives no new confirmed tick.
type stall struct {
	last  ecs.Tick
	since time.Time
	worst time.Duration
}

func (s *stall) observe(p *player) {
	if confirmed := p.Stats().Strategy.Confirmed; confirmed > s.last || s.since.IsZero() {
		s.last, s.since = confirmed, time.Now()
	}
	s.worst = max(s.worst, time.Since(s.since))
}

// duel returns two players as pair does, who reach the other server, too.
func (w *world) duel() (a, b *player) {
	w.t.Helper()
	a, b = w.pair(5 * time.Second)
	for _, p := range w.players {
		if err := w.net.Route(p.host, otherAddr.Addr(), w.profile); err != nil {
			w.t.Fatal(err)
		}
	}
	return a, b
}

// A room moves to another server while it is played. Its clients stay in their seats and load no state. They wait at most six ticks for the
// next confirmed one. On a bad network they wait at most six ticks longer than usual.
func TestARoomMovesWhileItIsPlayed(t *testing.T) {
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy} {
		for _, profile := range []string{"P1", "P3"} {
			t.Run(s.Name+" "+profile, func(t *testing.T) { moves(t, s, profile) })
		}
	}
}

func moves(t *testing.T, s systems.Strategy, profile string) {
	d := newDisk(s)
	var suspended chan struct{}
	start := func(c *Config) {
		d.config(c)
		suspended = make(chan struct{}) // of the bubble
		c.CloseRoom = func(_ string, r *room.Room) {
			if !r.Suspended() {
				t.Error("the match is over")
			}
			close(suspended)
		}
	}
	inBubble(t, profile, start, func(w *world) {
		other, stop := w.other(nil, func(c *Config) {
			d.config(c)
			open := c.OpenRoom
			c.OpenRoom = func(name string, rc *room.Config) error {
				<-suspended
				err := open(name, rc)
				if rc.Resume != nil {
					rc.Resume.Wait = systems.Second / 2
				}
				return err
			}
		})
		a, b := w.duel()
		w.pass(2 * time.Second)
		seats, before := [2]int{a.Seat(), b.Seat()}, w.tick("duel")
		var usual, moving [2]stall
		watch := func(into *[2]stall, d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); w.pass(time.Second / 240) {
				into[0].observe(a)
				into[1].observe(b)
			}
		}
		watch(&usual, 3*time.Second)
		if n, err := w.server.Offer(context.Background(), "duel", []netip.AddrPort{otherAddr}); err != nil || n != 2 {
			t.Fatal(n, err)
		}
		watch(&moving, time.Second)
		if n, open, err := other.Waiting(context.Background(), "duel"); err != nil || n != 2 || open {
			t.Errorf("%d clients wait on the other server, the room is open: %v, %v", n, open, err)
		}
		if err := w.server.Move(context.Background(), "duel"); err != nil {
			t.Fatal(err)
		}
		watch(&moving, 3*time.Second)
		if n, open, err := other.Waiting(context.Background(), "duel"); err != nil || n != 0 || !open {
			t.Errorf("%d clients wait on the other server after the move, the room is open: %v, %v", n, open, err)
		}
		if now := [2]int{a.Seat(), b.Seat()}; now != seats || !w.live(a, b)() || moving[0].last < before+200 {
			t.Errorf("seats %d, were %d; tick %d, was %d; %v, %v", now, seats, moving[0].last, before, a.State(), b.State())
		}
		if st := w.server.Stats(); st.Rooms != 0 { // it has space for another room at once
			t.Errorf("%d rooms are left", st.Rooms)
		}
		limit := 6 * time.Second / time.Duration(w.game.TickRate)
		t.Logf("usually %v and %v, while the room moves %v and %v; resyncs %d", usual[0].worst, usual[1].worst, moving[0].worst, moving[1].worst, a.Stats().Resyncs)
		if a.Stats().Resyncs+b.Stats().Resyncs > 0 {
			t.Errorf("the clients loaded %d and %d states", a.Stats().Resyncs, b.Stats().Resyncs)
		}
		for i := range moving {
			if profile == "P1" {
				usual[i].worst = 0
			}
			if moving[i].worst > usual[i].worst+limit {
				t.Errorf("client %d received no tick for %v, usually %v", i, moving[i].worst, usual[i].worst)
			}
		}
		stop()
	})
}

// When Others returns another address, the clients of a room receive tokens for it. While the room moves, its tokens are for the target only.
func TestTokensAreForThePresentServers(t *testing.T) {
	target := netip.MustParseAddrPort("10.0.0.9:7777")
	var others atomic.Pointer[[]netip.AddrPort]
	others.Store(&[]netip.AddrPort{})
	inBubble(t, "P1", func(c *Config) { c.Others = func(string) []netip.AddrPort { return *others.Load() } }, func(w *world) {
		w.pair(5 * time.Second)
		w.pass(time.Second)
		has := func(want []netip.AddrPort) {
			t.Helper()
			w.pass(1500 * time.Millisecond)
			for i, p := range w.players {
				token, err := netcode.ParseConnectToken(p.token)
				if err != nil || !slices.Equal(token.Servers(), want) {
					t.Errorf("client %d has %v, %v, want %v", i, token.Servers(), err, want)
				}
			}
		}
		has([]netip.AddrPort{serverAddr})
		others.Store(&[]netip.AddrPort{otherAddr})
		has([]netip.AddrPort{serverAddr, otherAddr})
		if _, err := w.server.Offer(context.Background(), "duel", []netip.AddrPort{target}); err != nil {
			t.Fatal(err)
		}
		others.Store(&[]netip.AddrPort{})
		has([]netip.AddrPort{target})
		if _, err := w.server.Offer(context.Background(), "duel", nil); err != nil {
			t.Fatal(err)
		}
		has([]netip.AddrPort{serverAddr})
	})
}

// commits is a sink whose commits do not end while held is set.
type commits struct {
	mu    sync.Mutex
	held  bool
	busy  bool
	wake  func()
	begun ecs.Tick // the last tick of the newest commit that was held
	last  ecs.Tick
}

func (d *commits) sink(c *room.Config) {
	d.wake = c.Wake
	c.Sinks = append(c.Sinks, room.Sink{Tick: func(f systems.FinalTick) { d.last = f.Tick }, Commit: func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.held && !d.busy {
			d.begun = d.last
		}
		if d.busy = d.held; d.busy {
			return room.ErrPending
		}
		return nil
	}})
}

// hold sets held. If it clears held, it also calls Config.Wake of the room.
func (d *commits) hold(on bool) {
	d.mu.Lock()
	d.held = on
	d.mu.Unlock()
	if !on {
		d.wake()
	}
}

// Move waits for a commit that is under way, and the old server sends its ticks. If the commit takes too long, the next server sends these ticks
// when it opens the room, before its own first commit ends.
func TestConfirmedTicksDoNotWaitForAMove(t *testing.T) {
	for _, long := range []bool{false, true} {
		d, before, after := newDisk(relay.Strategy), &commits{}, &commits{}
		journaled := func(c *Config, k *commits) {
			d.config(c)
			open := c.OpenRoom
			c.OpenRoom = func(name string, rc *room.Config) error {
				defer k.sink(rc)
				return open(name, rc)
			}
		}
		var opens chan struct{}
		inBubble(t, "P0", func(c *Config) {
			journaled(c, before)
			opens = make(chan struct{}) // in the bubble
		}, func(w *world) {
			other, stop := w.other(nil, func(c *Config) {
				journaled(c, after)
				open := c.OpenRoom
				c.OpenRoom = func(name string, rc *room.Config) error {
					<-opens
					return open(name, rc)
				}
			})
			a, b := w.duel()
			w.pass(time.Second)
			if _, err := w.server.Offer(context.Background(), "duel", []netip.AddrPort{otherAddr}); err != nil {
				t.Fatal(err)
			}
			w.pass(time.Second)
			before.hold(true)
			w.pass(50 * time.Millisecond)
			held := a.Stats().Strategy.Confirmed
			moved := make(chan error, 1)
			go func() { moved <- w.server.Move(context.Background(), "duel") }()
			if w.pass(50 * time.Millisecond); !long {
				before.hold(false)
			}
			w.pass(300 * time.Millisecond)
			if err := <-moved; err != nil {
				t.Fatal(err)
			}
			before.mu.Lock()
			begun, last := before.begun, before.last
			before.mu.Unlock()
			want := begun
			if long {
				want = held
			}
			if got := a.Stats().Strategy.Confirmed; got != want || begun <= held {
				t.Errorf("long %t: after the move, tick %d is confirmed, want %d; %d before the commit", long, got, want, held)
			}
			after.hold(true)
			close(opens)
			w.pass(300 * time.Millisecond)
			if got := b.Stats().Strategy.Confirmed; got != last || last <= want {
				t.Errorf("long %t: before the first commit of the next server, tick %d is confirmed, want %d", long, got, last)
			}
			after.hold(false)
			w.until("playing", 2*time.Second, func() bool { return playsOn(a, last)() && playsOn(b, last)() })
			if n := a.Stats().Resyncs + b.Stats().Resyncs; n > 0 || other.Stats().Rooms != 1 {
				t.Errorf("the clients loaded %d states, want none; the other server has %d rooms, want 1", n, other.Stats().Rooms)
			}
			stop()
		})
	}
}
