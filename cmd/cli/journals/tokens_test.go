package journals

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tendon/net/matchsim/halves"
	"tendon/net/netcode"
)

// openTokens opens the record of a directory on a disk.
func openTokens(t *testing.T, dir string, disk *smallDisk, report func(Event)) *UsedTokens {
	t.Helper()
	u, err := openUsedTokens(&Config{Dir: dir, Report: report, Disk: disk.open, Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// store records a token and waits until it is on the disk.
func (t *UsedTokens) store(token netcode.TokenID, expires uint64) {
	for stored := false; !stored; stored, _ = t.Record(token, expires, time.Now()) {
		time.Sleep(time.Millisecond)
	}
}

var anHour = uint64(time.Now().Add(time.Hour).Unix())

// A token is recorded when its bytes survive a power cut, not before.
func TestARecordedTokenSurvivesAPowerCut(t *testing.T) {
	dir, disk := t.TempDir(), bigDisk()
	u := openTokens(t, dir, disk, nil)
	a, b := netcode.TokenID{1}, netcode.TokenID{2}
	u.store(a, anHour)
	path := filepath.Join(dir, usedTokensName)
	disk.mu.Lock()
	syncs := disk.syncs
	disk.mu.Unlock()
	u.store(b, anHour)
	u.close()
	if disk.syncs == syncs {
		t.Error("a token is recorded without a sync")
	}
	content := contents(t, path)
	second := usedTokensHead + usedTokensLine
	for n := 0; n <= second+usedTokensLine; n++ {
		if (&UsedTokens{earlier: map[netcode.TokenID]uint64{}}).parse(content[:n]) == nil {
			t.Fatalf("a file of %d bytes that was cut to %d is read", len(content), n)
		}
	}
	for i := range second + usedTokensLine {
		flipped := bytes.Clone(content)
		flipped[i] ^= 1 << (i % 8)
		if (&UsedTokens{earlier: map[netcode.TokenID]uint64{}}).parse(flipped) == nil {
			t.Fatalf("a file with another byte %d is read", i)
		}
	}
	gap := bytes.Clone(content)
	clear(gap[usedTokensHead:second])
	if (&UsedTokens{earlier: map[netcode.TokenID]uint64{}}).parse(gap) == nil {
		t.Error("a file with a gap is read")
	}
	for _, size := range []int{second + usedTokensLine + 1, second + 2*usedTokensLine, len(content) - 1, len(content) + 1, len(content) + 3*usedTokensLine} {
		other := append(bytes.Clone(content), make([]byte, 3*usedTokensLine)...)[:size]
		again := &UsedTokens{earlier: map[netcode.TokenID]uint64{}}
		if err := again.parse(other); err != nil || !again.Used(a, anHour) || !again.Used(b, anHour) {
			t.Errorf("with %d bytes instead of %d: %v", size, len(content), err)
		}
	}
	for name, torn := range map[string]int{"whole": usedTokensLine, "torn": usedTokensLine - 5, "cut after a": 0} {
		left := bytes.Clone(content)
		clear(left[second+torn:])
		if err := os.WriteFile(path, left, 0o600); err != nil {
			t.Fatal(err)
		}
		again := openTokens(t, dir, bigDisk(), func(e Event) { t.Errorf("%+v", e) })
		if !again.Used(a, anHour) || again.Used(b, anHour) != (name == "whole") || again.Used(netcode.TokenID{3}, anHour) || again.Since() != u.Since().Truncate(time.Millisecond) {
			t.Errorf("%s: used %v, %v, since %v", name, again.Used(a, anHour), again.Used(b, anHour), again.Since())
		}
		again.close()
	}
}

// A record that is damaged or of another version may lack tokens. A new one begins, so that tokens of earlier are refused.
func TestADamagedRecordOfTokensBeginsAnew(t *testing.T) {
	for name, spoil := range map[string]func(path string, content []byte) error{
		"a few bytes": func(path string, content []byte) error { return os.WriteFile(path, content[:10], 0o600) },
		"empty":       func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) },
		"a list":      func(path string, _ []byte) error { return os.WriteFile(path, []byte("a shopping list\n"), 0o600) },
		"version 1": func(path string, _ []byte) error {
			return os.WriteFile(path, []byte("tendon used tokens 1 17 0\n"), 0o600)
		},
		"no free space": func(path string, content []byte) error {
			return os.WriteFile(path, content[:usedTokensHead+usedTokensLine], 0o600)
		},
		"more than free space": func(path string, content []byte) error {
			return os.WriteFile(path, append(content, 'a'), 0o600)
		},
		"a second line cut": func(path string, content []byte) error {
			first := content[usedTokensHead : usedTokensHead+usedTokensLine]
			return os.WriteFile(path, append(content[:usedTokensHead+usedTokensLine:usedTokensHead+usedTokensLine], first[:usedTokensLine-3]...), 0o600)
		},
		"a pipe": func(path string, _ []byte) error { return errors.Join(os.Remove(path), pipe(path)) },
	} {
		dir := t.TempDir()
		u := openTokens(t, dir, bigDisk(), nil)
		u.store(netcode.TokenID{1}, anHour)
		u.close()
		path := filepath.Join(dir, usedTokensName)
		if err := errors.Join(spoil(path, contents(t, path)), pipe(path+".new")); err != nil {
			t.Fatal(err)
		}
		var lost []Event
		before := time.Now()
		again := openTokens(t, dir, bigDisk(), func(e Event) { lost = append(lost, e) })
		if again.Since().Before(before) || len(lost) != 1 || lost[0].Kind != TokensLost || lost[0].File != path || lost[0].Err == nil {
			t.Errorf("%s: since %v, before %v, events %+v", name, again.Since(), before, lost)
		}
		again.close()
		if since := openTokens(t, dir, bigDisk(), nil); since.Since().UnixMilli() != again.Since().UnixMilli() {
			t.Errorf("%s: the next start has the tokens since %v, want %v", name, since.Since(), again.Since())
		} else {
			since.close()
		}
	}
}

// FuzzUsedTokens reads any file. It never panics, and a file that is read is one that this package writes.
func FuzzUsedTokens(f *testing.F) {
	for _, tokens := range []int{0, 1, 3} {
		u := &UsedTokens{since: time.UnixMilli(1_800_000_000_000), floor: 7, now: 50, earlier: map[netcode.TokenID]uint64{}}
		for i := range tokens {
			u.earlier[netcode.TokenID{byte(i + 1)}] = uint64(100 + i)
		}
		content, size := u.content()
		f.Add(append(content, make([]byte, int(size)-len(content))...))
		f.Add(content)
	}
	f.Add([]byte("tendon used tokens 1 17 0\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		u := &UsedTokens{earlier: map[netcode.TokenID]uint64{}}
		if err := u.parse(content); err != nil {
			if !u.since.IsZero() {
				t.Fatal("a damaged record has a beginning")
			}
			return
		}
		tokens := maps.Clone(u.earlier)
		lines, size := u.content()
		again := &UsedTokens{earlier: map[netcode.TokenID]uint64{}}
		if err := again.parse(append(lines, make([]byte, int(size)-len(lines))...)); err != nil {
			t.Fatal(err)
		}
		delete(tokens, netcode.TokenID{})
		for token, expires := range tokens {
			if expires > 0 && again.earlier[token] != expires {
				t.Fatalf("token %x is lost", token)
			}
		}
	})
}

// On a full disk, tokens are not recorded, which is reported once. When the disk has space again, they are recorded.
func TestAFullDiskRecordsNoToken(t *testing.T) {
	dir, disk := t.TempDir(), bigDisk()
	failed := make(chan Event, 100)
	u := openTokens(t, dir, disk, func(e Event) { failed <- e })
	disk.set(10)
	if stored, _ := u.Record(netcode.TokenID{1}, anHour, time.Now()); stored {
		t.Error("recorded without a write")
	}
	if e := <-failed; e.Kind != TokensFailed || e.Err == nil || !strings.HasSuffix(e.Err.Error(), "free at least 1 MiB on the disk of "+dir) || e.File != filepath.Join(dir, usedTokensName) {
		t.Errorf("event %+v", e)
	}
	if stored, err := u.Record(netcode.TokenID{1}, anHour, time.Now()); stored || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: recorded %v, %v", stored, err)
	}
	disk.set(-1)
	u.store(netcode.TokenID{1}, anHour)
	if _, err := u.Record(netcode.TokenID{2}, anHour, time.Now()); err != nil {
		t.Errorf("with space again: %v", err)
	}
	u.close()
	if len(failed) > 0 {
		t.Errorf("%d further events", len(failed))
	}
	again := openTokens(t, dir, bigDisk(), nil)
	defer again.close()
	if !again.Used(netcode.TokenID{1}, anHour) {
		t.Error("the token is not in the file")
	}
}

