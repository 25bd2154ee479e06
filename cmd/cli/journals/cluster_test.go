package journals

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/cluster"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/rollback/record"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/relay"
	"tendon/systems/verify"
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

// offered are the strategies to which a match can change.
var offered = []systems.Strategy{verify.Strategy, lockstep.Strategy}

// clustered begins a match of two bots whose journal is in a cluster.
func clustered(t *testing.T, n *cluster.Node, s Sync) *journalled {
	t.Helper()
	p := &journalled{t: t, strategy: relay.Strategy}
	h, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: relay.Strategy, Strategies: offered, Seed: 7, Room: func(c *room.Config) {
		p.game = c.Game
		p.observe(c)
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

// observe records the digest of every tick. It sets HistoryKey, so that the journal has digests.
func (p *journalled) observe(c *room.Config) {
	c.HistoryKey = make([]byte, 32)
	codec, digest := record.NewCodec(c.Game), record.Digest{}
	at := record.Position{Inputs: make([]ecs.InputBytes, c.Game.MaxPlayers)}
	p.digests = map[ecs.Tick]record.Digest{}
	c.Sinks = append(c.Sinks, room.Sink{Tick: func(f systems.FinalTick) {
		code := codec.AppendTick(nil, at.Inputs, &f.FinalTick)
		digest.Add(code)
		at.Advance(&f.FinalTick, code)
		p.digests[f.Tick] = digest
	}})
}

// The journal that began anew has the digest of the ticks before it, also after another server has continued it. Clients then return lost ticks.
func TestAJournalThatBeganAnewHasTheDigestOfTheTicksBefore(t *testing.T) {
	s := &shared{t: t}
	one, _ := s.join("one")
	p := clustered(t, one, Sync(100*time.Millisecond))
	p.Run(12 * time.Second)
	<-p.store.Keep("main", p.Room.World())
	two, _ := s.join("two")
	next, c, err := p.next(two)
	if err != nil || c.Resume == nil {
		t.Fatalf("%v: %+v", err, c.Resume)
	}
	if h := next.open["main"].header; h.Start.Tick < 300 || h.Digest != p.digests[h.Start.Tick] {
		t.Errorf("the journal begins after tick %d with the digest %x, want %x", h.Start.Tick, h.Digest, p.digests[h.Start.Tick])
	}
	last := c.Resume.World.Tick()
	if d, known := c.Resume.Digest(); !known || d != p.digests[last] {
		t.Errorf("at tick %d the digest is %x, %v, want %x", last, d, known, p.digests[last])
	}
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
	c = room.Config{Game: p.game, Strategy: p.strategy, Strategies: offered, Match: 2}
	return s, c, s.Open("main", &c)
}

// The journal of a match whose strategy was changed begins anew with the present strategy in its header. So it stays short, and the next servers continue
// with that strategy, also after further changes.
func TestAJournalBeginsAnewWithThePresentStrategy(t *testing.T) {
	s := &shared{t: t}
	one, leave := s.join("one")
	p := clustered(t, one, Always)
	var since ecs.Tick
	for i, name := range []string{"verify", "lockstep"} {
		asked := p.Room.Tick()
		if err := p.Room.Switch(name); err != nil {
			t.Fatal(err)
		}
		p.Run(8 * time.Second)
		since = p.store.open["main"].header.Since
		r, err := record.Open(s.journal(), p.game)
		if err != nil || p.Room.Strategy().Name != name || since <= asked || since > asked+60 {
			t.Fatalf("after tick %d, the room plays %s since %d: %v", asked, p.Room.Strategy().Name, since, err)
		}
		if h := r.Header(); h.Present != name || h.Since != since || h.Start.Tick <= since || h.Strategy != relay.Strategy.Name {
			t.Errorf("change %d: the journal begins after tick %d with %q since %d, want %q since %d", i+1, h.Start.Tick, h.Present, h.Since, name, since)
		}
	}
	if err := p.Room.Switch(relay.Strategy.Name); err != nil {
		t.Fatal(err)
	}
	p.Run(time.Second / 2)
	since = p.store.open["main"].header.Since
	leave()
	for _, name := range []string{"two", "three"} { // the second finds the order, the third what the second wrote
		n, _ := s.join(name)
		next, c, err := p.next(n)
		for errors.As(err, new(*cluster.OwnedError)) { // until the new server observes that the previous one left
			next, c, err = p.next(n)
		}
		if err != nil || c.Resume == nil || c.Resume.Strategy != relay.Strategy.Name || c.Resume.Since != since {
			t.Fatalf("%v: %s continues with %+v", err, name, c.Resume)
		}
		r, err := room.New(c, 0)
		if err != nil || r.Strategy().Name != relay.Strategy.Name {
			t.Fatalf("%s: %v", name, err)
		}
		next.open["main"].image(r.World(), true) // it begins anew
		<-next.Keep("main", r.World())
	}
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

// The journal begins anew with each image, so the next server reads the ticks of about checkpointSeconds. It has the same ticks and seats.
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
	if most := (checkpointSeconds + 1) * p.game.TickRate; entries > most || entries < 60 {
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

// While the results of a match are not stored, its journal does not begin anew, so that the next server finds them in it. It begins anew as soon
// as they are stored.
func TestAJournalBeginsAnewOnlyAfterItsResultsAreStored(t *testing.T) {
	for after, settled := range map[time.Duration]bool{0: true, 7 * time.Second: true, time.Hour: false} {
		s := &shared{t: t}
		one, _ := s.join("one")
		p := clustered(t, one, Always)
		least := p.Room.Tick() + ecs.Tick(min(after, time.Minute).Seconds())*ecs.Tick(p.game.TickRate)
		p.store.config.Settled = func(string) bool { return p.Room.Tick() >= least }
		p.Run(8 * time.Second)
		<-p.store.Keep("main", p.Room.World())
		two, _ := s.join("two")
		k, c, err := p.next(two)
		if err != nil || c.Resume == nil || c.Resume.World.Tick() != p.Room.Tick() {
			t.Fatalf("%v: %+v", err, c.Resume)
		}
		m, ok := k.Continued("main")
		if start := m.Journal.Start(); !ok || settled != (start > 0) || settled && start < least {
			t.Errorf("stored after %v, in tick %d: the journal begins with tick %d", after, least, start)
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
	three, _ := s.join("three")
	if _, _, err := p.next(three); !errors.As(err, new(*cluster.OwnedError)) {
		t.Errorf("a room of another server: %v", err)
	}
	if n, _ := p.count(Refused); n != 0 { // its clients are sent to that server
		t.Errorf("%d rooms were refused", n)
	}
	k.MoveTo("main", three.ID())
	<-k.Keep("main", c.Resume.World)
	if k.Kept() != 0 {
		t.Errorf("%d matches are kept after the only one has moved", k.Kept())
	}
	if k, c, err = p.next(three); err != nil || c.Resume == nil {
		t.Fatalf("%v: %+v", err, c.Resume)
	}
	<-k.End("main", nil)
	if _, c, err = p.next(three); err != nil || c.Resume != nil {
		t.Errorf("%v: a match that is over continues: %+v", err, c.Resume)
	}
}

// stalled is a store whose replies wait, after stalls is set, until resumed is closed.
type stalled struct {
	cluster.Memory
	stalls  atomic.Bool
	resumed chan struct{}
}

func (d *stalled) Append(ctx context.Context, room string, e *cluster.Entry) (uint64, error) {
	if d.stalls.Load() {
		select {
		case <-d.resumed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return d.Memory.Append(ctx, room, e)
}

// While the cluster does not answer, a match without Always continues only if no other server can have claimed the room. Another server may
// have claimed a room that was moved to this server, until this one has appended an entry.
func TestAMatchContinuesWithoutItsLogOnlyInItsLease(t *testing.T) {
	const interval = Sync(100 * time.Millisecond)
	for _, test := range []struct {
		sync              Sync
		leased, moved, ok bool
	}{{Never, true, false, true}, {Never, false, false, false}, {Never, true, true, false}, {interval, true, false, true}, {interval, false, false, false}, {interval, true, true, false}} {
		synctest.Test(t, func(t *testing.T) {
			d := &stalled{resumed: make(chan struct{})}
			n, err := cluster.New(cluster.Config{Store: d, Lease: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			p := &journalled{t: t, game: halves.Dots(), strategy: relay.Strategy}
			s, err := Open(p.clusterConfig(n, test.sync))
			if err != nil {
				t.Fatal(err)
			}
			if test.moved {
				_, former, j := d.opened(t)
				j.seated = true
				former.MoveTo("main", n.ID())
				j.release()
				d.stalls.Store(true)
			}
			if test.leased {
				for range 3 {
					n.Drain(t.Context()) // it announces the server
					time.Sleep(20 * time.Second)
				}
			}
			c := room.Config{Game: p.game, Strategy: relay.Strategy, Match: 2}
			if err := s.Open("main", &c); err != nil {
				t.Fatal(err)
			}
			d.stalls.Store(true)
			j, continued := s.open["main"], 0
			for range 2 * p.game.TickRate {
				if _, err := j.out.Write([]byte{1}); err != nil {
					t.Fatal(err)
				}
				if j.progress() == nil {
					continued++
				}
			}
			if (continued > 0) != test.ok {
				t.Errorf("%+v: %d ticks are confirmed", test, continued)
			}
			close(d.resumed)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// opened returns the store of a server, with one open room, and the journal of that room.
func (d *stalled) opened(t *testing.T) (p *journalled, s *Store, j *roomJournal) {
	t.Helper()
	n, err := cluster.New(cluster.Config{Store: d, Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	p = &journalled{t: t, game: halves.Dots(), strategy: relay.Strategy}
	if s, err = Open(p.clusterConfig(n, Always)); err != nil {
		t.Fatal(err)
	}
	if err := s.Open("main", &room.Config{Game: p.game, Strategy: relay.Strategy, Match: 2}); err != nil {
		t.Fatal(err)
	}
	return p, s, s.open["main"]
}

// muted is a store that adds entries, but does not reply while on is set.
type muted struct {
	cluster.Memory
	on atomic.Bool
}

func (s *muted) Append(ctx context.Context, room string, e *cluster.Entry) (at uint64, err error) {
	if at, err = s.Memory.Append(ctx, room, e); s.on.Load() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return at, err
}

func (s *muted) Last(ctx context.Context, room string) (e cluster.Entry, at uint64, err error) {
	if s.on.Load() {
		<-ctx.Done()
		return e, 0, ctx.Err()
	}
	return s.Memory.Last(ctx, room)
}

// CheckOwnership returns the number of owned rooms and the names of the claimed ones. If the reply to its entry is lost, later entries still follow
// that entry in the log.
func TestCheckOwnershipAppendsToEachLog(t *testing.T) {
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := &muted{}
			n, err := cluster.New(cluster.Config{Store: d, Lease: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			p := &journalled{t: t, game: halves.Dots(), strategy: relay.Strategy}
			s, err := Open(p.clusterConfig(n, Always))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"claimed", "main"} {
				if err := s.Open(name, &room.Config{Game: p.game, Strategy: relay.Strategy, Match: 2}); err != nil {
					t.Fatal(err)
				}
			}
			_, last, _ := d.Last(t.Context(), "claimed")
			if _, err := d.Memory.Append(t.Context(), "claimed", &cluster.Entry{Kind: cluster.KindClaim, Owner: "other", Number: 1, Before: last}); err != nil {
				t.Fatal(err)
			}
			check := func() (int, []string) {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				return s.CheckOwnership(ctx)
			}
			if owned, lost := check(); owned != 1 || !slices.Equal(lost, []string{"claimed"}) {
				t.Errorf("%d rooms are owned and %v are lost, want 1 and [claimed]", owned, lost)
			}
			d.on.Store(true)
			if owned, lost := check(); owned != 0 || len(lost) > 1 {
				t.Errorf("without a reply, %d rooms are owned and %v are lost, want 0 and at most [claimed]", owned, lost)
			}
			d.on.Store(false)
			if again {
				if owned, _ := check(); owned != 1 {
					t.Errorf("%d rooms are owned, want 1", owned)
				}
			}
			j := s.open["main"]
			f := ecs.Tick(1)
			if err := j.writer.Tick(record.Tick{Tick: f, Inputs: make([]ecs.InputBytes, p.game.MaxPlayers)}); err != nil {
				t.Fatal(err)
			}
			j.seated = true
			<-s.Keep("main", nil)
			data, err := cluster.ReadJournal(t.Context(), d, "main")
			if err != nil {
				t.Fatal(err)
			}
			r, err := record.Open(data, p.game)
			if err != nil || r.Torn() != nil {
				t.Fatalf("the journal of %d bytes: %v, %v", len(data), err, r.Torn())
			}
			if last := r.Last().Tick; last != f {
				t.Errorf("the journal ends with tick %d, want %d", last, f)
			}
			if err := s.Close(); err != nil && !errors.Is(err, cluster.ErrLost) {
				t.Error(err)
			}
		})
	}
}

// A room that another server has is lost, also if a write failed before.
func TestARoomIsLostAfterAFailedWrite(t *testing.T) {
	d := &stalled{resumed: make(chan struct{})}
	p, s, j := d.opened(t)
	d.stalls.Store(true)
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
	close(d.resumed)
	reported(Lost)
	if err := s.Close(); err != nil && !errors.Is(err, cluster.ErrLost) {
		t.Error(err)
	}
}

// With an interval, the ticks of an interval are appended together, and all of them are in the log when the match is kept.
func TestAnIntervalGroupsTicks(t *testing.T) {
	entries := func(sync Sync) (n int, ticks uint64) {
		synctest.Test(t, func(t *testing.T) {
			s := &shared{t: t}
			one, leave := s.join("one")
			time.Sleep(time.Minute) // it has its lease then
			p := clustered(t, one, sync)
			<-p.store.Keep("main", p.Room.World())
			for _, err := range s.store.Read(t.Context(), "main", 0, math.MaxUint64) {
				if n++; err != nil {
					t.Fatal(err)
				}
			}
			leave()
			two, leave := s.join("two")
			_, c, err := p.next(two)
			if err != nil || c.Resume == nil || c.Resume.World.Tick() != p.Room.Tick() {
				t.Fatalf("%v: %+v, want tick %d", err, c.Resume, p.Room.Tick())
			}
			leave()
			ticks = uint64(p.Room.Tick())
		})
		return n, ticks
	}
	each, ticks := entries(Always)
	grouped, _ := entries(Sync(100 * time.Millisecond))
	if uint64(each) < ticks || grouped > each/3 {
		t.Errorf("%d ticks have %d entries one by one, and %d with an interval of 6 ticks", ticks, each, grouped)
	}
}

// A server without the strategy of a match gives the room up at once, so that another one can continue it. A server that has it continues
// the match, also if its own rooms begin with another strategy.
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
	altered := relay.Strategy
	altered.Params = []byte{9}
	refuses := func(s *Store, c room.Config) {
		t.Helper()
		if err := s.Open("main", &c); !errors.Is(err, ErrStrategy) || !errors.Is(err, ErrOtherBuild) {
			t.Fatal(err)
		}
	}
	refuses(other, room.Config{Game: p.game, Strategy: lockstep.Strategy})
	refuses(other, room.Config{Game: p.game, Strategy: lockstep.Strategy, Strategies: []systems.Strategy{altered}})
	c.Strategy, c.Params = altered.Name, altered.Params
	own, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close() })
	refuses(own, room.Config{Game: p.game, Strategy: altered, Strategies: []systems.Strategy{relay.Strategy, lockstep.Strategy}})
	rc := room.Config{Game: p.game, Strategy: lockstep.Strategy, Strategies: []systems.Strategy{relay.Strategy}, Match: 2}
	if err := other.Open("main", &rc); err != nil || rc.Resume == nil {
		t.Fatalf("with the strategy of the match: %v, %+v", err, rc.Resume)
	}
	r, err := room.New(rc, 0)
	if err != nil || r.Strategy().Name != relay.Strategy.Name {
		t.Fatalf("the match goes on with %+v: %v", rc.Resume, err)
	}
	<-other.Keep("main", r.World())
	three, _ := s.join("three")
	if _, c, err := p.next(three); err != nil || c.Resume == nil {
		t.Errorf("%v: %+v", err, c.Resume)
	}
}

// A server that fails in a large append leaves a part of it. The next server begins the journal anew without that part.
func TestAPartOfAnAppendIsLeftOut(t *testing.T) {
	s := &shared{t: t}
	one, _ := s.join("one")
	p := clustered(t, one, Always)
	<-p.store.Keep("main", p.Room.World())
	dead, leave := s.join("dead")
	r, err := dead.Claim(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	var block []byte // of a tick
	for e := range s.store.Read(t.Context(), "main", 0, math.MaxUint64) {
		if e.Kind == cluster.KindData && e.From != math.MaxUint64 {
			block = e.Body
		}
	}
	if _, err = r.Recovered(t.Context()); err == nil {
		err = r.Append(t.Context(), block[:len(block)-1], false)
	}
	if err != nil {
		t.Fatal(err)
	}
	leave()
	for _, name := range []string{"two", "three"} {
		next, _ := s.join(name)
		k, c, err := p.next(next)
		for errors.As(err, new(*cluster.OwnedError)) { // until it has observed the end of the server
			k, c, err = p.next(next)
		}
		if err != nil || c.Resume == nil || c.Resume.World.Tick() != p.Room.Tick() {
			t.Fatalf("server %s does not continue the match: %v", name, err)
		}
		if j, err := record.Open(s.journal(), p.game); err != nil || j.Torn() != nil || j.Last().Tick != p.Room.Tick() {
			t.Errorf("the log has not the whole journal after server %s: %v", name, err)
		}
		<-k.Keep("main", c.Resume.World)
	}
	if n, e := p.count(Torn); n != 1 || e.Room != "main" || !errors.Is(e.Err, record.ErrTorn) {
		t.Errorf("reported %d times: %+v", n, e)
	}
}

// The release of a room has its last bytes. Those of a write that failed before are written first.
func TestTheReleaseHasTheLastBytes(t *testing.T) {
	for _, test := range []struct {
		name   string
		failed bool
		next   string
		kind   cluster.Kind
		bodies []string // of the last entries
	}{{"after good writes", false, "", cluster.KindRelease, []string{"yz"}}, {"after a failed write", true, "", cluster.KindRelease, []string{"x", "yz"}},
		{"moved", false, "next", cluster.KindMove, []string{"yz"}}, {"moved after a failed write", true, "next", cluster.KindMove, []string{"x", "yz"}}} {
		t.Run(test.name, func(t *testing.T) {
			d := &stalled{resumed: make(chan struct{})}
			_, s, j := d.opened(t)
			j.seated = true
			s.MoveTo("main", "other")
			s.MoveTo("main", test.next)
			write := func(text string) {
				if _, err := j.out.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			if test.failed {
				d.stalls.Store(true)
				if write("x"); j.drain() == nil {
					t.Fatal("a write without an answer succeeded")
				}
				d.stalls.Store(false)
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
				end := i == len(last)-1
				if got := string(last[i].Body); got != want || (last[i].Kind == test.kind) != end || end && last[i].Next != test.next {
					t.Errorf("entry %d from the end: kind %d, %q, want %q", len(last)-1-i, last[i].Kind, got, want)
				}
			}
			if err := s.Close(); err != nil && !errors.Is(err, cluster.ErrLost) {
				t.Error(err)
			}
		})
	}
}

// sightings is a number that depends on each place at which a player saw another one.
type sightings struct{ Sum, Late uint64 }

var seen = ecs.NewResource[sightings]("sightings")

// watched is a game in which each player shoots at all others in every tick. The state has the places that the players saw.
func watched() *ecs.Game {
	g := halves.Dots()
	g.Resources = append(g.Resources, ecs.Resources(seen)...)
	g.Systems = append(g.Systems, ecs.System{Name: "shoot", Run: func(w *ecs.World) {
		var targets []ecs.Entity
		for e := range halves.Steered.All(w) {
			targets = append(targets, e.Entity())
		}
		s := seen.Write(w)
		for p := range w.Players().All() {
			if _, late := w.Image().ViewOf(p); late {
				s.Late++
			}
			for _, e := range targets {
				if body, ok := halves.Bodies.Seen(w, p, e); ok {
					s.Sum = s.Sum*31 + uint64(body.Pos.X) + uint64(body.Pos.Y)<<16
				}
			}
		}
	}})
	return g
}

// checksum returns the checksum of a world.
func checksum(w *ecs.World) image.Checksum {
	var s image.Snapshot
	defer s.Release()
	w.Image().Save(&s)
	return s.Checksum()
}

// shooting begins a match of two players with a delay and lag compensation, whose journal is in a cluster.
func (s *shared) shooting() *journalled {
	return s.movable(watched(), predict.Strategy, Always)
}

// movable begins a match of two players with a delay. Its journal is in a cluster, and after a crash the match continues on another server.
func (s *shared) movable(g *ecs.Game, strategy systems.Strategy, sync Sync) *journalled {
	t := s.t
	p := &journalled{t: t, strategy: strategy}
	h, err := matchsim.New(matchsim.Config{Game: g, Strategy: p.strategy, Seed: 7, Journal: true, Room: func(c *room.Config) {
		p.game, c.HistoryKey = c.Game, make([]byte, 32)
		s.open(p, c, sync)
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.Match = h
	typical, _ := simnet.ByName("P3")
	h.Join(matchsim.Plan{Profile: typical})
	h.Join(matchsim.Plan{Profile: typical})
	return p
}

// open opens the room on a new server.
func (s *shared) open(p *journalled, c *room.Config, sync Sync) {
	if p.leave != nil {
		p.leave()
	}
	var n *cluster.Node
	n, p.leave = s.join(fmt.Sprintf("server %d", len(p.events.list)))
	var err error
	if p.store, err = Open(p.clusterConfig(n, sync)); err != nil {
		p.t.Fatal(err)
	}
	store := p.store
	p.t.Cleanup(func() { _ = store.Close() })
	for err = p.store.Open("main", c); errors.As(err, new(*cluster.OwnedError)); { // until it has observed that the other one left
		err = p.store.Open("main", c)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	blocking(p.store, "main", c)
}

// takeOver ends the server without notice and continues the match on another one. It returns an error if the state differs.
func (p *journalled) takeOver() error {
	p.t.Helper()
	tick, sum := p.Room.Tick(), checksum(p.Room.World())
	p.Crash(0)
	if err := p.Recover(); err != nil {
		return err
	}
	if w := p.Room.World(); w.Tick() != tick || checksum(w) != sum {
		return fmt.Errorf("the next server has tick %d with %016x, not %d with %016x", w.Tick(), checksum(w), tick, sum)
	}
	return nil
}

// Players with a delay shoot at older states than the newest one in the journal. The next server computes the same hits, and so does
// each server after it.
func TestTheNextServerSeesWhatPlayersSaw(t *testing.T) {
	p := (&shared{t: t}).shooting()
	p.Run(70 * time.Second)
	late := seen.Read(p.Room.World()).Late
	if late < uint64(p.Room.Tick()) {
		t.Fatalf("%d views of %d ticks are late: the test proves nothing", late, p.Room.Tick())
	}
	for i, more := range []time.Duration{time.Second, 21 * time.Second, 300 * time.Millisecond, 16 * time.Second} {
		p.Run(more)
		if err := p.takeOver(); err != nil {
			t.Fatalf("takeover %d: %v", i+1, err)
		}
	}
	p.Run(20 * time.Second)
	if again := seen.Read(p.Room.World()).Late; again < late+1000 {
		t.Errorf("%d late views after the takeovers, %d before", again, late)
	}
	if err := p.Err(); err != nil {
		t.Error(err)
	}
}

// After a server has crashed, its clients return the ticks that it confirmed and did not store, with proofs. The next server continues the
// match after these ticks.
func TestClientsReturnTicksToTheNextServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shared{t: t}
		p := s.movable(halves.Dots(), relay.Strategy, Sync(time.Second))
		time.Sleep(2 * time.Minute) // the server has its lease then
		p.Run(7 * time.Second)
		stored, confirmed := s.stored(), p.confirmed()
		for i := 0; confirmed < stored+20 && i < 20; stored, confirmed, i = s.stored(), p.confirmed(), i+1 {
			p.Run(100 * time.Millisecond)
			synctest.Wait()
		}
		p.Crash(int(p.Room.Tick() - stored)) // the journal of the simulation has one write per tick
		if err := p.Recover(); err != nil {
			t.Fatal(err)
		}
		if at := p.Room.Tick(); at != stored || confirmed < stored+20 {
			t.Errorf("the next server reads up to tick %d, want %d; tick %d was confirmed", at, stored, confirmed)
		}
		time.Sleep(2 * time.Minute) // the lease of the previous server is over then
		p.Run(room.ResumeWait + 5*time.Second)
		if n := p.Room.Stats().Adopted; n < uint64(confirmed-stored) || p.Room.Tick() < confirmed+120 {
			t.Errorf("%d ticks were returned, want those from %d to %d; the match is at tick %d", n, stored+1, confirmed, p.Room.Tick())
		}
		if err := p.Err(); err != nil {
			t.Error(err)
		}
		p.leave()
	})
}

// stored returns the last tick in the log.
func (s *shared) stored() ecs.Tick {
	r, err := record.Open(s.journal(), halves.Dots())
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Last().Tick
}

// late is a match whose players look back, and the journal of its room. It has no clients.
type late struct {
	t     *testing.T
	world *ecs.World
	past  *rollback.Snapshots
	j     *roomJournal
	sums  []image.Checksum // index = tick
	last  ecs.Tick         // a crash of the server up to now would lose the ticks after it
}

// late begins a match whose journal has this configuration.
func (p *journalled) late(c Config) *late {
	p.t.Helper()
	s, err := Open(c)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = s.Close() })
	if err = s.Open("main", &room.Config{Game: p.game, Strategy: p.strategy, Match: 2, Seed: 3}); err != nil {
		p.t.Fatal(err)
	}
	l := &late{t: p.t, past: rollback.NewSnapshots(64), j: s.open["main"]}
	if l.world, err = ecs.NewWorld(p.game, 3); err != nil {
		p.t.Fatal(err)
	}
	l.world.Image().SetPast(l.past.At)
	l.save()
	return l
}

func (l *late) save() { l.sums = append(l.sums, l.past.Save(l.world).Checksum()) }

// tick plays a tick in which player 1 looks back, 0 for not at all, and passes it to the journal.
func (l *late) tick(back ecs.Tick) {
	t := rollback.FinalTick{Tick: l.world.Tick() + 1, Inputs: make([]ecs.InputBytes, 8)}
	for p := range ecs.Player(2) {
		t.Inputs[p] = halves.PadInput.Pack(halves.Zigzag(int(p), int(t.Tick)))
		if t.Tick == 1 {
			t.Orders = append(t.Orders, image.Order{Kind: image.OrderJoin, Player: p})
		}
	}
	if back > 0 {
		t.Orders = append(t.Orders, image.Order{Kind: image.OrderView, Player: 1, Payload: image.AppendViewStamp(nil, image.ViewStamp{Tick: t.Tick - back})})
	}
	l.world.Step(ecs.TickInputs{Players: t.Inputs, Orders: t.Orders})
	l.save()
	l.j.tick(systems.FinalTick{FinalTick: t, World: l.world})
}

// write writes the journal, with a call of crashed after each write.
func (l *late) write(crashed func()) {
	l.t.Helper()
	_ = l.j.writer.Flush()
	for accepted, durable, _ := l.j.out.state(); durable < accepted; _, durable, _ = l.j.out.state() {
		if err := l.j.drain(); err != nil {
			l.t.Fatal(err)
		}
		crashed()
	}
}

// leads checks that a journal leads to the state of the match at its last tick, and that it ends at the last tick that was written.
func (l *late) leads(data []byte) *record.Record {
	l.t.Helper()
	r, err := record.Open(data, l.world.Game())
	if err != nil || r.Torn() != nil {
		l.t.Fatal(err, r.Torn())
	}
	w, err := r.WorldAt(r.Last().Tick)
	if err != nil || checksum(w) != l.sums[w.Tick()] {
		l.t.Fatalf("in tick %d, a server cannot replay the ticks from %d to %d: %v", l.world.Tick(), r.Start(), r.Last().Tick, err)
	}
	if r.Last().Tick < l.last {
		l.t.Fatalf("the journal ends at tick %d, it ended at tick %d before", r.Last().Tick, l.last)
	}
	l.last = r.Last().Tick
	return r
}

// journal returns the journal that the next server of the cluster would read.
func (s *shared) journal() []byte {
	s.t.Helper()
	data, err := cluster.ReadJournal(s.t.Context(), &s.store, "main")
	if err != nil {
		s.t.Fatal(err)
	}
	return data
}

// lengthening looks back farther in some ticks directly after a journal began anew: in tick 300, and then in each of these ticks.
func lengthening(f ecs.Tick) ecs.Tick {
	switch {
	case f < 20 || f%4 == 0:
		return 0
	case f > 600:
		return 40
	case f > 300:
		return 8 + min(f-301, 10)*3
	}
	return 6
}

// A player with a longer line enters directly after the journal began anew. After each write to the log, the next server can replay
// the match to the tick at which the log ends.
func TestEachWriteToTheLogLeavesAMatchThatCanBeReplayed(t *testing.T) {
	for _, settled := range []bool{true, false} {
		s := &shared{t: t}
		one, _ := s.join("one")
		p := &journalled{t: t, game: watched(), strategy: predict.Strategy}
		c := p.clusterConfig(one, Always)
		c.Settled = func(string) bool { return settled }
		l := p.late(c)
		restarts, start := 0, ecs.Tick(0)
		for range 650 {
			l.tick(lengthening(l.world.Tick() + 1))
			l.write(func() {
				if r := l.leads(s.journal()); r.Start() != start {
					restarts, start = restarts+1, r.Start()
				}
			})
			if l.last != l.world.Tick() {
				t.Fatalf("after tick %d was written, the log ends with tick %d", l.world.Tick(), l.last)
			}
		}
		if want := map[bool]int{true: 11}[settled]; restarts != want {
			t.Errorf("the results are stored: %v; the journal began anew %d times, want %d", settled, restarts, want)
		}
	}
}

// The images of a journal in a file have the past, too. A recovery begins with the newest one.
func TestARecoveryBeginsWithTheNewestImageAndItsPast(t *testing.T) {
	p := &journalled{t: t, dir: t.TempDir(), game: watched(), strategy: predict.Strategy}
	l := p.late(p.config(Always))
	for range 40 * 60 {
		l.tick(12)
		l.write(func() {})
	}
	r := l.leads(contents(t, only(t, p.dir)))
	images, states := r.Images(), 0
	if err := r.LoadPast(l.world, images[len(images)-1], func() { states++ }); err != nil || len(images) != 1 || images[0] != 30*60 || states != 12 {
		t.Errorf("images of %v, the newest with %d states before it: %v", images, states, err)
	}
}
