package cluster

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// started returns a node that runs until ctx is done.
func started(ctx context.Context, t *testing.T, c Config) *Node {
	t.Helper()
	n, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	go n.Run(ctx)
	return n
}

// Claim waits for the former process of the same server, because an OwnedError would send clients to the address of this process. Other
// servers return the error.
func TestAServerWaitsForItsFormerProcess(t *testing.T) {
	for address, waits := range map[string]bool{"10.0.0.1:7777": true, "10.0.0.2:7777": false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var store Memory
			if err := store.Announce(ctx, Server{ID: "old", Beat: 1, Addresses: []string{"10.0.0.1:7777"}}); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Append(ctx, "duel", &Entry{Kind: KindClaim, Owner: "old", Number: 1}); err != nil {
				t.Fatal(err)
			}
			n := started(ctx, t, Config{Store: &store, Server: Server{Name: "new", Addresses: []string{"10.0.0.9:7777", address}}})
			time.Sleep(100 * time.Millisecond)
			began := time.Now()
			_, err := n.Claim(ctx, "duel")
			took := time.Since(began)
			if waits && (err != nil || took < n.config.Lease/2 || took > 2*n.config.Lease) || !waits && (!errors.As(err, new(*OwnedError)) || took > 0) {
				t.Errorf("%s: after %v: %v", address, took, err)
			}
			for beat := uint64(2); waits && beat < 20; beat++ { // another process lives, and has the address too
				if err := store.Announce(ctx, Server{ID: "alive", Beat: beat, Addresses: []string{address}}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond) // it is observed
				if beat == 2 {
					if _, err := store.Append(ctx, "solo", &Entry{Kind: KindClaim, Owner: "alive", Number: 1}); err != nil {
						t.Fatal(err)
					}
					began = time.Now()
					go func() {
						_, err := n.Claim(ctx, "solo")
						if took := time.Since(began); !errors.As(err, new(*OwnedError)) || took < 2*n.config.Lease || took > 3*n.config.Lease {
							t.Errorf("a live server: after %v: %v", took, err)
						}
					}()
				}
				time.Sleep(n.config.Lease / 4)
			}
			cancel()
			synctest.Wait()
		})
	}
}

// A process that starts after another server has observed the death of the owner does not wait for a lease. An owner that has announced itself
// since is not removed.
func TestADeathIsObservedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var store Memory
		dead := Server{ID: "dead", Beat: 1}
		if err := store.Announce(ctx, dead); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Append(ctx, "duel", &Entry{Kind: KindClaim, Owner: dead.ID, Number: 1}); err != nil {
			t.Fatal(err)
		}
		start := func() *Node {
			return started(ctx, t, Config{Store: &store, Server: Server{Name: "server"}})
		}
		start()
		time.Sleep(1500 * time.Millisecond)
		n := start()
		time.Sleep(10 * time.Millisecond)
		began := time.Now()
		if _, err := n.Claim(ctx, "duel"); err != nil || time.Since(began) > 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		dead.Beat = 2
		if err := store.Announce(ctx, dead); err != nil {
			t.Fatal(err)
		}
		if err := store.Expire(ctx, Server{ID: dead.ID, Beat: 1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		if _, _, alive := n.alive(dead.ID); !alive {
			t.Error("a server that has announced itself since was removed")
		}
		cancel()
		synctest.Wait()
	})
}

