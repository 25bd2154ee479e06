package journals

import (
	"os"
	"sync"
	"syscall"
)

// diskFile syncs a file's content and size, and not the time of its last change, which is half the work. It does not
// allocate.
type diskFile struct {
	*os.File
	conn syscall.RawConn
	data func(fd uintptr) // f.fdatasync, bound once

	mu  sync.Mutex
	err error // of fdatasync
}

func newDiskFile(f *os.File) (file, error) {
	conn, err := f.SyscallConn()
	d := &diskFile{File: f, conn: conn}
	d.data = d.fdatasync
	return d, err
}

func (f *diskFile) fdatasync(fd uintptr) {
	for f.err = syscall.EINTR; f.err == syscall.EINTR; {
		f.err = syscall.Fdatasync(int(fd))
	}
}

// Sync makes what was written survive a power cut.
func (f *diskFile) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = nil
	err := f.conn.Control(f.data)
	if f.err != nil {
		err = f.err
	}
	if err != nil {
		return &os.PathError{Op: "sync", Path: f.Name(), Err: err}
	}
	return nil
}
