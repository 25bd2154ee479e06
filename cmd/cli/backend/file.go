package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tendon/cmd/cli/backend/queue"
	"tendon/cmd/cli/durable"
)

// File is a Log in a directory: tickets.log, beside the log before it, tickets.before.log. One process at a time can use it.
type File struct {
	path   string
	file   *os.File
	unlock func() error
	torn   bool // an append failed, so the end of the file is not known
}

const (
	logName    = "tickets.log"
	beforeName = "tickets.before.log"
)

// OpenFile opens the log in a directory, which is made if it does not exist.
func OpenFile(dir string) (*File, error) {
	if err := durable.MakeDirectory(dir); err != nil {
		return nil, err
	}
	unlock, err := durable.Lock(filepath.Join(dir, logName+".lock"))
	if errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("%s is in use: another backend runs with this directory; stop it, or choose another one", dir)
	}
	if err != nil {
		return nil, err
	}
	return &File{path: filepath.Join(dir, logName), unlock: unlock}, nil
}

// Recovered reads the file. Its last line may not be whole.
func (f *File) Recovered(context.Context) ([]byte, error) {
	content, _, err := durable.ReadFile(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// Append writes events to the disk.
func (f *File) Append(_ context.Context, events []byte, begins bool) error {
	if begins {
		before := filepath.Join(filepath.Dir(f.path), beforeName)
		_ = os.Remove(before)
		_ = os.Link(f.path, before) // for Check only
		if err := durable.Replace(f.path, events); err != nil {
			return err
		}
		if f.file != nil {
			_ = f.file.Close() // it was synced
		}
		var err error
		f.file, err = os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0)
		f.torn = err != nil
		return err
	}
	if f.file == nil || f.torn {
		return fmt.Errorf("%s cannot be written: start the backend again", f.path)
	}
	_, err := f.file.Write(events)
	if err = errors.Join(err, f.file.Sync()); err != nil {
		f.torn = true
	}
	return err
}

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
