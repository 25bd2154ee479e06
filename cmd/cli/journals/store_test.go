package journals

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tendon/cmd/cli/durable"
	"tendon/ecs"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/rollback"
	"tendon/rollback/record"
	"tendon/systems"
)

// written returns the journal of a match of some ticks.
func written(t *testing.T, g *ecs.Game, h record.Header, ticks int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := record.NewWriter(&b, g, h)
	if err := errors.Join(err, w.Flush()); err != nil {
		t.Fatal(err)
	}
	for f := range ticks {
		if err := errors.Join(w.Tick(record.Tick{Tick: ecs.Tick(f + 1)}), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// withChecksum returns the journal of a match whose state in tick 60 this build does not compute.
func withChecksum(t *testing.T, g *ecs.Game, h record.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := record.NewWriter(&b, g, h)
	for f := range ecs.Tick(60) {
		tick := record.Tick{Tick: f + 1}
		if f == 59 {
			tick.Checksum = 0xc0ffee
		}
		err = errors.Join(err, w.Tick(tick))
	}
	if err := errors.Join(err, w.Flush()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func header(g *ecs.Game, change func(*record.Header)) record.Header {
	h := record.HeaderOf(g, 7, "this build")
	h.Strategy, h.Room, h.Match = "relay", "main", 0xabc
	change(&h)
	return h
}

func put(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A server must not continue without a match, or with another one in its place. It does not start, names the file and the
// remedy, and changes no file, not even torn ones.
func TestAJournalThatCannotBeRecoveredIsLeftAsItIs(t *testing.T) {
	g, older, other := halves.Dots(), halves.Dots(), halves.Dots()
	older.Components = older.Components[:2]
	other.Name = "chess"
	sound := written(t, g, header(g, func(*record.Header) {}), 50)
	damaged := bytes.Clone(sound)
	damaged[len(damaged)/2] ^= 1
	newer := bytes.Clone(sound)
	newer[8] = 99
	hash := func(g *ecs.Game) string { return strings.ToLower(hex16(g.Fingerprint())) }
	for _, test := range []struct {
		name    string
		content []byte
		kind    error
		want    []string
	}{
		{"diary", []byte("a diary of many years"), record.ErrNotRecord, []string{"move the file away"}},
		{"damaged", damaged, record.ErrCorrupt, []string{"move the journal away"}},
		{"newer format", newer, record.ErrVersion, []string{"start the build that wrote it, or move the journal away"}},
		{"other game", written(t, other, header(other, func(*record.Header) {}), 5), record.ErrOther, []string{`"chess"`, `"dots"`, "move the journal away"}},
		{"other layouts", written(t, older, header(older, func(*record.Header) {}), 5), record.ErrOther, []string{hash(older), hash(g), "start the build that wrote it, or move the journal away"}},
		{"other rules", withChecksum(t, g, header(g, func(h *record.Header) { h.Build = "older build, executable 00c0ffee" })), record.ErrDiverged,
			[]string{"older build, executable 00c0ffee", "this build", "start the build that wrote it, or move the journal away"}},
		{"other strategy", written(t, g, header(g, func(h *record.Header) { h.Strategy = "lockstep" }), 5), ErrStrategy, []string{"begun with lockstep, this server with relay: start the server with lockstep, or move the journal away"}},
		{"other parameters", written(t, g, header(g, func(h *record.Header) { h.Params = []byte{9} }), 5), ErrStrategy, []string{"other parameters of relay", "start the build that wrote it, or move the journal away"}},
		{"other flags", written(t, g, header(g, func(h *record.Header) { h.Flags, h.Params = "--sync relay --fast", []byte{9} }), 5), ErrStrategy, []string{"begun with --sync relay --fast, this server with relay: start the server with --sync relay --fast, or move"}},
		{"earlier format", []byte("TENDONJL\x01"), record.ErrVersion, []string{"earlier version", "move the journal away"}},
		{"the same room", written(t, g, header(g, func(h *record.Header) { h.Match++ }), 5), ErrTwice, []string{"main-1.journal", "room main", "move the one away"}},
	} {
		dir := t.TempDir()
		before := map[string][]byte{"main-1.journal": sound, "torn-1.journal": written(t, g, header(g, func(h *record.Header) { h.Room = "torn" }), 9)[:200],
			"void-1.journal": nil, "x-1.journal": test.content}
		for name, content := range before {
			put(t, dir, name, content)
		}
		k, err := Open(Config{Dir: dir, Game: g, Build: "this build", Strategy: "relay"})
		if err == nil {
			t.Errorf("%s: it was accepted", test.name)
			_ = k.Close()
			continue
		}
		for _, want := range append(test.want, filepath.Join(dir, "x-1.journal")) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not contain %q", test.name, err, want)
			}
		}
		if !errors.Is(err, test.kind) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", test.name, err)
		}
		for name, content := range before {
			if after := contents(t, filepath.Join(dir, name)); !bytes.Equal(after, content) {
				t.Errorf("%s: %s was changed", test.name, name)
			}
		}
		if release, err := durable.Lock(filepath.Join(dir, "lock")); err != nil {
			t.Errorf("%s: the lock is still held: %v", test.name, err)
		} else {
			_ = release()
		}
	}
}

// One start names all journals that must be moved away.
func TestAllJournalsThatCannotBeRecoveredAreNamed(t *testing.T) {
	g := halves.Dots()
	other := written(t, g, header(g, func(h *record.Header) { h.Strategy = "lockstep" }), 5)
	for name, content := range map[string][]byte{"a diary": []byte("a diary of many years"), "another strategy": other} {
		for n, want := range map[int]string{1: "away", 2: "away; these cannot be recovered either: x2.journal", 4: ": x2.journal, x3.journal, x4.journal",
			6: ": x2.journal, x3.journal, x4.journal and 2 more"} {
			dir := t.TempDir()
			put(t, dir, "sound.journal", written(t, g, header(g, func(*record.Header) {}), 5))
			for i := range n {
				put(t, dir, "x"+string(rune('1'+i))+".journal", content)
			}
			_, err := Open(Config{Dir: dir, Game: g, Build: "this build", Strategy: "relay"})
			if err == nil || !strings.Contains(err.Error(), "x1.journal: ") || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%d of %s: %v, want %q", n, name, err, want)
			}
		}
	}
}

func hex16(v uint64) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 16)
	for i := range b {
		b[i] = digits[v>>(60-4*i)&15]
	}
	return string(b)
}

