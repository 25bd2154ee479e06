package host

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// slowDisk takes a time for each call and then fails, if err is set.
type slowDisk struct {
	strings.Builder
	stall time.Duration
	err   error
	ended bool
}

func (d *slowDisk) Write(b []byte) (int, error) {
	time.Sleep(d.stall)
	if d.err != nil {
		return 0, d.err
	}
	return d.Builder.Write(b)
}

func (d *slowDisk) Sync() error  { time.Sleep(d.stall); return nil }
func (d *slowDisk) Close() error { d.ended = true; return nil }

// A room that is recorded on a slow disk does not wait for it. The file is whole after its end.
func TestARecordingDelaysNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &slowDisk{stall: 400 * time.Millisecond}
		f := newBackgroundFile(d, "main")
		begun := time.Now()
		for range 100 {
			if n, err := f.Write([]byte("a second of play\n")); n != 17 || err != nil {
				t.Fatal(n, err)
			}
			synctest.Wait()
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("the room waited for %v", took)
		}
		if err := f.close(); err != nil || d.String() != strings.Repeat("a second of play\n", 100) || !d.ended {
			t.Errorf("%v, %d bytes", err, d.Len())
		}
	})
}

// A disk that fails, or that is too slow, ends the recording with its error.
func TestARecordingEndsWithTheErrorOfItsDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, d := range map[error]*slowDisk{error(syscall.ENOSPC): {err: syscall.ENOSPC}, error(syscall.EIO): {err: syscall.EIO, stall: time.Second}, errBehind: {stall: time.Hour}} {
			f := newBackgroundFile(d, "main")
			var err error
			for n := 0; err == nil && n <= 2*maxBehind; n += 8 << 20 {
				_, err = f.Write(make([]byte, 8<<20))
				time.Sleep(2 * time.Second)
			}
			if !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
			if err := f.close(); !errors.Is(err, want) || !d.ended {
				t.Errorf("at the end: %v, want %v", err, want)
			}
		}
	})
}
