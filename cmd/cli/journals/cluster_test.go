package journals

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"tendon/ecs/image"
	"tendon/net/cluster"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/systems/relay"
)

// shared is a cluster in this process.
type shared struct {
	t     *testing.T
	store cluster.Memory
}

// join returns a server of the cluster and a function that ends its announcements.
func (s *shared) join(name string) (*cluster.Node, context.CancelFunc) {
	s.t.Helper()
	n, err := cluster.New(cluster.Config{Store: &s.store, Server: cluster.Server{Name: name}, Lease: time.Minute})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, leave := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	go func() { n.Run(ctx); close(ended) }()
	left := func() { leave(); <-ended }
	s.t.Cleanup(left)
	return n, left
}

// clustered begins a match of two bots whose journal is in a cluster.
func clustered(t *testing.T, n *cluster.Node, s Sync) *journalled {
	t.Helper()
	p := &journalled{t: t}
	h, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: relay.Strategy, Seed: 7, Room: func(c *room.Config) {
		p.game = c.Game
		var err error
		if p.store, err = Open(p.clusterConfig(n, s)); err == nil {
			err = p.store.Open("main", c)
		}
		if err != nil {
			t.Fatal(err)
		}
		blocking(p.store, "main", c)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.store.Close() })
	p.Match = h
	h.Join(matchsim.Plan{})
	h.Join(matchsim.Plan{})
	h.Run(3 * time.Second)
	return p
}

func (p *journalled) clusterConfig(n *cluster.Node, s Sync) Config {
	c := p.config(s)
	c.Dir, c.Cluster = "", n
	return c
}

// next opens the room on another server.
func (p *journalled) next(n *cluster.Node) (s *Store, c room.Config, err error) {
	if s, err = Open(p.clusterConfig(n, Always)); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = s.Close() })
	c = room.Config{Game: p.game, Strategy: relay.Strategy, Match: 2}
	return s, c, s.Open("main", &c)
}

// The next server has every tick that a client received as confirmed, and the one before can confirm none any more.
func TestAnotherServerContinuesAMatchOfTheCluster(t *testing.T) {
	s := &shared{t: t}
	one, leave := s.join("one")
	p := clustered(t, one, Always)
	two, _ := s.join("two")
	if _, _, err := p.next(two); !errors.As(err, new(*cluster.OwnedError)) {
		t.Fatalf("a room of a server that is alive: %v", err)
	}
	leave() // it is dead to the cluster, and goes on
	_, c, err := p.next(two)
	for errors.As(err, new(*cluster.OwnedError)) { // until it has observed that
		_, c, err = p.next(two)
	}
	if err != nil || c.Resume == nil {
		t.Fatalf("%v: %+v", err, c.Resume)
	}
	last := p.Room.Tick()
	if c.Resume.World.Tick() != last || len(c.Resume.Seats) != 2 || c.Seed != 7 || last < 150 {
		t.Errorf("the match continues after tick %d with %d seats, not after %d", c.Resume.World.Tick(), len(c.Resume.Seats), last)
	}
	before := p.confirmed()
	p.Run(2 * time.Second)
	if after := p.confirmed(); after > last || before > last {
		t.Errorf("tick %d was confirmed by a server that had lost the room after tick %d", after, last)
	}
	if n, e := p.count(Lost); n != 1 || !errors.Is(e.Err, cluster.ErrLost) || e.Room != "main" {
		t.Errorf("reported %d times: %+v", n, e)
	}
}

