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
	"time"

	"tendon/cmd/cli/durable"
	"tendon/ecs"
	"tendon/net/matchtest"
	"tendon/net/room"
	"tendon/rollback/journal"
	"tendon/systems"
)

// written returns the journal of a match of some ticks.
func written(t *testing.T, g *ecs.Game, h journal.Header, ticks int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := journal.NewWriter(&b, g, h)
	if err := errors.Join(err, w.Flush()); err != nil {
		t.Fatal(err)
	}
	for f := range ticks {
		if err := errors.Join(w.Tick(journal.Tick{Tick: ecs.Tick(f + 1)}), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func header(g *ecs.Game, change func(*journal.Header)) journal.Header {
	h := journal.HeaderOf(g, 7, "this build")
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

// A server that went on without a match, or with another one in its place, would do what no operator wants. So it does
// not start, says which file and what to do, and leaves everything as it is: also what it would have tidied up.
func TestAJournalThatCannotBeBroughtBackIsLeftAlone(t *testing.T) {
	g, older, other := matchtest.Dots(), matchtest.Dots(), matchtest.Dots()
	older.Components = older.Components[:2]
	other.Name = "chess"
	sound := written(t, g, header(g, func(*journal.Header) {}), 50)
	damaged := bytes.Clone(sound)
	damaged[len(damaged)/2] ^= 1
	newer := bytes.Clone(sound)
	newer[8]++
	hash := func(g *ecs.Game) string { return strings.ToLower(hex16(g.Fingerprint())) }
	for _, test := range []struct {
		name    string
		content []byte
		kind    error
		want    []string
	}{
		{"diary", []byte("a diary of many years"), journal.ErrNotJournal, []string{"move the file away"}},
		{"damaged", damaged, journal.ErrCorrupt, []string{"move the journal away"}},
		{"newer format", newer, journal.ErrVersion, []string{"start the build that wrote it, or move the journal away"}},
		{"other game", written(t, other, header(other, func(*journal.Header) {}), 5), journal.ErrOtherGame, []string{`"chess"`, `"dots"`, "move the journal away"}},
		{"other layouts", written(t, older, header(older, func(*journal.Header) {}), 5), journal.ErrOtherBuild, []string{hash(older), hash(g), "start the build that wrote it, or move the journal away"}},
		{"other build", written(t, g, header(g, func(h *journal.Header) { h.Build = "older build, executable 00c0ffee" }), 5), journal.ErrOtherBuild,
			[]string{"older build, executable 00c0ffee", "this build", "start the build that wrote it, or move the journal away"}},
		{"other strategy", written(t, g, header(g, func(h *journal.Header) { h.Strategy = "lockstep" }), 5), ErrStrategy, []string{"lockstep", "relay", "move the journal away"}},
		{"other parameters", written(t, g, header(g, func(h *journal.Header) { h.Params = []byte{9} }), 5), ErrStrategy, []string{"other settings", "move the journal away"}},
		{"the same room", written(t, g, header(g, func(h *journal.Header) { h.Match++ }), 5), ErrTwice, []string{"main-1.journal", "room main", "move the one away"}},
	} {
		dir := t.TempDir()
		before := map[string][]byte{"main-1.journal": sound, "torn-1.journal": written(t, g, header(g, func(h *journal.Header) { h.Room = "torn" }), 9)[:200],
			"void-1.journal": nil, "x-1.journal": test.content}
		for name, content := range before {
			put(t, dir, name, content)
		}
		k, err := Open(Config{Dir: dir, Game: g, Build: "this build", Strategy: "relay"})
		if err == nil {
			t.Errorf("%s: it was taken", test.name)
			_ = k.Close()
			continue
		}
		for _, want := range append(test.want, filepath.Join(dir, "x-1.journal")) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", test.name, err, want)
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
		if release, err := durable.Lock(filepath.Join(dir, lockName)); err != nil {
			t.Errorf("%s: the lock is still held: %v", test.name, err)
		} else {
			_ = release()
		}
	}
}

// Who has to move one journal away learns of all others at once, and not one more with each start.
func TestAllJournalsThatCannotBeBroughtBackAreNamed(t *testing.T) {
	g := matchtest.Dots()
	other := written(t, g, header(g, func(h *journal.Header) { h.Strategy = "lockstep" }), 5)
	for name, content := range map[string][]byte{"a diary": []byte("a diary of many years"), "another strategy": other} {
		for n, want := range map[int]string{1: "away", 2: "away; nor can these be brought back: x2.journal", 4: ": x2.journal, x3.journal, x4.journal",
			6: ": x2.journal, x3.journal, x4.journal and 2 more"} {
			dir := t.TempDir()
			put(t, dir, "sound.journal", written(t, g, header(g, func(*journal.Header) {}), 5))
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

// What a kill left half written is cut off in the file too, or what is written next would be lost behind it.
func TestTornEndsAreCutAndEmptyJournalsRemoved(t *testing.T) {
	g := matchtest.Dots()
	sound := written(t, g, header(g, func(*journal.Header) {}), 50)
	head := len(written(t, g, header(g, func(*journal.Header) {}), 0))
	dir := t.TempDir()
	path := put(t, dir, "main-1.journal", sound[:len(sound)-3])
	put(t, dir, "void-1.journal", sound[:head-1])
	put(t, dir, "void-2.journal", nil)
	put(t, dir, "old-1.ended.journal", []byte("whatever"))
	put(t, dir, "notes.txt", []byte("mine"))
	var r newsroom
	k, err := Open(Config{Dir: dir, Game: g, Build: "this build", Strategy: "relay", Told: r.told})
	if err != nil {
		t.Fatal(err)
	}
	if n, news := r.count(Torn); n != 1 || news.File != path || news.Tick != 49 || !errors.Is(news.Err, journal.ErrTorn) {
		t.Errorf("told %d times: %+v", n, news)
	}
	if n, _ := r.count(Empty); n != 2 {
		t.Errorf("told of %d empty journals", n)
	}
	if got := list(t, dir); !slices.Equal(got, []string{"main-1.journal", "notes.txt", "old-1.ended.journal"}) {
		t.Errorf("the directory holds %q", got)
	}
	c := room.Config{Game: g}
	if err := k.Open("main", &c); err != nil {
		t.Fatal(err)
	}
	c.Sinks[0].Tick(systems.FinalTick{Tick: 50})
	if err := errors.Join(c.Sinks[0].Commit(), k.Close()); err != nil {
		t.Fatal(err)
	}
	if j, err := journal.Open(contents(t, path), g, "this build"); err != nil || j.Last().Tick != 50 || j.Torn() != nil {
		t.Errorf("%v", err)
	}
}

func TestADirectoryIsForOneServerAtATime(t *testing.T) {
	c := Config{Dir: filepath.Join(t.TempDir(), "not", "yet"), Game: matchtest.Dots()}
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

// Nobody has heard of the match then, so nothing is left of it, and the log of a server that is full is not filled too.
func TestARoomWithoutAJournalIsRefused(t *testing.T) {
	var r newsroom
	d := bigDisk()
	k, err := openOn(Config{Dir: t.TempDir(), Game: matchtest.Dots(), Told: r.told}, d)
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
	if n, _ := r.count(Refused); n != 1 || len(list(t, k.config.Dir)) != 0 {
		t.Errorf("told %d times; the directory holds %q", n, list(t, k.config.Dir))
	}
	d.set(-1)
	if err := k.Open("main", &room.Config{Match: 1}); err != nil {
		t.Error(err)
	}
}

// The players may all have gone home.
func TestAMatchThatNobodyComesBackToIsOver(t *testing.T) {
	g := matchtest.Dots()
	dir := t.TempDir()
	put(t, dir, "main-1.journal", written(t, g, header(g, func(*journal.Header) {}), 5))
	put(t, dir, "duel-1.journal", written(t, g, header(g, func(h *journal.Header) { h.Room = "duel" }), 5))
	var r newsroom
	k, err := Open(Config{Dir: dir, Game: g, Build: "this build", Strategy: "relay", Told: r.told})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if err := k.Open("duel", &room.Config{}); err != nil {
		t.Fatal(err)
	}
	k.forsake()
	if n, news := r.count(Forsaken); n != 1 || news.Room != "main" {
		t.Errorf("told %d times: %+v", n, news)
	}
	if got := list(t, dir); !slices.Equal(got, []string{"duel-1.journal", "main-1.ended.journal"}) {
		t.Errorf("the directory holds %q", got)
	}
	c := room.Config{Match: 5}
	if err := k.Open("main", &c); err != nil || c.Resume != nil {
		t.Errorf("%v, %+v", err, c.Resume)
	}
}

// Two matches of one room in the directory would keep the next server from starting.
func TestARoomIsNotOpenedOverAMatchThatCouldNotBePutAside(t *testing.T) {
	var r newsroom
	k, err := Open(Config{Dir: t.TempDir(), Game: matchtest.Dots(), Told: r.told})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if err := k.Open("main", &room.Config{Match: 1}); err != nil {
		t.Fatal(err)
	}
	blocked := endedPath(k.open["main"].path)
	if err := os.MkdirAll(filepath.Join(blocked, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	k.End("main")
	if n, news := r.count(Unended); n != 1 || news.Err == nil {
		t.Errorf("told %d times: %+v", n, news)
	}
	if err := k.Open("main", &room.Config{Match: 2}); err == nil {
		t.Error("the room was opened")
	}
	if err := os.RemoveAll(blocked); err != nil {
		t.Fatal(err)
	}
	for match := range uint64(2) {
		if err := k.Open("main", &room.Config{Match: 2 + match}); err != nil {
			t.Error(err)
		}
		k.End("main")
	}
	k.End("nothing") // a room that has no journal
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

// An operator who chose how much a power cut may take has to hear that the disk does not keep up; once, not each time.
func TestADiskThatDoesNotKeepUpIsToldOf(t *testing.T) {
	var r newsroom
	k := &Keeper{config: Config{Sync: 100e6, Told: r.told}}
	for _, took := range []time.Duration{10e6, 100e6, 150e6, 300e6, 20e6, 101e6} {
		k.took(took, 7)
	}
	if n, news := r.count(Slow); n != 2 || !strings.Contains(news.Err.Error(), "7 rooms took 101ms") {
		t.Errorf("told %d times: %+v", n, news)
	}
}
