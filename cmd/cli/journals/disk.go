package journals

import (
	"io"
	"os"
)

// file is a journal as it is written. Sync makes what was written survive a power cut; it may be called while another
// goroutine writes.
type file interface {
	io.Writer
	Sync() error
	Close() error
}

// openFile opens a file to write. Tests replace it by a disk that is full.
func openFile(path string, flags int) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|flags, 0o644)
}
