package journals

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/matchsim/halves"
	"tendon/rollback/record"
)

// One bad journal ends its own match only. It is moved into the folder, replaces no file there, and is named with the reason.
// Neither a pipe nor a foreign file stops the start.
func TestABadJournalIsMovedIntoQuarantineAndTheOthersResume(t *testing.T) {
	g := halves.Dots()
	const rooms = 30
	journal := func(i int) []byte {
		return written(t, g, header(g, func(h *record.Header) { h.Room, h.Match = fmt.Sprint("room", i), uint64(i) }), 20)
	}
	dir := t.TempDir()
	for i := range rooms {
		content := journal(i)
		if i == 7 {
			content[len(content)/2] ^= 1
		}
		put(t, dir, fmt.Sprintf("room%d-%d.journal", i, i), content)
	}
	other := halves.Dots()
	other.Name = "chess"
	bad := map[string]error{"room7-7.journal": record.ErrCorrupt, "diary.journal": record.ErrNotRecord, "pipe.journal": record.ErrNotRecord,
		"folder.journal": record.ErrNotRecord, "chess-1.journal": record.ErrOther, "room3-2.journal": ErrTwice}
	put(t, dir, "diary.journal", []byte("a diary of many years"))
	put(t, dir, "chess-1.journal", written(t, other, header(other, func(*record.Header) {}), 5))
	older := put(t, dir, "room3-2.journal", written(t, g, header(g, func(h *record.Header) { h.Room = "room3" }), 50))
	if err := errors.Join(os.Chtimes(older, time.Time{}, time.Now().Add(-time.Hour)), pipe(filepath.Join(dir, "pipe.journal")),
		os.Mkdir(filepath.Join(dir, "folder.journal"), 0o755), os.Mkdir(filepath.Join(dir, quarantineDir), 0o755)); err != nil {
		t.Fatal(err)
	}
	earlier := put(t, filepath.Join(dir, quarantineDir), "room7-7.journal", []byte("of an earlier start"))
	var l events
	k, err := Open(Config{Dir: dir, Game: g, Build: "this build", Strategy: "relay", Quarantine: true, Report: l.add})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if n := len(k.Waiting()); n != rooms-1 {
		t.Errorf("%d matches wait, want %d", n, rooms-1)
	}
	if k.Quarantined() != len(bad)+1 {
		t.Errorf("%d files are in quarantine, want %d", k.Quarantined(), len(bad)+1)
	}
	for name, kind := range bad {
		to := filepath.Join(dir, quarantineDir, name)
		if name == "room7-7.journal" {
			to += ".2"
		}
		if _, err := os.Lstat(to); err != nil {
			t.Error(err)
		}
		if !slices.ContainsFunc(l.list, func(e Event) bool {
			return e.Kind == Quarantined && e.File == to && errors.Is(e.Err, kind) && strings.Contains(e.Err.Error(), filepath.Join(dir, name))
		}) {
			t.Errorf("%s is not reported as %v", name, kind)
		}
	}
	if n, _ := l.count(Quarantined); n != len(bad) || string(contents(t, earlier)) != "of an earlier start" {
		t.Errorf("reported %d times", n)
	}
}

// A server of another build or with other flags fits none of the matches. It must not end all of them.
func TestAServerThatFitsNoMatchMovesNoJournal(t *testing.T) {
	g := halves.Dots()
	dir := t.TempDir()
	put(t, dir, "a-1.journal", written(t, g, header(g, func(h *record.Header) { h.Room = "a" }), 5))
	put(t, dir, "b-1.journal", written(t, g, header(g, func(h *record.Header) { h.Room = "b" }), 5))
	put(t, dir, "diary.journal", []byte("a diary of many years"))
	wider := halves.Dots()
	wider.MaxPlayers++
	for _, c := range []Config{{Build: "another build", Strategy: "relay", Game: wider}, {Build: "this build", Strategy: "lockstep", Game: g}} {
		c.Dir, c.Quarantine = dir, true
		if _, err := Open(c); !errors.Is(err, ErrStrategy) && !errors.Is(err, record.ErrOther) {
			t.Errorf("%s, %s: %v", c.Build, c.Strategy, err)
		}
	}
	if got := list(t, dir); !slices.Equal(got, []string{"a-1.journal", "b-1.journal", "diary.journal"}) {
		t.Errorf("the directory has %q", got)
	}
}

// Rules that panic while a match is recovered end that match.
func TestAMatchWhoseRulesPanicIsMovedIntoQuarantine(t *testing.T) {
	g := halves.Dots()
	dir := t.TempDir()
	put(t, dir, "a-1.journal", written(t, g, header(g, func(*record.Header) {}), 5))
	g.Systems[0].Run = func(*ecs.World) { panic("the track ends") }
	var l events
	k, err := Open(Config{Dir: dir, Game: g, Build: "this build", Strategy: "relay", Quarantine: true, Report: l.add})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if n, e := l.count(Quarantined); n != 1 || !strings.Contains(e.Err.Error(), "the track ends") {
		t.Errorf("reported %d times: %+v", n, e)
	}
}

// A file or a pipe may have the name of the folder. A bad journal then stays in its place, and the others resume.
func TestABadJournalThatCannotBeMovedStopsNoOtherRoom(t *testing.T) {
	g := halves.Dots()
	for name, block := range map[string]func(path string) error{
		"file": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"pipe": pipe,
	} {
		for _, bad := range []bool{true, false} {
			dir := t.TempDir()
			put(t, dir, "a-1.journal", written(t, g, header(g, func(h *record.Header) { h.Room = "a" }), 5))
			if bad {
				put(t, dir, "diary.journal", []byte("a diary of many years"))
			}
			if err := block(filepath.Join(dir, quarantineDir)); err != nil {
				t.Fatal(err)
			}
			var l events
			k, err := Open(Config{Dir: dir, Game: g, Build: "this build", Strategy: "relay", Quarantine: true, Report: l.add})
			if err != nil {
				t.Errorf("%s, bad: %v: %v", name, bad, err)
				continue
			}
			if len(k.Waiting()) != 1 || k.Quarantined() != 0 {
				t.Errorf("%s: %d matches wait, %d files are in quarantine", name, len(k.Waiting()), k.Quarantined())
			}
			diary := filepath.Join(dir, "diary.journal")
			if n, e := l.count(NotQuarantined); bad && (n != 1 || e.File != diary || !strings.Contains(e.Err.Error(), "cannot be moved to "+filepath.Join(dir, quarantineDir))) ||
				!bad && n != 0 {
				t.Errorf("%s: reported %d times: %v", name, n, e.Err)
			}
			if _, err := os.Lstat(diary); bad && err != nil {
				t.Error(err)
			}
			_ = k.Close()
		}
	}
}
