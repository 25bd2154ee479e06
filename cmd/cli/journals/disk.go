package journals

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"tendon/cmd/cli/durable"
	"tendon/rollback/record"
)

// File is an open file of a journal. Sync makes the written bytes survive a power cut. It may be called while another goroutine
// writes.
type File interface {
	io.Writer
	io.WriterAt
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// openFile is the default of Config.Disk.
func openFile(path string, flags int) (File, error) {
	return os.OpenFile(path, os.O_WRONLY|flags, 0o644)
}

// readFile reads a file. A pipe or a device is an error: reading it would block.
func readFile(path string) ([]byte, fs.FileInfo, error) {
	data, info, err := durable.ReadFile(path)
	if errors.Is(err, durable.ErrIrregular) {
		err = fmt.Errorf("%w: %w", record.ErrNotRecord, durable.ErrIrregular)
	}
	return data, info, err
}

// advised adds to the error of a full disk the directory, and the space to free for a number of journals.
func advised(err error, dir string, journals int) error {
	return durable.Advised(err, dir, max(journals, 1))
}

// Sync is when written bytes are made to survive a power cut. They survive the end of the process in any case. Values above
// 0 are a time.Duration: one goroutine syncs all rooms at this interval.
type Sync time.Duration

const (
	// Always syncs before a tick is confirmed: clients wait for the disk.
	Always Sync = 0
	// Never leaves it to the system.
	Never Sync = -1
)

// The bounds of an interval. Clients return the ticks that a power cut lost, and keep about a quarter of a minute.
const (
	leastSync = Sync(time.Millisecond)
	mostSync  = Sync(10 * time.Second)
)

// UnmarshalText reads always, never or a duration.
func (s *Sync) UnmarshalText(text []byte) error {
	switch string(text) {
	case "always":
		*s = Always
		return nil
	case "never":
		*s = Never
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if *s = Sync(d); err != nil || *s < leastSync || *s > mostSync {
		return fmt.Errorf("%q: give always, never, or a time from 1ms to 10s", text)
	}
	return nil
}

// String returns what UnmarshalText reads.
func (s Sync) String() string {
	switch s {
	case Always:
		return "always"
	case Never:
		return "never"
	}
	return time.Duration(s).String()
}
