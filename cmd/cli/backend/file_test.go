package backend

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tendon/cmd/cli/backend/queue"
	"tendon/cmd/cli/durable"
)

// smallDisk is the machine's disk with a bound on further bytes.
type smallDisk struct {
	mu     sync.Mutex
	room   int   // bytes that it accepts; -1: any number
	unsync error // of each sync
	uncut  bool  // the next truncation fails
}

func (d *smallDisk) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// write calls f with as many bytes as there is space for, as write(2) does.
func (d *smallDisk) write(path string, b []byte, f func(b []byte) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(b)
	if d.room >= 0 {
		n = min(n, d.room)
		d.room -= n
	}
	err := f(b[:n])
	if n < len(b) {
		err = errors.Join(err, &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC})
	}
	return err
}

func (d *smallDisk) disk() disk {
	return disk{func(path string) (diskFile, error) {
		f, err := openFile(path)
		return &smallFile{f, d, path}, err
	}, func(path string, content []byte) error {
		return d.write(path, content, func(b []byte) error {
			if len(b) < len(content) {
				return nil
			}
			return durable.Replace(path, content)
		})
	}}
}

type smallFile struct {
	diskFile
	disk *smallDisk
	path string
}

func (f *smallFile) WriteAt(b []byte, offset int64) (n int, err error) {
	err = f.disk.write(f.path, b, func(b []byte) error { n, err = f.diskFile.WriteAt(b, offset); return err })
	return n, err
}

func (f *smallFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.uncut {
		f.disk.uncut = false
		return &os.PathError{Op: "truncate", Path: f.path, Err: syscall.EIO}
	}
	return f.diskFile.Truncate(size)
}

func (f *smallFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return errors.Join(f.disk.unsync, f.diskFile.Sync())
}

// openSmall opens a log on a small disk. full receives the calls of File.Full.
func openSmall(t *testing.T) (log *File, d *smallDisk, full chan error) {
	t.Helper()
	log, err := OpenFile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d, full = &smallDisk{room: -1}, make(chan error, 16)
	log.disk, log.Full = d.disk(), func(err error) { full <- err }
	t.Cleanup(func() { _ = log.Close() })
	return log, d, full
}

// logged returns the content of a log. Each of its lines must be whole.
func logged(t *testing.T, log *File) string {
	t.Helper()
	content, err := os.ReadFile(log.path)
	if err != nil || len(whole(content)) != len(content) {
		t.Fatalf("the log is not whole: %v\n%s", err, content)
	}
	return string(content)
}

// While the disk is full, requests receive 503. Then the backend continues by itself, with the tickets from before and a log without a
// half line.
func TestABackendWaitsForAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, d, full := openSmall(t)
		l := startLocal(t, log, directory(4, "one"), append(pair(), queue.Queue{Name: "large", Players: 3}))
		ann, zoe := l.queue("ann", "duel"), l.queue("zoe", "large")
		before := logged(t, log)
		d.set(func() { d.room = 10 })
		for _, player := range []string{"bob", "eve"} {
			begin := time.Now()
			if code := l.send(http.MethodPost, "/v1/tickets", `{"player":"`+player+`","queue":"duel"}`, &struct{}{}); code != http.StatusServiceUnavailable || time.Since(begin) > time.Second {
				t.Errorf("the disk is full: %d after %v", code, time.Since(begin))
			}
		}
		if code := l.send(http.MethodGet, "/v1/tickets/"+ann, "", &struct{}{}); code != http.StatusServiceUnavailable || l.Active() {
			t.Errorf("the disk is full: %d, active %v", code, l.Active())
		}
		time.Sleep(10 * time.Minute)
		if got := logged(t, log); got != before {
			t.Errorf("a write that failed changed the log to %s", got)
		}
		if err := <-full; !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free at least 1 MiB on the disk of ") || len(full) > 0 {
			t.Errorf("%v, then %d more", err, len(full))
		}
		d.set(func() { d.room = -1 })
		passed()
		if err := <-full; err != nil || len(full) > 0 || !l.Active() {
			t.Errorf("there is space: %v, then %d more", err, len(full))
		}
		if got := l.get(ann); got.State != queue.Matched || got.Match == nil { // with bob, whose event was written late
			t.Errorf("%+v", got)
		}
		if got := l.get(zoe); got.State != queue.Queued { // although no request about it was served for ten minutes
			t.Errorf("%+v", got)
		}
		l.kill()
		if passes, err := Check(log.path, append(pair(), queue.Queue{Name: "large", Players: 3})); passes != 1 || err != nil || !strings.HasPrefix(logged(t, log), before) {
			t.Errorf("%d passes, %v", passes, err)
		}
	})
}