// The server to which a room was moved owns it without a claim. If it drains and appends nothing for two leases, another server may claim the
// room. The first append of the former owner then fails.
func TestAMoveNeedsNoClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var store Memory
		var nodes [3]*Node
		for i := range nodes {
			nodes[i] = started(ctx, t, Config{Store: &store, Server: Server{Name: string(rune('a' + i))}})
		}
		time.Sleep(10 * time.Millisecond)
		claim := func(n *Node) (r *Room) {
			r, err := n.Claim(ctx, "duel")
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		first := claim(nodes[0])
		if err := first.Append(ctx, []byte("image"), true); err != nil {
			t.Fatal(err)
		}
		if err := first.Release(ctx, []byte(" and ticks"), nodes[1].ID()); err != nil {
			t.Fatal(err)
		}
		if owner, alive, err := nodes[0].Owner(ctx, "duel"); err != nil || !alive || owner.Name != "b" {
			t.Errorf("the owner is %+v, %v, %v", owner, alive, err)
		}
		before := store.sequence
		second := claim(nodes[1])
		if store.sequence != before || second.Fence() <= first.Fence() || !second.Released() {
			t.Errorf("the next owner appended %d entries; fences %d and %d", store.sequence-before, first.Fence(), second.Fence())
		}
		if journal, err := second.Recovered(ctx); err != nil || string(journal) != "image and ticks" {
			t.Errorf("the journal is %q, %v", journal, err)
		}
		time.Sleep(time.Second)
		if second.Leased() {
			t.Error("the room is leased before the first append")
		}
		if err := second.Append(ctx, []byte(" of b"), false); err != nil || !second.Leased() {
			t.Errorf("after the first append: leased %v, %v", second.Leased(), err)
		}
		if _, err := nodes[2].Claim(ctx, "duel"); !errors.As(err, new(*OwnedError)) {
			t.Errorf("the claim of another server: %v", err)
		}

		nodes[1].Drain(ctx)
		time.Sleep(10 * time.Millisecond)
		waiting := make(chan error, 1)
		go func() {
			_, err := nodes[0].Claim(ctx, "duel")
			waiting <- err
		}()
		time.Sleep(3 * time.Second) // it waits for the release
		if err := second.Release(ctx, nil, nodes[2].ID()); err != nil {
			t.Fatal(err)
		}
		if err := <-waiting; !errors.As(err, new(*OwnedError)) {
			t.Errorf("the claim of another server after the move: %v", err)
		}
		silent := claim(nodes[2]) // it appends nothing
		nodes[2].Drain(ctx)
		time.Sleep(10 * time.Millisecond)
		began := time.Now()
		again := claim(nodes[0])
		if took := time.Since(began); took < 2*time.Second || took > 2200*time.Millisecond {
			t.Errorf("another server claimed the room after %v", took)
		}
		if again.Fence() <= silent.Fence() || again.Released() {
			t.Errorf("fence %d after %d; released to this server: %v", again.Fence(), silent.Fence(), again.Released())
		}
		if err := silent.Append(ctx, []byte(" lost"), false); !errors.Is(err, ErrLost) || silent.Leased() {
			t.Errorf("the append of the former owner: %v", err)
		}
		if journal, err := again.Recovered(ctx); err != nil || string(journal) != "image and ticks of b" {
			t.Errorf("the journal is %q, %v", journal, err)
		}

		if err := again.Release(ctx, nil, "dead"); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		if claim(nodes[0]); time.Since(began) > 0 {
			t.Errorf("a room that was moved to a dead server was claimed after %v", time.Since(began))
		}

		// An entry that arrives late, of a Room that the process has abandoned, is not that of the next Room.
		if err := claim(nodes[0]).Release(ctx, nil, nodes[0].ID()); err != nil {
			t.Fatal(err)
		}
		abandoned, next := claim(nodes[0]), claim(nodes[0])
		for range 2 {
			if err := abandoned.Append(ctx, []byte("late"), false); err != nil {
				t.Fatal(err)
			}
		}
		if err := next.Append(ctx, []byte("next"), false); !errors.Is(err, ErrLost) {
			t.Errorf("the append after that of another Room: %v", err)
		}
		cancel()
		synctest.Wait()
	})
}

// unanswered is a store whose replies about logs can be lost.
type unanswered struct {
	Memory
	lost bool
}

func (u *unanswered) Append(ctx context.Context, room string, e *Entry) (uint64, error) {
	at, err := u.Memory.Append(ctx, room, e)
	if u.lost {
		return 0, errUnreachable
	}
	return at, err
}

func (u *unanswered) Last(ctx context.Context, room string) (Entry, uint64, error) {
	if u.lost {
		return Entry{}, 0, errUnreachable
	}
	return u.Memory.Last(ctx, room)
}

// A room is leased after an entry that was first sent in the lease of the server. One that was sent before and is found later does not count.
func TestALeaseNeedsAnEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var store unanswered
		n := started(ctx, t, Config{Store: &store})
		time.Sleep(100 * time.Millisecond)
		r, err := n.Claim(ctx, "duel")
		if err != nil {
			t.Fatal(err)
		}
		store.lost = true
		within, end := context.WithTimeout(ctx, 200*time.Millisecond)
		defer end()
		if err := r.Append(within, []byte("image"), true); err == nil {
			t.Fatal("the reply is not lost")
		}
		time.Sleep(2 * time.Second)
		store.lost = false
		if err := r.Append(ctx, []byte("image"), true); err != nil || r.Leased() {
			t.Errorf("after an entry that was sent early: leased %v, %v", r.Leased(), err)
		}
		if err := r.Append(ctx, []byte("ticks"), false); err != nil || !r.Leased() {
			t.Errorf("after an entry in the lease: leased %v, %v", r.Leased(), err)
		}
		cancel()
		synctest.Wait()
		time.Sleep(time.Second)
		if r.Leased() {
			t.Error("the room is leased after the server has left the cluster")
		}
	})
}

