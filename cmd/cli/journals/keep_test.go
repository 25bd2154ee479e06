package journals

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/systems"
	"tendon/systems/relay"
)

// kept returns a match that was stopped for the next process.
func kept(t *testing.T) *journalled {
	t.Helper()
	p := play(t, Never)
	p.Run(3 * time.Second)
	<-p.store.Keep("main", p.Room.World())
	if err := p.store.Close(); err != nil {
		t.Fatal(err)
	}
	c := p.config(Never)
	c.Dir = t.TempDir()
	var err error
	if p.store, err = Open(c); err != nil { // play closes it
		t.Fatal(err)
	}
	return p
}

// reopen opens the directory as another process does.
func (p *journalled) reopen(change func(*Config)) error {
	c := p.config(Never)
	change(&c)
	before := p.store
	if c.Dir == before.config.Dir {
		if err := before.Close(); err != nil {
			return err
		}
	}
	k, err := Open(c)
	if err == nil {
		p.store = k
	}
	return err
}

// The journal of a kept match ends with the state of its last tick, so its recovery simulates no tick, and has no end mark.
func TestAKeptMatchIsRecoveredFromItsLastState(t *testing.T) {
	p := kept(t)
	last := p.Room.Tick()
	j := p.read(-1)
	if images := j.Images(); j.Last().Tick != last || j.Ended() || len(images) == 0 || images[len(images)-1] != last {
		t.Fatalf("the journal has tick %d, ended %v, images %v, want tick %d", j.Last().Tick, j.Ended(), images, last)
	}
	if err := p.reopen(func(*Config) {}); err != nil {
		t.Fatal(err)
	}
	c := room.Config{Game: p.game, Strategy: relay.Strategy, Match: 2}
	if err := p.store.Open("main", &c); err != nil || c.Resume == nil || c.Resume.World.Tick() != last || len(c.Resume.Seats) != 2 {
		t.Fatalf("%v, %+v", err, c.Resume)
	}
	<-p.store.Keep("none", nil)
	<-p.store.Keep("main", c.Resume.World) // stopped again before a tick
	if again := p.read(-1); again.Last().Tick != last || len(again.Images()) != len(j.Images()) {
		t.Errorf("the journal has tick %d and images %v", again.Last().Tick, again.Images())
	}
}

// A recovered match whose room was not made waits again.
func TestARecoveredMatchWithoutARoomWaitsAgain(t *testing.T) {
	p := kept(t)
	if err := p.reopen(func(*Config) {}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c := room.Config{Game: p.game, Strategy: relay.Strategy, Match: 2}
		if err := p.store.Open("main", &c); err != nil || c.Resume == nil || len(p.store.Waiting()) != 0 {
			t.Fatalf("%v, %+v", err, c.Resume)
		}
		<-p.store.Keep("main", nil)
		if len(p.store.Waiting()) != 1 {
			t.Fatal("the match does not wait")
		}
	}
}

// A state that cannot be written is reported, and the match continues where the journal ends.
func TestAFullDiskAtAStopLosesNoTick(t *testing.T) {
	p := play(t, Never)
	last := p.Room.Tick()
	p.disk.set(10)
	<-p.store.Keep("main", p.Room.World())
	if n, e := p.count(NotKept); n != 1 || !errors.Is(e.Err, syscall.ENOSPC) {
		t.Errorf("reported %d times: %+v", n, e)
	}
	if err := p.reopen(func(*Config) {}); err != nil || len(p.store.Waiting()) != 1 || p.store.Waiting()[0].Journal.Last().Tick != last {
		t.Errorf("%v: %+v, want tick %d", err, p.store.Waiting(), last)
	}
}

// Another build of the same game continues a match if it computes the same states.
func TestAnotherBuildContinuesAMatchOfTheSameRules(t *testing.T) {
	p := kept(t)
	if err := p.reopen(func(c *Config) { c.Build = "another build" }); err != nil || len(p.store.Waiting()) != 1 {
		t.Fatalf("%v", err)
	}
}