// A backend that waits for space ends when it is stopped. The next one continues with the tickets that were acknowledged.
func TestABackendEndsWhileTheDiskIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, d, _ := openSmall(t)
		l := startLocal(t, log, directory(4, "one"), pair())
		ann := l.queue("ann", "duel")
		d.set(func() { d.room = 0 })
		l.send(http.MethodPost, "/v1/tickets", `{"player":"bob","queue":"duel"}`, &struct{}{})
		l.kill()
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := OpenFile(filepath.Dir(log.path))
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		l = startLocal(t, again, directory(4, "one"), pair())
		if got := l.get(ann); got.State != queue.Queued {
			t.Errorf("%+v", got)
		}
	})
}

// A log whose half line could not be removed is not written until it was. A shorter event then leaves no bytes of it.
func TestAHalfLineIsRemovedBeforeTheNextWrite(t *testing.T) {
	log, d, full := openSmall(t)
	if err := log.Append(t.Context(), []byte("begin\n"), true); err != nil {
		t.Fatal(err)
	}
	d.set(func() { d.room, d.uncut = 20, true })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := log.Append(ended, []byte(strings.Repeat("n", 30)+"\n"), false); !errors.Is(err, syscall.ENOSPC) || log.Reached() {
		t.Error(err)
	}
	d.set(func() { d.room = -1 })
	if err := log.Append(t.Context(), []byte("next\n"), false); err != nil || !log.Reached() {
		t.Error(err)
	}
	if got := logged(t, log); got != "begin\nnext\n" || len(full) != 2 {
		t.Errorf("%q, %d calls of Full", got, len(full))
	}
}

// A log that cannot begin again, because of a full disk, is as before and can be appended to.
func TestALogThatCannotBeginAgainIsKept(t *testing.T) {
	log, d, _ := openSmall(t)
	l := start(t, log, Config{Directory: directory(4, "one"), Interval: time.Hour})
	ann := l.queue("ann")
	before := logged(t, log)
	if err := l.do(t.Context(), func(c *core) { d.set(func() { d.room = 0 }); c.stored = compactSize + 1 }); err != nil {
		t.Fatal(err)
	}
	var at time.Time
	if err := l.do(t.Context(), func(c *core) { at = c.began }); err != nil || at.After(time.Now().Add(2*compactAgain-compactAfter)) {
		t.Errorf("the next attempt is after %v, %v", at, err)
	}
	if got := logged(t, log); got != before {
		t.Errorf("the log is %s", got)
	}
	d.set(func() { d.room = -1 })
	l.queue("bob")
	if got := logged(t, log); !strings.HasPrefix(got, before) || !strings.Contains(got, "bob") {
		t.Errorf("the log is %s", got)
	}
	if got, err := l.Get(t.Context(), ann, 0); err != nil || got.State != queue.Queued {
		t.Errorf("%+v, %v", got, err)
	}
}

// After a sync that failed, the backend ends, and the log accepts no event: the system may have discarded bytes.
func TestAFailedSyncEndsTheBackend(t *testing.T) {
	log, d, _ := openSmall(t)
	s := start(t, log, Config{Directory: directory(4, "one"), Interval: time.Hour})
	term := s.term.Load()
	d.set(func() { d.unsync = syscall.EIO })
	if code := s.post("/v1/tickets", `{"player":"ann","queue":"duel"}`, &struct{}{}); code != http.StatusServiceUnavailable {
		t.Error(code)
	}
	<-term.ended
	err := s.kill()
	if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "check the disk, and start the backend again") {
		t.Error(err)
	}
	d.set(func() { d.unsync = nil })
	for _, begins := range []bool{false, true} {
		if got := log.Append(t.Context(), []byte("event\n"), begins); !errors.Is(got, syscall.EIO) {
			t.Errorf("begins %v: %v", begins, got)
		}
	}
}

// A start on a full disk is an error that says how much space to free. The log stays as it is.
func TestAStartOnAFullDisk(t *testing.T) {
	log, d, _ := openSmall(t)
	d.room = 0
	s, err := New(Config{Game: "crumbs", Queues: pair(), Directory: directory(4, "one")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), log); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free at least 1 MiB on the disk of "+filepath.Dir(log.path)) {
		t.Error(err)
	}
	if content, err := log.Recovered(t.Context()); len(content) > 0 || err != nil {
		t.Errorf("%q, %v", content, err)
	}
}