// A server that writes nothing between its claim and its release leaves the room as the owner before left it: released, or not.
func TestAReleaseWithoutAnAppendDoesNotCount(t *testing.T) {
	for _, test := range []struct {
		name     string
		leave    func(ctx context.Context, first *Room, next string) error
		writes   bool // the second owner
		released bool
	}{
		{"the first owner dies", func(context.Context, *Room, string) error { return nil }, false, false},
		{"the first owner dies, the second one writes", func(context.Context, *Room, string) error { return nil }, true, true},
		{"the first owner releases", func(ctx context.Context, r *Room, _ string) error { return r.Release(ctx, nil, "") }, false, true},
		{"the first owner moves the room", func(ctx context.Context, r *Room, next string) error { return r.Release(ctx, []byte(" end"), next) }, false, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var store Memory
			dead, kill := context.WithCancel(ctx)
			var nodes [3]*Node
			for i, ctx := range []context.Context{dead, ctx, ctx} {
				nodes[i] = started(ctx, t, Config{Store: &store})
			}
			time.Sleep(time.Second)
			claim := func(n *Node) *Room {
				r, err := n.Claim(ctx, "duel")
				if err == nil {
					_, err = r.Recovered(ctx)
				}
				if err != nil {
					t.Fatalf("%s: %v", test.name, err)
				}
				return r
			}
			first := claim(nodes[0])
			err := first.Append(ctx, []byte("image"), true)
			if err == nil {
				err = test.leave(ctx, first, nodes[1].ID())
			}
			if err != nil {
				t.Fatal(err)
			}
			kill()
			time.Sleep(time.Second)
			second := claim(nodes[1])
			if test.writes {
				err = second.Append(ctx, []byte(" ticks"), false)
			}
			if err == nil {
				err = second.Release(ctx, nil, "")
			}
			if err != nil {
				t.Fatal(err)
			}
			if third := claim(nodes[2]); third.Released() != test.released {
				t.Errorf("%s: released %v", test.name, third.Released())
			}
			cancel()
			synctest.Wait()
		})
	}
}

// If the store has lost the newest entries of a room, the owner loses it at the end of an append, and can claim it again.
func TestARoomWhoseLastEntriesAreLostCanBeClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var store Memory
		n := started(ctx, t, Config{Store: &store})
		r, err := n.Claim(ctx, "duel")
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"image", " kept", " lost"} {
			if err := r.Append(ctx, []byte(text), false); err != nil {
				t.Fatal(err)
			}
		}
		all := store.logs["duel"]
		store.logs["duel"] = all[:len(all)-1]
		within, end := context.WithTimeout(ctx, n.config.Lease)
		defer end()
		if err := r.Append(within, []byte(" more"), false); !errors.Is(err, ErrLost) {
			t.Fatalf("after a lease: %v", err)
		}
		if r, err = n.Claim(ctx, "duel"); err != nil {
			t.Fatal(err)
		}
		if journal, err := r.Recovered(ctx); err != nil || string(journal) != "image kept" {
			t.Errorf("the journal is %q, %v", journal, err)
		}
		cancel()
		synctest.Wait()
	})
}

// slow is a store whose Watch waits 400 ms before each eighth announcement, from the third on. It can also stop yielding.
type slow struct {
	Memory
	watches atomic.Int32
	stopped atomic.Bool
}

func (s *slow) Watch(ctx context.Context) iter.Seq2[Server, error] {
	return func(yield func(Server, error) bool) {
		s.watches.Add(1)
		count := 0
		for server, err := range s.Memory.Watch(ctx) {
			if count++; count%8 == 3 { // the first of a burst
				_ = pause(ctx, 400*time.Millisecond)
			}
			if s.stopped.Load() {
				<-ctx.Done()
				return
			}
			if !yield(server, err) {
				return
			}
		}
	}
}

// A server that drains and accepts rooms in a short time announces itself often. Announcements that are late by less than half a lease do
// not end its observation. The observation begins anew within two leases after the store has stopped yielding announcements.
func TestOnlyAStoppedObservationBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var store slow
		n := started(ctx, t, Config{Store: &store})
		for range 20 {
			time.Sleep(500 * time.Millisecond)
			for range 3 {
				n.Drain(ctx)
				n.Accept(ctx)
			}
		}
		synctest.Wait()
		if watches := store.watches.Load(); watches != 1 {
			t.Errorf("the store was watched %d times, want 1", watches)
		}
		for want := int32(2); want <= 4; want += 2 { // it begins once more before the store continues
			store.stopped.Store(true)
			time.Sleep(2 * n.config.Lease)
			synctest.Wait()
			if watches := store.watches.Load(); watches != want {
				t.Errorf("after the store has stopped: it was watched %d times, want %d", watches, want)
			}
			store.stopped.Store(false)
			time.Sleep(5 * n.config.Lease)
		}
		cancel()
		synctest.Wait()
	})
}