// A disk that does not answer for more than a second is an error, which is reported once.
func TestADiskThatHangsRecordsNoToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := bigDisk()
		var l events
		u := openTokens(t, t.TempDir(), disk, l.add)
		disk.change(func() { disk.stall = 5 * time.Second })
		record := func(token byte) error {
			stored, err := u.Record(netcode.TokenID{token}, uint64(time.Now().Add(48*time.Hour).Unix()), time.Now())
			if stored {
				t.Error("recorded without a write")
			}
			return err
		}
		for range 9 {
			if err := record(1); err != nil {
				t.Errorf("at once: %v", err)
			}
			time.Sleep(tokensLimit / 9)
		}
		time.Sleep(time.Millisecond)
		if a, b := record(1), record(2); !errors.Is(a, errStalled) || !errors.Is(b, errStalled) {
			t.Errorf("after a second: %v, %v", a, b)
		}
		disk.change(func() { disk.stall = 0 })
		u.store(netcode.TokenID{2}, anHour)
		if err := record(3); err != nil {
			t.Errorf("after the write: %v", err)
		}
		u.close()
		if n, _ := l.count(TokensFailed); n != 1 {
			t.Errorf("reported %d times", n)
		}
	})
}

// Expired tokens leave the file, and no clock makes them valid again.
func TestTheRecordIsBoundedByExpiry(t *testing.T) {
	dir := t.TempDir()
	u := openTokens(t, dir, bigDisk(), nil)
	past := uint64(time.Now().Unix()) - 5
	for i := range usedTokensSlack + 100 {
		u.Record(netcode.TokenID{1, byte(i), byte(i >> 8)}, past, time.Now())
	}
	u.store(netcode.TokenID{2}, anHour)
	u.store(netcode.TokenID{3}, anHour)
	if n := bytes.Count(contents(t, filepath.Join(dir, usedTokensName)), []byte("\n")); n > usedTokensSlack {
		t.Errorf("while the server runs the file has %d lines", n)
	}
	u.close()
	if n := len(u.tokens); n > 2*usedTokensSlack {
		t.Errorf("%d tokens are kept in memory", n)
	}
	again := openTokens(t, dir, bigDisk(), nil)
	again.now = past
	again.closeFile()
	if err := again.rewrite(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, usedTokensName))
	if err != nil || bytes.Count(content, []byte("\n")) != 3 {
		t.Errorf("%v, file %q", err, content[:min(len(content), 300)])
	}
	if !again.Used(netcode.TokenID{9}, past) || again.Used(netcode.TokenID{9}, past+1) || !again.Used(netcode.TokenID{2}, anHour) {
		t.Error("tokens that expired before the last one that was dropped must be refused")
	}
	again.close()
}

