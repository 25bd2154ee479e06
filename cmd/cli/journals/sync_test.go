package journals

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/systems"
)

// An operator chose how much a power cut may lose. A disk that does not keep up is reported once, and again only after a minute
// without a slow sync.
func TestADiskThatDoesNotKeepUpIsReportedOnce(t *testing.T) {
	const interval = 100 * time.Millisecond
	var l lag
	reports := 0
	now := time.Now()
	syncs := func(n int, took time.Duration) {
		for range n {
			if now = now.Add(interval); l.begins(took, interval, now) {
				reports++
			}
		}
	}
	syncs(50, interval)
	if reports != 0 {
		t.Error("a sync that takes its interval is slow")
	}
	for range 100 {
		syncs(1, 150*time.Millisecond)
		syncs(5, 20*time.Millisecond)
	}
	syncs(594, 50*time.Millisecond)
	syncs(1, 51*time.Millisecond)
	syncs(599, 50*time.Millisecond)
	syncs(1, 101*time.Millisecond)
	if reports != 1 {
		t.Errorf("reported %d times, want once", reports)
	}
	syncs(600, 50*time.Millisecond)
	syncs(9, 101*time.Millisecond)
	if reports != 2 {
		t.Errorf("reported %d times, want twice", reports)
	}
}

// The end of a journal waits for the disk. Neither the goroutine that ends it nor another room does. The next match of the room
// begins after that.
func TestTheEndOfAJournalDelaysNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l events
		d := bigDisk()
		k, err := Open(Config{Dir: t.TempDir(), Game: halves.Dots(), Sync: Never, Report: l.add, Disk: d.open})
		if err != nil {
			t.Fatal(err)
		}
		var rooms sync.WaitGroup
		open := func(match uint64) {
			for i := range 100 {
				rooms.Go(func() {
					if err := k.Open(fmt.Sprint("room", i), &room.Config{Match: match}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		open(1)
		rooms.Wait()
		for _, j := range k.open {
			j.seated = true
		}
		d.stall = 400 * time.Millisecond
		begun := time.Now()
		var ended []<-chan struct{}
		for i := range 100 {
			ended = append(ended, k.End(fmt.Sprint("room", i), nil))
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("the rooms waited for %v", took)
		}
		open(2)
		rooms.Wait()
		for _, done := range ended {
			<-done
		}
		if took := time.Since(begun); took > 10*d.stall {
			t.Errorf("100 rooms that end and begin wait for each other: %v", took)
		}
		if n, _ := l.count(Ended); n != 100 || len(k.open) != 100 {
			t.Errorf("%d journals are archived, %d rooms are open", n, len(k.open))
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A server that stops waits for a disk that does not answer, and not for ever.
func TestClosingAStoreIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := bigDisk()
		k, err := Open(Config{Dir: t.TempDir(), Game: halves.Dots(), Sync: 100e6, Disk: d.open})
		if err == nil {
			err = k.Open("main", &room.Config{Match: 1})
		}
		if err != nil {
			t.Fatal(err)
		}
		k.open["main"].seated = true
		d.stall = time.Hour
		k.End("main", nil)
		begun := time.Now()
		if err := k.Close(); err == nil || time.Since(begun) != closeLimit {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		if err := k.Open("main", &room.Config{Match: 2}); !errors.Is(err, errClosed) {
			t.Errorf("a room of a closed store: %v", err)
		}
		time.Sleep(10 * d.stall) // its goroutines end
	})
}

// A server whose journals were removed would lose its matches with its end. It finds that within a second: the matches wait, and
// no room is opened. When the journals are back, the matches continue, and rooms are opened.
func TestRemovedJournalsAreNoticedWithinASecond(t *testing.T) {
	remove := map[string]func(dir, file string) error{
		"removed":  func(dir, _ string) error { return os.RemoveAll(dir) },
		"renamed":  func(dir, _ string) error { return os.Rename(dir, dir+".old") },
		"replaced": func(dir, _ string) error { return errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o755)) },
		"one file": func(_, file string) error { return os.Remove(file) },
	}
	for name, remove := range remove {
		synctest.Test(t, func(t *testing.T) {
			var l events
			dir := filepath.Join(t.TempDir(), "journals")
			k, err := Open(Config{Dir: dir, Game: halves.Dots(), Sync: Never, Report: l.add})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { k.Close() }()
			c := &room.Config{Match: 1}
			if err := k.Open("main", c); err != nil {
				t.Fatal(err)
			}
			blocking(k, "main", c)
			f := systems.FinalTick{}
			tick := func() error {
				f.Tick++
				c.Sinks[0].Tick(f)
				return c.Sinks[0].Commit()
			}
			for range 3 {
				if time.Sleep(time.Second); tick() != nil {
					t.Fatalf("%s: the match waits before", name)
				}
			}
			if err := remove(dir, k.open["main"].path); err != nil {
				t.Fatal(err)
			}
			if time.Sleep(time.Second); !errors.Is(tick(), errRemoved) {
				t.Errorf("%s: the match continues", name)
			}
			n, e := l.count(Removed)
			if failed, _ := l.count(Failed); failed != 1 || (n == 1) != (name != "one file") || n == 1 && e.File != dir {
				t.Errorf("%s: reported %d times, %d journals failed", name, n, failed)
			}
			if err := k.Open("duel", &room.Config{Match: 2}); errors.Is(err, errRemoved) != (name != "one file") {
				t.Errorf("%s: another room: %v", name, err)
			}
			if name == "removed" || name == "one file" {
				return
			}
			if err := errors.Join(os.RemoveAll(dir), os.Rename(dir+".old", dir)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if err := c.Sinks[0].Commit(); err != nil {
				t.Errorf("%s: the match waits after: %v", name, err)
			}
			if n, _ := l.count(Recovered); n != 1 {
				t.Errorf("%s: reported %d times that the match continues", name, n)
			}
			if err := k.Open("duel", &room.Config{Match: 3}); err != nil {
				t.Errorf("%s: another room: %v", name, err)
			}
			last := k.open["main"].writer.Last()
			if err := k.Close(); err != nil {
				t.Error(err)
			}
			k, err = Open(Config{Dir: dir, Game: halves.Dots(), Sync: Never, Report: l.add})
			if err != nil {
				t.Fatal(err)
			}
			list := k.Waiting()
			if !slices.ContainsFunc(list, func(m Match) bool { return m.Journal.Header().Room == "main" && m.Journal.Last().Tick == last }) {
				t.Errorf("%s: the next server finds %d matches, want that of main to tick %d", name, len(list), last)
			}
		})
	}
}