// A build with other rules, or another layout, does not start. With RefuseOthers it refuses the room, and leaves the file.
func TestAMatchOfAnotherBuildIsRefused(t *testing.T) {
	still := func(p *journalled) {
		systems := p.game.Systems
		p.game.Systems = nil
		for _, s := range systems {
			s.Run = func(*ecs.World) {}
			p.game.Systems = append(p.game.Systems, s)
		}
	}
	for name, c := range map[string]struct {
		change func(*journalled)
		want   error
	}{
		"rules":  {still, record.ErrDiverged},
		"layout": {func(p *journalled) { p.game.MaxPlayers = 5 }, record.ErrOther},
		"floats": {func(p *journalled) { p.game.Input = ecs.NewInput[struct{ X float32 }]() }, record.ErrOther},
	} {
		p := kept(t)
		before := contents(t, only(t, p.dir))
		game := *p.game
		p.game = &game
		c.change(p)
		if err := p.reopen(func(c *Config) { c.Build = "another build" }); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err := p.reopen(func(c *Config) { c.Build, c.RefuseOthers = "another build", true }); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		rc := room.Config{Game: p.game, Strategy: relay.Strategy}
		if err := p.store.Open("main", &rc); !errors.Is(err, ErrOtherBuild) || !errors.Is(err, c.want) {
			t.Errorf("%s: the room: %v", name, err)
		}
		if n, e := p.count(OtherBuild); n != 1 || e.Room != "main" || !errors.Is(e.Err, c.want) {
			t.Errorf("%s: %d events: %+v", name, n, e)
		}
		if string(contents(t, only(t, p.dir))) != string(before) {
			t.Errorf("%s: the journal was changed", name)
		}
	}
}

// A damaged journal stops the start, also with RefuseOthers: a copy of it could be continued.
func TestADamagedJournalIsNotThatOfAnotherBuild(t *testing.T) {
	p := kept(t)
	data := contents(t, only(t, p.dir))
	data[len(data)/2] ^= 1
	put(t, p.dir, "main-0000000000000001.journal", data)
	if err := p.reopen(func(c *Config) { c.RefuseOthers = true }); !errors.Is(err, record.ErrCorrupt) {
		t.Errorf("%v", err)
	}
}

// One journal proves that a build computes other states. All journals of that build are then refused, since a short one may have
// no proof. Those of other builds are not.
func TestOneProofRefusesAllJournalsOfABuild(t *testing.T) {
	g := halves.Dots()
	of := func(build, room string) record.Header {
		return header(g, func(h *record.Header) { h.Build, h.Room = build, room })
	}
	dir := t.TempDir()
	put(t, dir, "a-1.journal", written(t, g, of("older build", "a"), 5))
	proof := put(t, dir, "b-1.journal", withChecksum(t, g, of("older build", "b")))
	put(t, dir, "c-1.journal", written(t, g, of("other build", "c"), 5))
	var l events
	config := Config{Dir: dir, Game: g, Build: "this build", Strategy: "relay", RefuseOthers: true, Report: l.add}
	k, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if err := k.Open(name, &room.Config{Match: 2}); !errors.Is(err, ErrOtherBuild) || !errors.Is(err, record.ErrDiverged) {
			t.Errorf("room %s: %v", name, err)
		}
	}
	if m := k.Waiting(); len(m) != 1 || m[0].Journal.Header().Room != "c" {
		t.Errorf("%d matches wait", len(m))
	}
	if n, _ := l.count(OtherBuild); n != 2 {
		t.Errorf("reported %d times", n)
	}
	c := room.Config{Game: g}
	if err := errors.Join(k.Open("c", &c), k.Close()); err != nil || !c.Resume.OtherBuild {
		t.Errorf("%v", err)
	}
	config.RefuseOthers = false
	if _, err := Open(config); !errors.Is(err, record.ErrDiverged) || !strings.Contains(err.Error(), "a-1.journal: build \"older build\" began it") ||
		!strings.Contains(err.Error(), "in b-1.journal") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(proof); err != nil {
		t.Fatal(err)
	}
	if k, err = Open(config); err != nil || len(k.Waiting()) != 2 {
		t.Fatalf("%v", err)
	}
	_ = k.Close()
}

