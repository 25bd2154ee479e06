package host

import (
	"errors"
	"io"
	"sync"
)

// disk is a file that is written once from its begin to its end.
type disk interface {
	io.WriteCloser
	Sync() error
}

// backgroundFile writes a file on a goroutine of its own. Write never waits for the disk. It returns the error of an earlier
// write, or errBehind.
type backgroundFile struct {
	name  string
	disk  disk
	wake  chan struct{} // has an element while bytes may wait; closed by close
	ended chan struct{}

	mu      sync.Mutex
	waiting []byte
	err     error
}

// maxBehind bounds the bytes that wait for the disk.
const maxBehind = 32 << 20

var errBehind = errors.New("the disk is too slow: 32 MiB wait to be written")

func newBackgroundFile(d disk, name string) *backgroundFile {
	f := &backgroundFile{name: name, disk: d, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go f.run()
	return f
}

// Write accepts all bytes or none.
func (f *backgroundFile) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil && len(f.waiting)+len(b) > maxBehind {
		f.err = errBehind
	}
	if f.err != nil {
		return 0, f.err
	}
	f.waiting = append(f.waiting, b...)
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (f *backgroundFile) run() {
	defer close(f.ended)
	var spare []byte
	for range f.wake {
		f.mu.Lock()
		b := f.waiting
		f.waiting = spare[:0]
		f.mu.Unlock()
		if _, err := f.disk.Write(b); err != nil {
			f.mu.Lock()
			f.err = errors.Join(f.err, err)
			f.mu.Unlock()
			return
		}
		spare = b
	}
}

// close writes what waits, syncs the file and closes it. It waits for the disk.
func (f *backgroundFile) close() error {
	close(f.wake)
	<-f.ended
	return errors.Join(f.err, f.disk.Sync(), f.disk.Close())
}