// A torn end is cut off in the file, also if a power cut follows, so that the next block follows a whole one.
func TestTornEndsAreCutAndEmptyJournalsRemoved(t *testing.T) {
	g := halves.Dots()
	sound := written(t, g, header(g, func(*record.Header) {}), 50)
	head := len(written(t, g, header(g, func(*record.Header) {}), 0))
	dir := t.TempDir()
	path := put(t, dir, "main-1.journal", sound[:len(sound)-3])
	put(t, dir, "void-1.journal", sound[:head-1])
	put(t, dir, "void-2.journal", nil)
	put(t, dir, "old-1.ended.journal", []byte("whatever"))
	put(t, dir, "notes.txt", []byte("mine"))
	var l events
	d := bigDisk()
	k, err := Open(Config{Dir: dir, Game: g, Build: "this build", Strategy: "relay", Report: l.add, Disk: d.open})
	if err != nil {
		t.Fatal(err)
	}
	if size := int64(len(contents(t, path))); size >= int64(len(sound)-3) || d.synced[path] != size {
		t.Errorf("the journal has %d bytes, and %d survive a power cut", size, d.synced[path])
	}
	if n, e := l.count(Torn); n != 1 || e.File != path || e.Tick != 49 || !errors.Is(e.Err, record.ErrTorn) {
		t.Errorf("reported %d times: %+v", n, e)
	}
	if n, _ := l.count(Empty); n != 2 {
		t.Errorf("%d empty journals were reported", n)
	}
	if got := list(t, dir); !slices.Equal(got, []string{"main-1.journal", "notes.txt", "old-1.ended.journal"}) {
		t.Errorf("the directory has %q", got)
	}
	c := room.Config{Game: g}
	if err := k.Open("main", &c); err != nil {
		t.Fatal(err)
	}
	blocking(k, "main", &c)
	c.Sinks[0].Tick(systems.FinalTick{FinalTick: rollback.FinalTick{Tick: 50}})
	if err := errors.Join(c.Sinks[0].Commit(), k.Close()); err != nil {
		t.Fatal(err)
	}
	if j, err := record.Open(contents(t, path), g); err != nil || j.Last().Tick != 50 || j.Torn() != nil {
		t.Errorf("%v", err)
	}
}