// Kept matches are those that the next process finds. A match whose journal was removed is lost, and one whose players have not
// come back since the start is kept.
func TestOnlyMatchesThatTheNextServerFindsCountAsKept(t *testing.T) {
	p := kept(t)
	if err := p.reopen(func(*Config) {}); err != nil || p.store.Kept() != 1 {
		t.Fatalf("%v; %d matches are kept, want that without players", err, p.store.Kept())
	}
	if err := os.Remove(only(t, p.dir)); err != nil || p.store.Kept() != 0 {
		t.Errorf("%v; %d matches are kept without a journal", err, p.store.Kept())
	}
	for _, removed := range []bool{false, true} {
		p := play(t, Never)
		if removed {
			if err := os.RemoveAll(p.dir); err != nil {
				t.Fatal(err)
			}
		}
		<-p.store.Keep("main", p.Room.World())
		if n := p.store.Kept(); (n == 1) == removed {
			t.Errorf("%d matches are kept, removed: %v", n, removed)
		}
	}
}

// A room is opened for a client before that is refused. If no player enters, its journal is removed.
func TestTheJournalOfARoomThatNobodyEnteredIsRemoved(t *testing.T) {
	for name, end := range map[string]func(k *Store){
		"over": func(k *Store) { <-k.End("main", nil) },
		"kept": func(k *Store) { <-k.Keep("main", nil) },
	} {
		var l events
		config := Config{Dir: t.TempDir(), Game: halves.Dots(), Sync: Never, Report: l.add}
		k, err := Open(config)
		if err != nil {
			t.Fatal(err)
		}
		c := &room.Config{Match: 1}
		if err := k.Open("main", c); err != nil {
			t.Fatal(err)
		}
		blocking(k, "main", c)
		f := systems.FinalTick{}
		f.Tick = 1
		c.Sinks[0].Tick(f)
		if err := c.Sinks[0].Commit(); err != nil {
			t.Error(err)
		}
		end(k)
		if got := list(t, config.Dir); len(got) != 0 || k.Kept() != 0 {
			t.Errorf("%s: the directory has %q, %d are kept", name, got, k.Kept())
		}
		if n, e := l.count(Unused); n != 1 || e.Room != "main" {
			t.Errorf("%s: reported %d times: %+v", name, n, e)
		}
		_ = k.Close()
	}
}

// With ChangeRules, a match of another build continues from its last state. The ticks before stay in a file of their own.
func TestAMatchContinuesWithTheRulesOfAnotherBuild(t *testing.T) {
	p := kept(t)
	before, last := p.read(-1), p.Room.Tick()
	var seen events
	if err := p.reopen(func(c *Config) { c.ChangeRules, c.Build, c.Report = true, "the next build", seen.add }); err != nil {
		t.Fatal(err)
	}
	count, changed := seen.count(Changed)
	if count != 1 || changed.Tick != last || changed.Room != "main" {
		t.Fatalf("%d, %+v", count, changed)
	}
	if old, err := record.Open(contents(t, changed.File), p.game); err != nil || old.Last().Tick != last || old.Header().Build != before.Header().Build {
		t.Errorf("the file of the ticks before: %v", err)
	}
	c := room.Config{Game: p.game, Strategy: relay.Strategy, Match: 2}
	if err := p.store.Open("main", &c); err != nil || c.Resume == nil {
		t.Fatal(err)
	}
	h := before.Header()
	if c.Match != h.Match || c.Resume.World.Tick() != last || c.Resume.Chain != before.Last().Chain || len(c.Resume.Seats) != 2 || !c.Resume.OtherBuild {
		t.Errorf("%+v", c.Resume)
	}
	if was, is, build, ok := image.ParseRules(c.Resume.Rules); !ok || was != h.Fingerprint || is != h.Fingerprint || build != h.Build {
		t.Errorf("%x %x %q %v", was, is, build, ok)
	}
	<-p.store.Keep("main", c.Resume.World)
	if err := p.reopen(func(c *Config) { c.ChangeRules, c.Build = true, "the next build" }); err != nil { // nothing has changed
		t.Fatal(err)
	}
	c = room.Config{Game: p.game, Strategy: relay.Strategy, Match: 2}
	if err := p.store.Open("main", &c); err != nil || c.Resume == nil || c.Resume.Rules != nil || c.Resume.World.Tick() != last {
		t.Errorf("%v, %+v", err, c.Resume)
	}
}