// Another server may have used tokens before the record of a directory began. The next process continues the record.
func TestADirectoryWithoutARecordHasNoEarlierToken(t *testing.T) {
	dir, before := t.TempDir(), time.Now()
	u := openTokens(t, dir, bigDisk(), nil)
	since := u.Since()
	if since.Before(before) {
		t.Errorf("a fresh directory has the tokens since %v", since)
	}
	u.close()
	u = openTokens(t, dir, bigDisk(), nil)
	if got := u.Since(); got.UnixMilli() != since.UnixMilli() {
		t.Errorf("the record continues with the tokens since %v, want %v", got, since)
	}
	u.close()
}

// A record that was removed or replaced while the server runs is noticed within a second, and written again with all tokens.
func TestARemovedRecordOfTokensIsWrittenAgain(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var l events
			config := Config{Dir: t.TempDir(), Game: halves.Dots(), Sync: Never, Report: l.add}
			k, err := Open(config)
			if err != nil {
				t.Fatal(err)
			}
			a, b, later := netcode.TokenID{1}, netcode.TokenID{2}, uint64(time.Now().Add(time.Hour).Unix())
			k.tokens.store(a, later)
			path := filepath.Join(config.Dir, usedTokensName)
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if n, e := l.count(TokensRemoved); n != 1 || e.File != path {
				t.Errorf("%s: reported %d times: %+v", name, n, e)
			}
			k.tokens.store(b, later)
			time.Sleep(time.Minute)
			since := k.tokens.Since()
			if err := k.Close(); err != nil {
				t.Fatal(err)
			}
			if k, err = Open(config); err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			if u := k.tokens; !u.Used(a, later) || !u.Used(b, later) || u.Since().UnixMilli() != since.UnixMilli() {
				t.Errorf("%s: used %v, %v, since %v, was %v", name, u.Used(a, later), u.Used(b, later), u.Since(), since)
			}
			if n, _ := l.count(TokensRemoved); n != 1 || len(l.list) != 1 {
				t.Errorf("%s: %+v", name, l.list)
			}
		})
	}
}

// A directory with journals had a record. If that is missing, tokens of earlier are refused, which is reported.
func TestAMissingRecordOfTokensIsReported(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "main-1.ended.journal", nil)
	var l events
	openTokens(t, dir, bigDisk(), l.add).close()
	if n, e := l.count(TokensLost); n != 1 || !errors.Is(e.Err, errNoTokens) {
		t.Errorf("reported %d times: %+v", n, e)
	}
	openTokens(t, dir, bigDisk(), l.add).close()
	if n, _ := l.count(TokensLost); n != 1 {
		t.Errorf("reported %d times", n)
	}
}