func TestADirectoryIsForOneServerAtATime(t *testing.T) {
	c := Config{Dir: filepath.Join(t.TempDir(), "not", "yet"), Game: halves.Dots()}
	k, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(c); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), c.Dir) {
		t.Errorf("the second one: %v", err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if k, err = Open(c); err != nil {
		t.Fatalf("after the first one ended: %v", err)
	}
	_ = k.Close()
}

// No client knows the match then, so no file of it stays, and the event is reported once.
func TestARoomWithoutAJournalIsRefused(t *testing.T) {
	var l events
	d := bigDisk()
	k, err := Open(Config{Dir: t.TempDir(), Game: halves.Dots(), Report: l.add, Disk: d.open})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	d.set(10)
	for range 3 {
		if err := k.Open("main", &room.Config{Match: 1}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%v", err)
		}
	}
	if _, e := l.count(Refused); !errors.Is(e.Err, syscall.ENOSPC) || !strings.HasSuffix(e.Err.Error(), "free at least 1 MiB on the disk of "+k.config.Dir) {
		t.Errorf("the reason is %v", e.Err)
	}
	if n, _ := l.count(Refused); n != 1 || len(list(t, k.config.Dir)) != 0 {
		t.Errorf("reported %d times; the directory has %q", n, list(t, k.config.Dir))
	}
	d.set(-1)
	if err := k.Open("main", &room.Config{Match: 1}); err != nil {
		t.Error(err)
	}
}

func TestAMatchWithoutReturningPlayersIsOver(t *testing.T) {
	g := halves.Dots()
	dir := t.TempDir()
	put(t, dir, "main-1.journal", written(t, g, header(g, func(*record.Header) {}), 5))
	put(t, dir, "duel-1.journal", written(t, g, header(g, func(h *record.Header) { h.Room = "duel" }), 5))
	var l events
	k, err := Open(Config{Dir: dir, Game: g, Build: "this build", Strategy: "relay", Report: l.add})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if err := k.Open("duel", &room.Config{}); err != nil {
		t.Fatal(err)
	}
	k.abandon()
	if n, e := l.count(Abandoned); n != 1 || e.Room != "main" {
		t.Errorf("reported %d times: %+v", n, e)
	}
	if got := list(t, dir); !slices.Equal(got, []string{"duel-1.journal", "main-1.ended.journal"}) {
		t.Errorf("the directory has %q", got)
	}
	c := room.Config{Match: 5}
	if err := k.Open("main", &c); err != nil || c.Resume != nil {
		t.Errorf("%v, %+v", err, c.Resume)
	}
}

// A match continues on bytes that survive a power cut: those of a killed server may not have been synced.
func TestARecoveredJournalIsSyncedBeforeTheMatchContinues(t *testing.T) {
	g, dir, d := halves.Dots(), t.TempDir(), bigDisk()
	path := put(t, dir, "main-1.journal", written(t, g, header(g, func(*record.Header) {}), 50))
	k, err := Open(Config{Dir: dir, Game: g, Build: "this build", Strategy: "relay", Sync: Never, Report: new(events).add, Disk: d.open})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if err := k.Open("main", &room.Config{}); err != nil {
		t.Fatal(err)
	}
	if size := int64(len(contents(t, path))); d.synced[path] != size {
		t.Errorf("%d of %d bytes survive a power cut", d.synced[path], size)
	}
	d.broken = errors.New("no disk")
	if _, err := k.reopen("main", &room.Config{}, &Match{File: path}); !errors.Is(err, d.broken) {
		t.Errorf("a disk that does not sync: %v", err)
	}
}

// A match that is over has an end mark. The next server archives its journal if the last one could not, or was killed before.
func TestAMatchThatIsOverIsNotRecovered(t *testing.T) {
	var l events
	config := Config{Dir: t.TempDir(), Game: halves.Dots(), Report: l.add}
	k, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Open("main", &room.Config{Match: 1}); err != nil {
		t.Fatal(err)
	}
	k.open["main"].seated = true
	blocked := endedPath(k.open["main"].path)
	if err := os.MkdirAll(filepath.Join(blocked, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	<-k.End("main", nil)
	if n, e := l.count(NotArchived); n != 1 || e.Err == nil {
		t.Errorf("reported %d times: %+v", n, e)
	}
	<-k.End("nothing", nil) // a room that has no journal
	if err := errors.Join(k.Open("main", &room.Config{Match: 2}), k.Close(), os.RemoveAll(blocked)); err != nil {
		t.Fatal(err)
	}
	if k, err = Open(config); err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if n, e := l.count(Ended); n != 1 || e.File != blocked {
		t.Errorf("reported %d times: %+v", n, e)
	}
	if m := k.Waiting(); len(m) != 1 || m[0].Journal.Header().Match != 2 {
		t.Errorf("%d matches wait", len(m))
	}
	if j, err := record.Open(contents(t, blocked), config.Game); err != nil || !j.Ended() {
		t.Errorf("the archived journal has no end mark: %v", err)
	}
}

// The next start would recover a journal without an end mark, and refuse two matches of one room. So the room is refused until
// the journal is renamed or moved away.
func TestARoomWaitsForTheJournalOfItsLastMatch(t *testing.T) {
	for _, moved := range []bool{false, true} {
		var l events
		d := bigDisk()
		config := Config{Dir: t.TempDir(), Game: halves.Dots(), Report: l.add, Disk: d.open}
		k, err := Open(config)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Open("main", &room.Config{Match: 1}); err != nil {
			t.Fatal(err)
		}
		k.open["main"].seated = true
		path := k.open["main"].path
		blocked := endedPath(path)
		if err := os.MkdirAll(filepath.Join(blocked, "in the way"), 0o755); err != nil {
			t.Fatal(err)
		}
		d.set(0)
		<-k.End("main", nil)
		d.set(-1)
		if n, e := l.count(NotArchived); n != 1 || !errors.Is(e.Err, syscall.ENOSPC) {
			t.Errorf("reported %d times: %+v", n, e)
		}
		if err := k.Open("main", &room.Config{Match: 2}); err == nil || !strings.Contains(err.Error(), "the match before") {
			t.Errorf("a second match: %v", err)
		}
		if err := k.Open("duel", &room.Config{Match: 3}); err != nil {
			t.Errorf("another room: %v", err)
		}
		if err := os.RemoveAll(blocked); err != nil {
			t.Fatal(err)
		}
		if moved {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(k.Open("main", &room.Config{Match: 2}), k.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(blocked); moved != errors.Is(err, os.ErrNotExist) {
			t.Errorf("the journal of the match before: %v", err)
		}
		if k, err = Open(config); err != nil {
			t.Fatal(err)
		}
		if m := k.Waiting(); len(m) != 2 {
			t.Errorf("%d matches wait, want those of main and duel", len(m))
		}
		_ = k.Close()
	}
}

func TestSyncIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]Sync{"always": Always, "never": Never, "100ms": 100e6, "1ms": 1e6, "10s": 10e9} {
		var s Sync
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want || s.String() != text {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "0", "sometimes", "-1s", "999us", "10.1s", "5"} {
		if err := new(Sync).UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "always, never, or a time from 1ms to 10s") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
