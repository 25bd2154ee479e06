package journals

import (
	"errors"
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

// disk makes and opens files. Tests have one that is full.
type disk interface {
	create(path string) (file, error)
	appendTo(path string) (file, error)
}

// system is the disk of the machine.
type system struct{}

func (system) create(path string) (file, error) {
	return opened(os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644))
}

func (system) appendTo(path string) (file, error) {
	return opened(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))
}

func opened(f *os.File, err error) (file, error) {
	if err != nil {
		return nil, err
	}
	return newDiskFile(f)
}

// cut ends a file after size bytes.
func cut(path string, size int) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = f.Truncate(int64(size))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
