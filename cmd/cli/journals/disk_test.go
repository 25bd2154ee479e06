package journals

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// smallDisk is the machine's disk with a bound on further bytes. It counts syncs.
type smallDisk struct {
	mu     sync.Mutex
	room   int // bytes that it accepts; -1: any number
	broken error
	synced map[string]int64 // bytes of each file that survive a power cut
	syncs  int
}

func bigDisk() *smallDisk { return &smallDisk{room: -1, synced: map[string]int64{}} }

func (d *smallDisk) set(room int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = room
}

func (d *smallDisk) open(path string, flags int) (file, error) {
	f, err := openFile(path, flags)
	if err != nil {
		return nil, err
	}
	return &smallFile{f, d, nameOf(f)}, nil
}

type smallFile struct {
	file
	disk *smallDisk
	path string
}

func nameOf(f file) string { return f.(interface{ Name() string }).Name() }

// Write accepts as many bytes as there is room for, as write(2) does.
func (f *smallFile) Write(b []byte) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.room < 0 || len(b) <= f.disk.room {
		if f.disk.room >= 0 {
			f.disk.room -= len(b)
		}
		return f.file.Write(b)
	}
	n, err := f.file.Write(b[:f.disk.room])
	f.disk.room = 0
	return n, errors.Join(err, &os.PathError{Op: "write", Path: f.path, Err: syscall.ENOSPC})
}

func (f *smallFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.broken != nil {
		return f.disk.broken
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	f.disk.synced[f.path] = info.Size()
	f.disk.syncs++
	return f.file.Sync()
}

// list returns the files of a directory, without the lock.
func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "lock" {
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
