package swarm

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"tendon/cmd/cli/journals"
)

// disk is the disk of the journals, with at most one fault.
type disk struct {
	mu     sync.Mutex
	fault  Kind             // empty: none
	files  string           // first bytes of the names of the files with the fault
	struck map[Kind]int     // calls that a fault delayed or failed
	safe   map[string]int64 // by file, the bytes that survive a power cut
}

const stallTime = 400 * time.Millisecond // of each call to a disk that stalls

func (d *disk) set(k Kind, files string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault, d.files = k, files
}

// hits returns how many calls a kind of fault has delayed or failed.
func (d *disk) hits(k Kind) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.struck[k]
}

// synced adds the bytes of a file that survive a power cut, and returns how many there are.
func (d *disk) synced(path string, bytes int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.safe[path] = max(d.safe[path], bytes)
	return d.safe[path]
}

// inject delays a call to a disk that stalls, and returns the error of a call to a disk that fails or is full.
func (d *disk) inject(path string) error {
	d.mu.Lock()
	k := d.fault
	if !strings.HasPrefix(filepath.Base(path), d.files) {
		k = ""
	}
	if k != "" {
		d.struck[k]++
	}
	d.mu.Unlock()
	switch k {
	case stall:
		time.Sleep(stallTime)
	case ioError:
		return syscall.EIO
	case full:
		return syscall.ENOSPC
	}
	return nil
}

func (d *disk) open(path string, flags int) (journals.File, error) {
	if err := d.inject(path); err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|flags, 0o644)
	if err != nil {
		return nil, err
	}
	return &file{f, d}, nil
}

type file struct {
	*os.File
	disk *disk
}

// Write writes half of the bytes if the disk is full.
func (f *file) Write(b []byte) (int, error) {
	if err := f.disk.inject(f.Name()); err != nil {
		n := 0
		if err == syscall.ENOSPC {
			n, _ = f.File.Write(b[:len(b)/2])
		}
		return n, &fs.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	return f.File.Write(b)
}

func (f *file) WriteAt(b []byte, at int64) (int, error) {
	if err := f.disk.inject(f.Name()); err != nil {
		return 0, &fs.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	return f.File.WriteAt(b, at)
}

// Sync never fails because of a fault: a match whose journal may have lost bytes would not continue.
func (f *file) Sync() error {
	info, err := f.Stat()
	_ = f.disk.inject(f.Name())
	if err = cmp.Or(err, f.File.Sync()); err == nil {
		f.disk.synced(f.Name(), info.Size())
	}
	return err
}
