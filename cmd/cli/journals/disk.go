package journals

import (
	"fmt"
	"io"
	"os"
	"time"
)

// file is a journal as it is written. Sync makes what was written survive a power cut; it may be called while another
// goroutine writes.
type file interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

// openFile opens a file to write. Tests replace it by a disk that is full.
func openFile(path string, flags int) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|flags, 0o644)
}

// Sync is when written bytes are made to survive a power cut. They survive the end of the process in any case. Values above
// 0 are a time.Duration: one goroutine syncs all rooms at this interval.
type Sync time.Duration

const (
	// Always syncs before a tick is confirmed: each tick of each room waits for the disk.
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
