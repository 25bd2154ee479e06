package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"tendon/cmd/cli/backend/queue"
	"tendon/cmd/cli/durable"
)

// File is a Log in a directory: tickets.log, beside the log before it, tickets.before.log. One process at a time can use it.
type File struct {
	// Full is called with the error when a write fails, as on a full disk, and with nil when the events are written. Optional. Set it
	// before the first Append.
	Full func(error)

	path    string
	disk    disk
	file    diskFile
	unlock  func() error
	size    int64       // bytes of the events that are stored
	torn    bool        // the file has bytes after size
	failed  error       // of an append after which the content of the file is not known
	blocked atomic.Bool // events wait for space
}

const (
	logName    = "tickets.log"
	beforeName = "tickets.before.log"
	// spacePause is the time between two attempts to write events to a full disk.
	spacePause = 500 * time.Millisecond
)

// disk is the functions by which File changes files. Tests replace them.
type disk struct {
	open    func(path string) (diskFile, error)
	replace func(path string, content []byte) error
}

// diskFile is an open file of a disk.
type diskFile interface {
	WriteAt(b []byte, offset int64) (int, error)
	Truncate(size int64) error
	Sync() error
	Stat() (os.FileInfo, error)
	Close() error
}

func openFile(path string) (diskFile, error) { return os.OpenFile(path, os.O_WRONLY, 0) }

// OpenFile opens the log in a directory, which is made if it does not exist.
func OpenFile(dir string) (*File, error) {
	if err := durable.MakeDirectory(dir); err != nil {
		return nil, advised(err, dir, 0)
	}
	unlock, err := durable.Lock(filepath.Join(dir, logName+".lock"))
	if errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("%s is in use: another backend runs with this directory; stop it, or choose another one", dir)
	}
	if err != nil {
		return nil, advised(err, dir, 0)
	}
	return &File{path: filepath.Join(dir, logName), disk: disk{openFile, durable.Replace}, unlock: unlock}, nil
}

// advised adds to the error of a full disk the directory, and the space to free for a number of bytes.
func advised(err error, dir string, size int) error {
	return durable.Advised(err, dir, size>>20+1)
}

// Recovered reads the file. Its last line may not be whole.
func (f *File) Recovered(context.Context) ([]byte, error) {
	content, _, err := durable.ReadFile(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// Append writes events to the disk. While a write fails, as on a full disk, Append repeats it until ctx is done. If begins is true, Append
// tries once. An error that wraps ErrKept leaves the log as it was. After other errors of a beginning, and after a failed sync, all
// further calls fail.
func (f *File) Append(ctx context.Context, events []byte, begins bool) error {
	switch {
	case f.failed != nil:
		return f.failed
	case begins:
		return f.begin(events)
	case f.file == nil:
		return fmt.Errorf("%s cannot be written before it begins", f.path)
	}
	for {
		err := f.write(events)
		if err == nil || f.failed != nil {
			if f.blocked.Swap(false) && err == nil && f.Full != nil {
				f.Full(nil)
			}
			return err
		}
		if !f.blocked.Swap(true) && f.Full != nil {
			f.Full(advised(err, filepath.Dir(f.path), len(events)))
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(spacePause):
		}
	}
}

// write writes events after those that are stored, and syncs them. If a write fails, write truncates the file to size. If that fails, too,
// the next call truncates it first.
func (f *File) write(events []byte) error {
	if err := f.cut(); err != nil {
		return err
	}
	if _, err := f.file.WriteAt(events, f.size); err != nil {
		f.torn = true
		return errors.Join(err, f.cut())
	}
	if err := f.file.Sync(); err != nil { // the system may have discarded the bytes, and would report success the next time
		err = advised(err, filepath.Dir(f.path), len(events))
		f.failed = fmt.Errorf("%w; the disk may have lost the newest events: check the disk, and start the backend again", err)
		return f.failed
	}
	f.size += int64(len(events))
	return nil
}

// cut removes the bytes of a write that failed.
func (f *File) cut() error {
	if !f.torn {
		return nil
	}
	err := f.file.Truncate(f.size)
	f.torn = err != nil
	return err
}

// ErrKept is wrapped by the error of an Append that could not begin the log again. The log is as before, and can be appended to.
var ErrKept = errors.New("the log could not begin again, so it grows")

// begin replaces the file.
func (f *File) begin(events []byte) error {
	if f.file != nil {
		if err := f.cut(); err != nil {
			return fmt.Errorf("%w: %w", ErrKept, err)
		}
	}
	before := filepath.Join(filepath.Dir(f.path), beforeName) // for Check only
	_ = os.Remove(before + ".new")
	_ = os.Link(f.path, before+".new")
	if err := f.disk.replace(f.path, events); err != nil {
		err = advised(err, filepath.Dir(f.path), len(events))
		if f.file == nil {
			return err
		}
		if info, unread := f.file.Stat(); unread == nil && !durable.Gone(info, f.path) {
			return fmt.Errorf("%w: %w", ErrKept, err)
		}
		f.failed = fmt.Errorf("%w; start the backend again", err)
		return f.failed
	}
	_ = os.Rename(before+".new", before)
	if f.file != nil {
		_ = f.file.Close() // it was synced
	}
	var err error
	if f.file, err = f.disk.open(f.path); err != nil {
		f.file, f.failed = nil, fmt.Errorf("%w; start the backend again", err)
		return f.failed
	}
	f.size, f.torn = int64(len(events)), false
	return nil
}

// Reached reports whether no events wait for space on the disk.
func (f *File) Reached() bool { return !f.blocked.Load() }

// Leased returns true: the file is locked.
func (f *File) Leased() bool { return true }

// Check replays the log in a file and compares the results of the match functions. It returns the number of passes. The error wraps
// queue.ErrDiffers if a function returns other matches.
func Check(path string, queues []queue.Queue) (passes int, err error) {
	content, _, err := durable.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return replay(content, queues)
}

// replay replays the events of a log. Its last line may not be whole.
func replay(content []byte, queues []queue.Queue) (passes int, err error) {
	_, passes, err = queue.Replay(queue.Config{Queues: queues, MaxTickets: maxTickets, Keep: keepEnded.Milliseconds()}, whole(content))
	return passes, err
}

// whole returns the lines of a log that were written whole.
func whole(content []byte) []byte { return content[:bytes.LastIndexByte(content, '\n')+1] }

// Close closes the file, so that another process can use it.
func (f *File) Close() (err error) {
	if f.file != nil {
		err = f.file.Close()
	}
	return errors.Join(err, f.unlock())
}