// The journal begins anew with each image, so the next server reads half a minute at most. It has the same ticks and seats.
func TestTheNextServerReadsTheNewestImageAndTheTicksSince(t *testing.T) {
	s := &shared{t: t}
	one, _ := s.join("one")
	p := clustered(t, one, Always)
	p.Run(70 * time.Second)
	last, _, err := s.store.Last(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	entries := 0
	for range s.store.Read(t.Context(), "main", last.From, last.Before) {
		entries++
	}
	if most := record.JournalImages * p.game.TickRate; entries > most || entries < 60 {
		t.Errorf("the next server reads %d entries, want at most %d", entries, most)
	}
	<-p.store.Keep("main", p.Room.World())
	two, _ := s.join("two")
	_, c, err := p.next(two)
	if err != nil || c.Resume == nil || c.Resume.World.Tick() != p.Room.Tick() || c.Seed != 7 || len(c.Resume.Seats) != 2 || !c.Resume.Seats[1].Held {
		t.Fatalf("%v: %+v, want tick %d", err, c.Resume, p.Room.Tick())
	}
	var here, there image.Snapshot
	p.Room.World().Image().Save(&here)
	c.Resume.World.Image().Save(&there)
	if here.Checksum() != there.Checksum() {
		t.Errorf("the state is %016x, not %016x", there.Checksum(), here.Checksum())
	}
}

// While the results of a match are not stored, its journal does not begin anew, so that the next server finds them in it.
func TestAJournalBeginsAnewOnlyAfterItsResultsAreStored(t *testing.T) {
	for _, settled := range []bool{true, false} {
		s := &shared{t: t}
		one, _ := s.join("one")
		p := clustered(t, one, Always)
		p.store.config.Settled = func() bool { return settled }
		p.Run(10 * time.Second)
		<-p.store.Keep("main", p.Room.World())
		two, _ := s.join("two")
		k, c, err := p.next(two)
		if err != nil || c.Resume == nil || c.Resume.World.Tick() != p.Room.Tick() {
			t.Fatalf("%v: %+v", err, c.Resume)
		}
		m, ok := k.Continued("main")
		if !ok || (m.Journal.Start() > 0) != settled {
			t.Errorf("stored: %v, the journal begins with tick %d", settled, m.Journal.Start())
		}
	}
}

// A server that gives a room up leaves its last state, and the next server continues at once.
func TestAKeptMatchOfTheClusterContinuesAtOnce(t *testing.T) {
	s := &shared{t: t}
	one, _ := s.join("one")
	p := clustered(t, one, Always)
	two, _ := s.join("two")
	<-p.store.Keep("main", p.Room.World())
	if p.store.Kept() != 1 {
		t.Errorf("%d matches are kept", p.store.Kept())
	}
	k, c, err := p.next(two)
	if err != nil || c.Resume == nil || c.Resume.World.Tick() != p.Room.Tick() {
		t.Fatalf("%v: %+v, want tick %d", err, c.Resume, p.Room.Tick())
	}
	<-k.End("main", nil)
	three, _ := s.join("three")
	if _, c, err = p.next(three); err != nil || c.Resume != nil {
		t.Errorf("%v: a match that is over continues: %+v", err, c.Resume)
	}
}

// deaf is a store whose answers wait, after silent is set, until heard is closed.
type deaf struct {
	cluster.Memory
	silent atomic.Bool
	heard  chan struct{}
}

func (d *deaf) Append(ctx context.Context, room string, e *cluster.Entry) (uint64, error) {
	if d.silent.Load() {
		select {
		case <-d.heard:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return d.Memory.Append(ctx, room, e)
}

// While the cluster does not answer, a match without Always continues only if no other server can have claimed the room.
func TestAMatchContinuesWithoutItsLogOnlyInItsLease(t *testing.T) {
	for _, test := range []struct {
		sync   Sync
		leased bool
	}{{Never, true}, {Never, false}, {Sync(100 * time.Millisecond), true}, {Sync(100 * time.Millisecond), false}} {
		leased := test.leased
		d := &deaf{heard: make(chan struct{})}
		n, err := cluster.New(cluster.Config{Store: d, Lease: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		p := &journalled{t: t, game: halves.Dots()}
		s, err := Open(p.clusterConfig(n, test.sync))
		if err != nil {
			t.Fatal(err)
		}
		c := room.Config{Game: p.game, Strategy: relay.Strategy, Match: 2}
		if err := s.Open("main", &c); err != nil {
			t.Fatal(err)
		}
		if leased {
			n.Drain(t.Context()) // it announces the server
		}
		d.silent.Store(true)
		j, continued := s.open["main"], 0
		for range 2 * p.game.TickRate {
			if _, err := j.out.Write([]byte{1}); err != nil {
				t.Fatal(err)
			}
			if j.progress() == nil {
				continued++
			}
		}
		if (continued > 0) != leased {
			t.Errorf("%v, leased: %v: %d ticks are confirmed", test.sync, leased, continued)
		}
		close(d.heard)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// opened returns the store of a server, with one open room, and the journal of that room.
func (d *deaf) opened(t *testing.T) (p *journalled, s *Store, j *roomJournal) {
	t.Helper()
	n, err := cluster.New(cluster.Config{Store: d, Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	p = &journalled{t: t, game: halves.Dots()}
	if s, err = Open(p.clusterConfig(n, Always)); err != nil {
		t.Fatal(err)
	}
	if err := s.Open("main", &room.Config{Game: p.game, Strategy: relay.Strategy, Match: 2}); err != nil {
		t.Fatal(err)
	}
	return p, s, s.open["main"]
}

// A room that another server has is lost, also if a write failed before.
func TestARoomIsLostAfterAFailedWrite(t *testing.T) {
	d := &deaf{heard: make(chan struct{})}
	p, s, j := d.opened(t)
	d.silent.Store(true)
	if _, err := j.out.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	reported := func(kind Kind) {
		t.Helper()
		for n := 0; n == 0; n, _ = p.count(kind) {
			if t.Context().Err() != nil {
				t.Fatalf("event %d is not reported", kind)
			}
			_ = j.commit()
			time.Sleep(time.Millisecond)
		}
	}
	reported(Failed)
	_, last, err := d.Last(t.Context(), "main")
	if err == nil {
		_, err = d.Memory.Append(t.Context(), "main", &cluster.Entry{Kind: cluster.KindClaim, Owner: "other", Number: 1, Before: last})
	}
	if err != nil {
		t.Fatal(err)
	}
	close(d.heard)
	reported(Lost)
	if err := s.Close(); err != nil && !errors.Is(err, cluster.ErrLost) {
		t.Error(err)
	}
}

// With an interval, the ticks of an interval are appended together, and all of them are in the log when the match is kept.
func TestAnIntervalGroupsTicks(t *testing.T) {
	entries := func(sync Sync) (n int, ticks uint64) {
		s := &shared{t: t}
		one, _ := s.join("one")
		p := clustered(t, one, sync)
		<-p.store.Keep("main", p.Room.World())
		for _, err := range s.store.Read(t.Context(), "main", 0, math.MaxUint64) {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		two, _ := s.join("two")
		_, c, err := p.next(two)
		if err != nil || c.Resume == nil || c.Resume.World.Tick() != p.Room.Tick() {
			t.Fatalf("%v: %+v, want tick %d", err, c.Resume, p.Room.Tick())
		}
		return n, uint64(p.Room.Tick())
	}
	each, ticks := entries(Always)
	grouped, _ := entries(Sync(100 * time.Millisecond))
	if uint64(each) < ticks || grouped > each/3 {
		t.Errorf("%d ticks have %d entries one by one, and %d with an interval of 6 ticks", ticks, each, grouped)
	}
}

// A server that cannot continue a match gives the room up at once, so that another build can.
func TestARoomThatCannotBeContinuedIsGivenUp(t *testing.T) {
	s := &shared{t: t}
	one, _ := s.join("one")
	p := clustered(t, one, Always)
	<-p.store.Keep("main", p.Room.World())
	two, _ := s.join("two")
	c := p.clusterConfig(two, Always)
	c.Strategy = "lockstep"
	other, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	if err := other.Open("main", &room.Config{Game: p.game, Strategy: relay.Strategy}); !errors.Is(err, ErrStrategy) {
		t.Fatal(err)
	}
	three, _ := s.join("three")
	if _, c, err := p.next(three); err != nil || c.Resume == nil {
		t.Errorf("%v: %+v", err, c.Resume)
	}
}

// The release of a room has its last bytes. Those of a write that failed before are written first.
func TestTheReleaseHasTheLastBytes(t *testing.T) {
	for _, test := range []struct {
		name   string
		failed bool
		bodies []string // of the last entries
	}{{"after good writes", false, []string{"yz"}}, {"after a failed write", true, []string{"x", "yz"}}} {
		t.Run(test.name, func(t *testing.T) {
			d := &deaf{heard: make(chan struct{})}
			_, s, j := d.opened(t)
			j.seated = true
			write := func(text string) {
				if _, err := j.out.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			if test.failed {
				d.silent.Store(true)
				if write("x"); j.drain() == nil {
					t.Fatal("a write without an answer succeeded")
				}
				d.silent.Store(false)
			}
			write("y")
			write("z")
			j.release()
			var log []cluster.Stored
			for e, err := range d.Read(t.Context(), "main", 0, math.MaxUint64) {
				if log = append(log, e); err != nil {
					t.Fatal(err)
				}
			}
			last := log[len(log)-len(test.bodies):]
			for i, want := range test.bodies {
				if got := string(last[i].Body); got != want || (last[i].Kind == cluster.KindRelease) != (i == len(last)-1) {
					t.Errorf("entry %d from the end: kind %d, %q, want %q", len(last)-1-i, last[i].Kind, got, want)
				}
			}
			if err := s.Close(); err != nil && !errors.Is(err, cluster.ErrLost) {
				t.Error(err)
			}
		})
	}
}
