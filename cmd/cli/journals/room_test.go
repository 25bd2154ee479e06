package journals

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/rollback"
	"tendon/rollback/record"
	"tendon/systems"
	"tendon/systems/relay"
)

// events collects the events of a store.
type events struct {
	mu   sync.Mutex
	list []Event
}

func (l *events) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e)
}

// count returns the number of events of a kind, and the last one.
func (l *events) count(k Kind) (times int, last Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.list {
		if e.Kind == k {
			times, last = times+1, e
		}
	}
	return times, last
}

// journalled is a match of two bots in virtual time, with a journal in a directory of its own.
type journalled struct {
	*matchsim.Match
	events
	t     *testing.T
	dir   string
	disk  *smallDisk
	game  *ecs.Game
	store *Store

	strategy systems.Strategy
	leave    context.CancelFunc // ends the announcements of the server of the cluster
	digests  map[ecs.Tick]record.Digest
}

// play begins a match whose journal is synced in that way.
func play(t *testing.T, s Sync) *journalled {
	t.Helper()
	p := &journalled{t: t, dir: t.TempDir(), disk: bigDisk(), strategy: relay.Strategy}
	h, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: p.strategy, Seed: 7, Room: func(c *room.Config) {
		p.game = c.Game
		var err error
		config := p.config(s)
		config.Disk = p.disk.open
		if p.store, err = Open(config); err == nil {
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
	h.Run(2 * time.Second)
	return p
}

func (p *journalled) config(s Sync) Config {
	return Config{Dir: p.dir, Game: p.game, Build: "this build", Strategy: p.strategy.Name, Params: p.strategy.Params, Sync: s, Report: p.add}
}

// confirmed returns the last tick that is confirmed on any client.
func (p *journalled) confirmed() (last ecs.Tick) {
	for _, c := range p.Clients {
		last = max(last, c.Core.Stats().Strategy.Confirmed)
	}
	return last
}

// read returns the match's journal up to a byte of its file; −1: to the end.
func (p *journalled) read(to int64) *record.Record {
	p.t.Helper()
	data := contents(p.t, only(p.t, p.dir))
	if to >= 0 {
		data = data[:to]
	}
	j, err := record.Open(data, p.game)
	if err != nil {
		p.t.Fatal(err)
	}
	return j
}

// A full disk ends no match, and no client receives a tick as confirmed that a kill would lose.
func TestAMatchWaitsWhileItsDiskIsFullAndContinuesWhenThereIsRoom(t *testing.T) {
	for _, s := range []Sync{Always, Never} {
		p := play(t, s)
		before := p.confirmed()
		p.disk.set(37) // in the middle of a block
		p.Run(3 * time.Second)
		full := p.Room.Tick()
		if c := p.confirmed(); c >= full || c > p.read(-1).Last().Tick {
			t.Errorf("%v: tick %d is confirmed, the room computed %d, and the journal ends at %d", s, c, full, p.read(-1).Last().Tick)
		}
		if full > before+60 {
			t.Errorf("%v: the room continued to tick %d with a full disk, from %d", s, full, before)
		}
		if n, e := p.count(Failed); n != 1 || !errors.Is(e.Err, syscall.ENOSPC) || e.Room != "main" || !strings.Contains(e.Err.Error(), "free at least 1 MiB on the disk of "+p.dir) {
			t.Errorf("%v: reported %d times: %+v", s, n, e)
		}
		p.disk.set(-1)
		p.Run(6 * time.Second) // clients need some to adapt to the server's clock again
		if n, _ := p.count(Recovered); n != 1 || p.confirmed() < full+150 {
			t.Errorf("%v: reported %d times that it continues; tick %d is confirmed, the disk was full at %d", s, n, p.confirmed(), full)
		}
		if err := p.Err(); err != nil {
			t.Error(err)
		}
		if p.Clients[0].Checked < 200 {
			t.Errorf("%v: %d states were compared, which proves nothing", s, p.Clients[0].Checked)
		}
		<-p.store.End("main", nil)
		j := p.read(-1)
		if j.Torn() != nil || j.Last().Tick != p.Room.Tick() {
			t.Errorf("%v: the journal ends at %d (%v), the match at %d", s, j.Last().Tick, j.Torn(), p.Room.Tick())
		}
		if _, err := j.WorldAt(j.Last().Tick); err != nil {
			t.Error(err)
		}
	}
}

func TestWithAlwaysNoTickIsConfirmedThatAPowerCutWouldLose(t *testing.T) {
	p := play(t, Always)
	path := only(t, p.dir)
	for range 120 {
		p.Run(time.Second / 60)
		if c, last := p.confirmed(), p.read(p.disk.synced[path]).Last().Tick; c > last {
			t.Fatalf("tick %d is confirmed and the disk has %d", c, last)
		}
	}
	if p.confirmed() < 200 {
		t.Errorf("%d ticks are confirmed, which proves nothing", p.confirmed())
	}
}

// After a sync that failed the next one may succeed even if the bytes are lost.
func TestNoTickIsConfirmedAfterASyncThatFailed(t *testing.T) {
	p := play(t, Always)
	p.disk.mu.Lock()
	p.disk.broken = syscall.EIO
	p.disk.mu.Unlock()
	p.Run(time.Second)
	before := p.confirmed()
	p.disk.mu.Lock()
	p.disk.broken = nil
	p.disk.mu.Unlock()
	p.Run(2 * time.Second)
	if p.confirmed() != before {
		t.Errorf("the match continued from tick %d to %d", before, p.confirmed())
	}
	if n, e := p.count(Broken); n != 1 || !errors.Is(e.Err, syscall.EIO) {
		t.Errorf("reported %d times: %+v", n, e)
	}
}

// The same holds for a sync for which no tick waits.
func TestALateSyncThatFailsStopsTheMatchToo(t *testing.T) {
	p := play(t, Never)
	j := p.store.open["main"]
	p.disk.broken = syscall.EIO
	j.sync()
	p.disk.broken = nil
	before := p.confirmed()
	p.Run(2 * time.Second)
	if n, _ := p.count(Broken); n != 1 || p.confirmed() > before+20 {
		t.Errorf("reported %d times; the match continued from tick %d to %d", n, before, p.confirmed())
	}
}

// Bytes that were written before a sync begins are safe after it. Without new bytes there is no sync.
func TestASyncMakesWrittenBytesDurableOnce(t *testing.T) {
	p := play(t, Never)
	j, path := p.store.open["main"], only(t, p.dir)
	headers := p.disk.syncs
	j.sync()
	if last := p.read(p.disk.synced[path]).Last().Tick; last != p.Room.Tick() {
		t.Errorf("the disk has tick %d of %d", last, p.Room.Tick())
	}
	j.sync()
	if got := p.disk.syncs - headers; got != 1 {
		t.Errorf("%d syncs, want 1", got)
	}
}

// A long match must be recovered fast, so a recovery simulates half a minute at most, and compares checksums on the way.
func TestAJournalHasImagesAndChecksums(t *testing.T) {
	p := play(t, Never)
	p.Run((record.JournalImages + 5) * time.Second)
	data := contents(t, only(t, p.dir))
	before := len(data)
	if p.read(-1).Last().Tick < 60*record.JournalImages || p.store.open["main"].writer.ImageDue(record.JournalImages) {
		t.Fatalf("no image in the journal of %d ticks", p.read(-1).Last().Tick)
	}
	// Rules that do nothing show that the recovery begins at an image, and that it compares checksums.
	for i := range p.game.Systems {
		p.game.Systems[i].Run = func(*ecs.World) {}
	}
	j := p.read(int64(before))
	if _, err := j.WorldAt(j.Last().Tick); !errors.Is(err, record.ErrDiverged) {
		t.Errorf("a recovery with other rules: %v", err)
	}
}

// A kill leaves the file as it is. The match is recovered with its seats, its past and its hash chain.
func TestAMatchThatWasNotEndedIsRecovered(t *testing.T) {
	p := play(t, Never)
	want := p.read(-1)
	if err := p.store.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a server that is killed again before a player came back
		k, err := Open(p.config(Never))
		if err != nil {
			t.Fatal(err)
		}
		p.store = k
		waiting := k.Waiting()
		if len(waiting) != 1 || waiting[0].Journal.Header().Room != "main" || waiting[0].Journal.Last().Tick != p.Room.Tick() || waiting[0].Ended != endedPath(waiting[0].File) {
			t.Fatalf("%+v, want tick %d of room main", waiting, p.Room.Tick())
		}
		if info, err := os.Stat(waiting[0].File); err != nil || !info.ModTime().Equal(waiting[0].Written) {
			t.Fatal(err, waiting[0].Written)
		}
		second := room.Config{Game: p.game, Strategy: relay.Strategy, Seed: 1, Match: 2}
		if err := k.Open("second", &second); err != nil || second.Resume != nil || second.Match != 2 {
			t.Fatalf("another room: %v, %+v", err, second)
		}
		<-k.End("second", nil)
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}
	k, err := Open(p.config(Never))
	if err != nil {
		t.Fatal(err)
	}
	p.store = k
	c := room.Config{Game: p.game, Strategy: relay.Strategy, Seed: 1, Match: 2}
	if err := k.Open("main", &c); err != nil {
		t.Fatal(err)
	}
	if waiting := k.Waiting(); len(waiting) > 0 {
		t.Errorf("the room is open, and %+v waits", waiting)
	}
	h := want.Header()
	if c.Resume == nil || c.Match != h.Match || c.Seed != h.Seed || c.Resume.Chain != want.Last().Chain || c.Resume.World.Tick() != p.Room.Tick() {
		t.Fatalf("%+v", c)
	}
	if s := c.Resume.Seats; len(s) != 2 || !s[0].Held || s[0].Client == 0 || !s[1].Held || s[1].Client == s[0].Client {
		t.Errorf("seats: %+v", s)
	}
	next := ecs.Tick(1)
	for f := range c.Resume.Past {
		if f.Tick != next {
			t.Fatalf("tick %d where %d should be", f.Tick, next)
		}
		next++
	}
	if next != p.Room.Tick()+1 {
		t.Errorf("the past ends before tick %d", next)
	}
	if k.limit = 0; k.Open("main", &c) == nil {
		t.Error("the room was opened twice")
	}
	path := k.open["main"].path
	size := len(contents(t, path))
	blocking(k, "main", &c)
	c.Sinks[0].Tick(systems.FinalTick{FinalTick: rollback.FinalTick{Tick: p.Room.Tick() + 1}})
	if err := c.Sinks[0].Commit(); err != nil {
		t.Fatal(err)
	}
	<-k.End("main", nil)
	data := contents(t, endedPath(path))
	if j, err := record.Open(data, p.game); err != nil || j.Last().Tick != p.Room.Tick()+1 || len(data) <= size {
		t.Errorf("the tick that was added is missing: %v", err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if p.store, err = Open(p.config(Never)); err != nil || len(p.store.Waiting()) > 0 {
		t.Errorf("a match that is over was recovered: %v, %+v", err, p.store.Waiting())
	}
}

// The sinks that a room has already stay.
func TestAJournalIsNotTheOnlySink(t *testing.T) {
	k, err := Open(Config{Dir: t.TempDir(), Game: halves.Dots(), Sync: Never})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	ticks, seats := 0, 0
	c := room.Config{Sinks: []room.Sink{{Tick: func(systems.FinalTick) { ticks++ }, Seat: func(record.Seat) { seats++ }}}}
	if err := k.Open("main", &c); err != nil {
		t.Fatal(err)
	}
	blocking(k, "main", &c)
	for _, s := range c.Sinks {
		s.Tick(systems.FinalTick{FinalTick: rollback.FinalTick{Tick: 1}})
		s.Seat(record.Seat{Held: true, Client: 3, Name: "Ada"})
	}
	if err := c.Sinks[1].Commit(); err != nil || ticks != 1 || seats != 1 || k.open["main"].writer.Last() != 1 {
		t.Errorf("%v, %d, %d", err, ticks, seats)
	}
}

// A tick that has no code cannot be recovered, so no client may receive it.
func TestATickThatCannotBeJournalledStopsTheMatch(t *testing.T) {
	var l events
	k, err := Open(Config{Dir: t.TempDir(), Game: halves.Dots(), Sync: Never, Report: l.add})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	var c room.Config
	if err := k.Open("main", &c); err != nil {
		t.Fatal(err)
	}
	c.Sinks[0].Tick(systems.FinalTick{FinalTick: rollback.FinalTick{Tick: 1, Orders: []image.Order{{Kind: 200}}}})
	for range 2 {
		if err := c.Sinks[0].Commit(); !errors.Is(err, record.ErrUse) {
			t.Errorf("%v", err)
		}
	}
	if n, _ := l.count(Broken); n != 1 {
		t.Errorf("reported %d times", n)
	}
}

func TestAJournalledTickAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	k, c := benchRoom(t, Never)
	defer k.Close()
	blocking(k, "main", c)
	f := systems.FinalTick{FinalTick: rollback.FinalTick{Inputs: make([]ecs.InputBytes, 4)}}
	tick := func() {
		f.Tick++
		f.Inputs[f.Tick%4][0] = byte(f.Tick)
		c.Sinks[0].Tick(f)
		if err := c.Sinks[0].Commit(); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		tick()
	}
	if n := testing.AllocsPerRun(500, tick); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func benchRoom(t testing.TB, s Sync) (*Store, *room.Config) {
	t.Helper()
	k, err := Open(Config{Dir: t.TempDir(), Game: halves.Dots(), Sync: s})
	if err != nil {
		t.Fatal(err)
	}
	c := &room.Config{Match: 1}
	if err := k.Open("main", c); err != nil {
		t.Fatal(err)
	}
	return k, c
}

// A second of a room: sixty ticks of four players with a new input in every other one, each committed to a real file before the
// next. The waits for the goroutine that writes count, and syncs for always.
func BenchmarkJournal(b *testing.B) {
	for _, s := range []Sync{Never, Sync(100 * time.Millisecond), Always} {
		b.Run("fsync="+s.String(), func(b *testing.B) {
			k, c := benchRoom(b, s)
			defer k.Close()
			blocking(k, "main", c)
			f := systems.FinalTick{FinalTick: rollback.FinalTick{Inputs: make([]ecs.InputBytes, 4)}}
			start := k.open["main"].path
			before := size(b, start)
			b.ReportAllocs()
			for b.Loop() {
				for range 60 {
					f.Tick++
					for p := range f.Inputs {
						if (int(f.Tick)+p)%2 == 0 {
							f.Inputs[p][0]++
						}
					}
					c.Sinks[0].Tick(f)
					if err := c.Sinks[0].Commit(); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(size(b, start)-before)/float64(b.N), "file-B/room-s")
		})
	}
}

func size(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
