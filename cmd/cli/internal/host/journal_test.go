package host

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/journals"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/systems/relay"
)

// A resumed match whose room was not made, since its clients have left, is not over.
func TestAResumedMatchWithoutARoomWaitsAgain(t *testing.T) {
	dir := t.TempDir()
	a := app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard)
	for _, resumed := range []bool{false, true} {
		c := Config{Config: server.Config{Address: "127.0.0.1:0"}, Flags: &Flags{}, Strategy: relay.Strategy}
		if err := c.OpenJournals(a, journals.Config{Dir: dir, Sync: journals.Never}); err != nil {
			t.Fatal(err)
		}
		h, err := Start(a, c)
		if err != nil {
			t.Fatal(err)
		}
		rc := room.Config{Game: a.Game, Match: 7}
		if err := h.openRoom("main", &rc); err != nil || (rc.Resume != nil) != resumed {
			t.Fatalf("resumed %v: %v, %+v", resumed, err, rc.Resume)
		}
		if resumed {
			h.closeRoom("main", nil)
		} // otherwise the server is killed
		if err := errors.Join(h.Stop(), c.Journals.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := filepath.Glob(filepath.Join(dir, "*.ended.journal")); err != nil || len(found) > 0 {
		t.Errorf("the match is over: %v, %v", found, err)
	}
}

// The line about a match that continues has the tick after which it does, and the ticks that players returned.
func TestAResumedMatchIsReportedWithTheReturnedTicks(t *testing.T) {
	for returned, want := range map[uint64]string{0: "room main continues from tick 46\n", 6: "room main continues from tick 46; players returned 6 ticks that its journal had lost\n",
		1: "room main continues from tick 46; players returned 1 tick that its journal had lost\n"} {
		var lines bytes.Buffer
		reportJournal(app.New(t.Context(), crumbs.Game(), io.Discard, &lines), journals.Event{Kind: journals.Resumed, Room: "main", Tick: 46, Returned: returned}, "disk")
		if lines.String() != want {
			t.Errorf("%q, want %q", lines.String(), want)
		}
		lines.Reset()
		reportJournal(app.New(t.Context(), crumbs.Game(), io.Discard, &lines), journals.Event{Kind: journals.Resumed, Room: "main", Tick: 46, Returned: returned, Paused: true}, "disk")
		if want := strings.Replace(want, "46", "46 and is still paused", 1); lines.String() != want {
			t.Errorf("%q, want %q", lines.String(), want)
		}
	}
}

// A server that stood still is reported with the time, the rooms and the ticks, and one that is too slow as such.
func TestALagIsReportedWithItsCause(t *testing.T) {
	for l, want := range map[server.Lag]string{
		{Stood: 9500 * time.Millisecond, Rooms: 3, Ticks: 1710}: "the server stood still for 9.5 s; 3 rooms gave up 1710 ticks\n",
		{Rooms: 1, Ticks: 31}: "the server is too slow; 1 room gave up 31 ticks\n",
	} {
		var lines bytes.Buffer
		if reportLag(app.New(t.Context(), crumbs.Game(), io.Discard, &lines), l); lines.String() != want {
			t.Errorf("%q, want %q", lines.String(), want)
		}
	}
}

// The key of proofs is the same after a restart and another one for each private key. No client has it: it is not the key
// that seals tokens. Rooms have none if no tick can be lost.
func TestTheKeyOfProofsOutlivesTheServer(t *testing.T) {
	keyOf := func(dir string, key byte, fsync journals.Sync) []byte {
		t.Helper()
		a := app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard)
		c := Config{Config: server.Config{Address: "127.0.0.1:0"}, Flags: &Flags{}, Strategy: relay.Strategy}
		if key != 0 {
			c.Keys = []netcode.Key{{key}}
		}
		if err := c.OpenJournals(a, journals.Config{Dir: dir, Sync: fsync}); err != nil {
			t.Fatal(err)
		}
		h, err := Start(a, c)
		if err != nil {
			t.Fatal(err)
		}
		rc := room.Config{Game: a.Game, Match: 7}
		if err := h.openRoom("main", &rc); err != nil {
			t.Fatal(err)
		}
		<-c.Journals.End("main", nil)
		if err := h.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := c.Journals.Close(); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(rc.HistoryKey, c.Keys[0][:8]) {
			t.Error("the key of proofs contains the private key")
		}
		return rc.HistoryKey
	}
	const interval = journals.Sync(100e6)
	dir := t.TempDir()
	stored, again := keyOf(dir, 0, interval), keyOf(dir, 0, journals.Never)
	given, other := keyOf(t.TempDir(), 1, interval), keyOf(t.TempDir(), 2, interval)
	if len(stored) != 32 || !bytes.Equal(stored, again) || bytes.Equal(stored, given) || bytes.Equal(given, other) || !bytes.Equal(given, keyOf(dir, 1, interval)) {
		t.Errorf("%x, again %x, of the keys 1 and 2 %x and %x", stored, again, given, other)
	}
	if key := keyOf(dir, 0, journals.Always); key != nil {
		t.Errorf("a room that loses no ticks has the key %x", key)
	}
}

// A restart on a full or read-only disk names the remedy that keeps the matches. A missing key of an earlier server is reported.
func TestARestartThatEndangersTheMatchesIsReported(t *testing.T) {
	dir := t.TempDir()
	var lines bytes.Buffer
	open := func(disk func(string, int) (journals.File, error)) (*Config, error) {
		lines.Reset()
		c := &Config{Config: server.Config{Address: "127.0.0.1:0"}, Flags: &Flags{}, Strategy: relay.Strategy}
		return c, c.OpenJournals(app.New(t.Context(), crumbs.Game(), io.Discard, &lines), journals.Config{Dir: dir, Sync: journals.Never, Disk: disk})
	}
	full := func(path string, _ int) (journals.File, error) {
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.ENOSPC}
	}
	if _, err := open(full); err == nil || !strings.Contains(err.Error(), "choose another --journal") {
		t.Errorf("without journals: %v", err)
	}
	c, err := open(nil)
	if err != nil || lines.Len() > 0 {
		t.Fatalf("the first start: %v, %s", err, &lines)
	}
	rc := room.Config{Game: crumbs.Game(), Match: 7}
	if err := errors.Join(c.Journals.Open("main", &rc), c.Journals.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := open(full); err == nil || strings.Contains(err.Error(), "choose another") || !strings.Contains(err.Error(), "free space on the disk of "+dir) {
		t.Errorf("with journals: %v", err)
	}
	key := filepath.Join(dir, "server.key")
	for _, missing := range []bool{true, false} {
		if missing {
			if err := os.Remove(key); err != nil {
				t.Fatal(err)
			}
		}
		if c, err = open(nil); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(lines.String(), key+" is missing") != missing {
			t.Errorf("the key is missing: %v; %q", missing, &lines)
		}
		if err := c.Journals.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
