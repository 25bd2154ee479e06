package swarm

import (
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"tendon/cmd/cli/journals"
)

// disk is the disk of the journals, with at most one fault.
type disk struct {
	mu     sync.Mutex
	fault  Kind // empty: none
	struck int  // calls during a fault
}

const stallTime = 400 * time.Millisecond // of each call to a disk that stalls

func (d *disk) set(k Kind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = k
}

// inject delays a call to a disk that stalls, and returns the error of a call to a disk that fails or is full.
func (d *disk) inject() error {
	d.mu.Lock()
	k := d.fault
	if k != "" {
		d.struck++
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
	if err := d.inject(); err != nil {
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
	if err := f.disk.inject(); err != nil {
		n := 0
		if err == syscall.ENOSPC {
			n, _ = f.File.Write(b[:len(b)/2])
		}
		return n, &fs.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	return f.File.Write(b)
}

func (f *file) WriteAt(b []byte, at int64) (int, error) {
	if err := f.disk.inject(); err != nil {
		return 0, &fs.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	return f.File.WriteAt(b, at)
}

// Sync never fails because of a fault: a match whose journal may have lost bytes would not continue.
func (f *file) Sync() error {
	_ = f.disk.inject()
	return f.File.Sync()
}
