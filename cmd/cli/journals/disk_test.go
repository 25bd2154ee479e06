package journals

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tendon/net/room"
)

// smallDisk is the machine's disk with a bound on further bytes. It counts syncs.
type smallDisk struct {
	mu     sync.Mutex
	room   int // bytes that it accepts; -1: any number
	broken error
	synced map[string]int64 // bytes of each file that survive a power cut
	syncs  int
	stall  time.Duration    // of each call
	faults map[string]error // of writes, by the beginning of the file's name
	hang   string           // beginning of the name of a file on which a sync takes a minute
}

func bigDisk() *smallDisk { return &smallDisk{room: -1, synced: map[string]int64{}} }

func (d *smallDisk) set(room int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = room
}

// pause delays a call, and returns the error of a write to a file.
func (d *smallDisk) pause(path string) error {
	d.mu.Lock()
	stall := d.stall
	d.mu.Unlock()
	time.Sleep(stall)
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, err := range d.faults {
		if strings.HasPrefix(filepath.Base(path), name) {
			return &os.PathError{Op: "write", Path: path, Err: err}
		}
	}
	return nil
}

// change calls f, which changes the disk while it is used.
func (d *smallDisk) change(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// blocking makes the commits of a room wait for the disk, for tests that do not wait between ticks.
func blocking(k *Store, name string, c *room.Config) {
	j, sink := k.open[name], &c.Sinks[len(c.Sinks)-1]
	idle := func() {
		for tries := 0; ; tries++ {
			k.writers.mu.Lock()
			listed := j.out.listed
			k.writers.mu.Unlock()
			if !listed {
				return
			}
			if runtime.Gosched(); tries > 1000 {
				time.Sleep(10 * time.Microsecond)
			}
		}
	}
	sink.Commit = func() error {
		idle() // of an attempt after an error
		err := j.commit()
		if err == room.ErrPending {
			idle()
			err = j.commit()
		}
		return err
	}
}

func (d *smallDisk) open(path string, flags int) (File, error) {
	_ = d.pause("")
	f, err := openFile(path, flags)
	if err != nil {
		return nil, err
	}
	return &smallFile{f, d, nameOf(f)}, nil
}

type smallFile struct {
	File
	disk *smallDisk
	path string
}

func nameOf(f File) string { return f.(interface{ Name() string }).Name() }

// Write accepts as many bytes as there is room for, as write(2) does.
func (f *smallFile) Write(b []byte) (int, error) {
	if err := f.disk.pause(f.path); err != nil {
		return 0, err
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.room < 0 || len(b) <= f.disk.room {
		if f.disk.room >= 0 {
			f.disk.room -= len(b)
		}
		return f.File.Write(b)
	}
	n, err := f.File.Write(b[:f.disk.room])
	f.disk.room = 0
	return n, errors.Join(err, &os.PathError{Op: "write", Path: f.path, Err: syscall.ENOSPC})
}

func (f *smallFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.disk.pause(f.path); err != nil {
		return 0, err
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.room >= 0 && len(b) > f.disk.room {
		return 0, &os.PathError{Op: "write", Path: f.path, Err: syscall.ENOSPC}
	}
	if f.disk.room >= 0 {
		f.disk.room -= len(b)
	}
	return f.File.WriteAt(b, at)
}

func (f *smallFile) Sync() error {
	_ = f.disk.pause("")
	f.disk.mu.Lock()
	hangs := f.disk.hang != "" && strings.HasPrefix(filepath.Base(f.path), f.disk.hang)
	f.disk.mu.Unlock()
	if hangs {
		time.Sleep(time.Minute)
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.broken != nil {
		return f.disk.broken
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	f.disk.synced[f.path] = info.Size()
	f.disk.syncs++
	return nil // no test cuts the power of this machine
}

// list returns the files of a directory, without the lock and the used tokens.
func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "lock" && e.Name() != usedTokensName {
			names = append(names, e.Name())
		}
	}
	return names
}

// only returns the path of the one file in a directory.
func only(t *testing.T, dir string) string {
	t.Helper()
	names := list(t, dir)
	if len(names) != 1 {
		t.Fatalf("the directory has %q, want one file", names)
	}
	return filepath.Join(dir, names[0])
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
