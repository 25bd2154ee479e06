package journals

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim"
	"tendon/net/matchtest"
	"tendon/net/room"
	"tendon/rollback/journal"
	"tendon/systems"
	"tendon/systems/relay"
)

// newsroom collects what a keeper tells.
type newsroom struct {
	mu   sync.Mutex
	news []News
}

func (r *newsroom) told(n News) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.news = append(r.news, n)
}

// count returns how often something was told, and the last of it.
func (r *newsroom) count(k Kind) (times int, last News) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.news {
		if n.Kind == k {
			times, last = times+1, n
		}
	}
	return times, last
}

// played is a match of two bots in virtual time, journalled in a directory of its own.
type played struct {
	*matchsim.Match
	newsroom
	t      *testing.T
	dir    string
	disk   *smallDisk
	game   *ecs.Game
	keeper *Keeper
}

// play begins a match that is journalled in that way.
func play(t *testing.T, s Sync) *played {
	t.Helper()
	p := &played{t: t, dir: t.TempDir(), disk: bigDisk()}
	h, err := matchsim.New(matchsim.Config{Game: matchtest.Dots(), Strategy: relay.Strategy, Seed: 7, Room: func(c *room.Config) {
		p.game = c.Game
		var err error
		if p.keeper, err = openOn(p.config(s), p.disk); err == nil {
			err = p.keeper.Open("main", c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.keeper.Close() })
	p.Match = h
	h.Join(matchsim.Plan{})
	h.Join(matchsim.Plan{})
	h.Run(2 * time.Second)
	return p
}

func (p *played) config(s Sync) Config {
	return Config{Dir: p.dir, Game: p.game, Build: "this build", Strategy: relay.Strategy.Name, Params: relay.Strategy.Params, Sync: s, Told: p.told}
}

// confirmed returns the last tick that any client holds as final.
func (p *played) confirmed() (last ecs.Tick) {
	for _, c := range p.Clients {
		last = max(last, c.Core.Stats().Strategy.Confirmed)
	}
	return last
}

// read returns the match's journal up to a byte of its file; −1: to the end.
func (p *played) read(to int64) *journal.Journal {
	p.t.Helper()
	data := contents(p.t, only(p.t, p.dir))
	if to >= 0 {
		data = data[:to]
	}
	j, err := journal.Open(data, p.game, "this build")
	if err != nil {
		p.t.Fatal(err)
	}
	return j
}

// A full disk is no reason to lose a match, nor to let anybody see what a kill would take back.
func TestAMatchWaitsWhileItsDiskIsFullAndGoesOnWhenThereIsRoom(t *testing.T) {
	for _, s := range []Sync{Always, Never} {
		p := play(t, s)
		before := p.confirmed()
		p.disk.set(37) // in the middle of a block
		p.Run(3 * time.Second)
		full := p.Room.Tick()
		if c := p.confirmed(); c >= full || c > p.read(-1).Last().Tick {
			t.Errorf("%v: tick %d is confirmed, the room computed %d, and the journal holds %d", s, c, full, p.read(-1).Last().Tick)
		}
		if full > before+60 {
			t.Errorf("%v: the room went on to tick %d with a full disk, from %d", s, full, before)
		}
		if n, news := p.count(Failed); n != 1 || !errors.Is(news.Err, syscall.ENOSPC) || news.Room != "main" {
			t.Errorf("%v: told %d times: %+v", s, n, news)
		}
		p.disk.set(-1)
		p.Run(6 * time.Second) // clients take a few to find the server's pace again
		if n, _ := p.count(Mended); n != 1 || p.confirmed() < full+150 {
			t.Errorf("%v: told %d times that it goes on; tick %d is confirmed, the disk was full at %d", s, n, p.confirmed(), full)
		}
		if err := p.Err(); err != nil {
			t.Error(err)
		}
		if p.Clients[0].Checked < 200 {
			t.Errorf("%v: %d states were compared, which proves nothing", s, p.Clients[0].Checked)
		}
		p.keeper.End("main")
		j := p.read(-1)
		if j.Torn() != nil || j.Last().Tick != p.Room.Tick() {
			t.Errorf("%v: the journal ends at %d (%v), the match at %d", s, j.Last().Tick, j.Torn(), p.Room.Tick())
		}
		if _, err := j.World(); err != nil {
			t.Error(err)
		}
	}
}

// That is what always is for: what the disk holds for certain is looked at after every tick.
func TestWithAlwaysNoTickIsConfirmedThatAPowerCutWouldTake(t *testing.T) {
	p := play(t, Always)
	path := only(t, p.dir)
	for range 120 {
		p.Run(time.Second / 60)
		if c, last := p.confirmed(), p.read(p.disk.synced[path]).Last().Tick; c > last {
			t.Fatalf("tick %d is confirmed and the disk holds %d", c, last)
		}
	}
	if p.confirmed() < 200 {
		t.Errorf("%d ticks are confirmed, which proves nothing", p.confirmed())
	}
}

// After a sync that failed the next one would succeed, whatever became of the bytes.
func TestNothingIsConfirmedAfterASyncThatFailed(t *testing.T) {
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
		t.Errorf("the match went on from tick %d to %d", before, p.confirmed())
	}
	if n, news := p.count(Broken); n != 1 || !errors.Is(news.Err, syscall.EIO) {
		t.Errorf("told %d times: %+v", n, news)
	}
}

// The same for a sync that nobody waits for.
func TestALateSyncThatFailsStopsTheMatchToo(t *testing.T) {
	p := play(t, Never)
	j := p.keeper.open["main"]
	p.disk.broken = syscall.EIO
	j.sync()
	p.disk.broken = nil
	before := p.confirmed()
	p.Run(2 * time.Second)
	if n, _ := p.count(Broken); n != 1 || p.confirmed() > before+20 {
		t.Errorf("told %d times; the match went on from tick %d to %d", n, before, p.confirmed())
	}
}

// What was written before a sync begins is safe after it, and what was not written since costs none.
func TestASyncTakesWhatWasWrittenAndRestsWhenNothingWas(t *testing.T) {
	p := play(t, Never)
	j, path := p.keeper.open["main"], only(t, p.dir)
	headers := p.disk.syncs
	j.sync()
	if last := p.read(p.disk.synced[path]).Last().Tick; last != p.Room.Tick() {
		t.Errorf("the disk holds tick %d of %d", last, p.Room.Tick())
	}
	j.sync()
	if got := p.disk.syncs - headers; got != 1 {
		t.Errorf("%d syncs, want 1", got)
	}
}

// A long match must be back at once, so a replay begins half a minute before its end at most; and it must be proven on
// the way.
func TestAJournalHasImagesAndChecksums(t *testing.T) {
	p := play(t, Never)
	p.Run((journal.ImageSeconds + 5) * time.Second)
	data := contents(t, only(t, p.dir))
	before := len(data)
	if p.read(-1).Last().Tick < 60*journal.ImageSeconds || p.keeper.open["main"].writer.ImageDue() {
		t.Fatalf("no image in the journal of %d ticks", p.read(-1).Last().Tick)
	}
	// A replay that began at the start would not see that the world that is set up is another one.
	for i := range p.game.Systems {
		p.game.Systems[i].Run = func(*ecs.World) {}
	}
	if _, err := p.read(int64(before)).World(); !errors.Is(err, journal.ErrDiverged) {
		t.Errorf("a replay by other rules: %v", err)
	}
}

// A kill leaves the file as it is, and a match is brought back with its seats, its past and its chain.
func TestAMatchThatWasNotEndedIsBroughtBack(t *testing.T) {
	p := play(t, Never)
	want := p.read(-1)
	if err := p.keeper.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a server that is killed again before anybody came back
		k, err := Open(p.config(Never))
		if err != nil {
			t.Fatal(err)
		}
		p.keeper = k
		if f := k.Found(); len(f) != 1 || f[0].Room != "main" || f[0].Tick != p.Room.Tick() {
			t.Fatalf("%+v, want tick %d of room main", f, p.Room.Tick())
		}
		left := k.Left()
		if len(left) != 1 || left[0].Journal.Last().Tick != p.Room.Tick() || left[0].File != k.Found()[0].File || left[0].Ended != endedPath(left[0].File) {
			t.Fatalf("%+v", left)
		}
		if info, err := os.Stat(left[0].File); err != nil || !info.ModTime().Equal(left[0].Written) {
			t.Fatal(err, left[0].Written)
		}
		other := room.Config{Game: p.game, Strategy: relay.Strategy, Seed: 1, Match: 2}
		if err := k.Open("other", &other); err != nil || other.Resume != nil || other.Match != 2 {
			t.Fatalf("another room: %v, %+v", err, other)
		}
		k.End("other")
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}
	k, err := Open(p.config(Never))
	if err != nil {
		t.Fatal(err)
	}
	p.keeper = k
	c := room.Config{Game: p.game, Strategy: relay.Strategy, Seed: 1, Match: 2}
	if err := k.Open("main", &c); err != nil {
		t.Fatal(err)
	}
	if left := k.Left(); len(left) > 0 {
		t.Errorf("somebody has come back to %+v", left)
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
	if err := k.Open("main", &c); err == nil {
		t.Error("the room was opened twice")
	}
	path := k.open["main"].path
	size := len(contents(t, path))
	c.Sinks[0].Tick(systems.FinalTick{Tick: p.Room.Tick() + 1})
	if err := c.Sinks[0].Commit(); err != nil {
		t.Fatal(err)
	}
	k.End("main")
	data := contents(t, endedPath(path))
	if j, err := journal.Open(data, p.game, "this build"); err != nil || j.Last().Tick != p.Room.Tick()+1 || len(data) <= size {
		t.Errorf("what was added is not there: %v", err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if p.keeper, err = Open(p.config(Never)); err != nil || len(p.keeper.Found()) > 0 {
		t.Errorf("a match that is over was brought back: %v, %+v", err, p.keeper.Found())
	}
}

// The sinks that a room has already stay.
func TestAJournalIsNotTheOnlySink(t *testing.T) {
	k, err := Open(Config{Dir: t.TempDir(), Game: matchtest.Dots(), Sync: Never})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	taken, seated := 0, 0
	c := room.Config{Sinks: []room.Sink{{Tick: func(systems.FinalTick) { taken++ }, Seat: func(int, room.Seat) { seated++ }}}}
	if err := k.Open("main", &c); err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Sinks {
		s.Tick(systems.FinalTick{Tick: 1})
		s.Seat(0, room.Seat{Held: true, Client: 3, Name: "Ada"})
	}
	if err := c.Sinks[1].Commit(); err != nil || taken != 1 || seated != 1 || k.open["main"].writer.Last() != 1 {
		t.Errorf("%v, %d, %d", err, taken, seated)
	}
}

// A tick that has no code cannot be brought back, so nobody may hear of it.
func TestATickThatCannotBeJournalledStopsTheMatch(t *testing.T) {
	var r newsroom
	k, err := Open(Config{Dir: t.TempDir(), Game: matchtest.Dots(), Sync: Never, Told: r.told})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	var c room.Config
	if err := k.Open("main", &c); err != nil {
		t.Fatal(err)
	}
	c.Sinks[0].Tick(systems.FinalTick{Tick: 1, Orders: []image.Order{{Kind: 200}}})
	for range 2 {
		if err := c.Sinks[0].Commit(); !errors.Is(err, journal.ErrTick) {
			t.Errorf("%v", err)
		}
	}
	if n, _ := r.count(Broken); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// Sixty times a second for every room.
func TestAJournalledTickAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	k, c := benchRoom(t, Never)
	defer k.Close()
	f := systems.FinalTick{Inputs: make([]ecs.InputBytes, 4)}
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

func benchRoom(t testing.TB, s Sync) (*Keeper, *room.Config) {
	t.Helper()
	k, err := Open(Config{Dir: t.TempDir(), Game: matchtest.Dots(), Sync: s})
	if err != nil {
		t.Fatal(err)
	}
	c := &room.Config{Match: 1}
	if err := k.Open("main", c); err != nil {
		t.Fatal(err)
	}
	return k, c
}

// What a room pays per second of play: sixty ticks of four players who change their input in every other one, each
// written to a real file before the next. syncs are not counted, but for always.
func BenchmarkJournal(b *testing.B) {
	for _, s := range []Sync{Never, Sync(100 * time.Millisecond), Always} {
		b.Run("fsync="+s.String(), func(b *testing.B) {
			k, c := benchRoom(b, s)
			defer k.Close()
			f := systems.FinalTick{Inputs: make([]ecs.InputBytes, 4)}
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
