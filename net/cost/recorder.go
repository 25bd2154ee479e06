package cost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/trace"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Recorder is a flight recorder. When a turn takes longer than its budget, it writes a trace of Go's runtime for the last
// seconds, and a table of the turn's costs beside it. Any number of ledgers may share it. A goroutine of its own writes at
// most one recording at a time, and the directory holds at most Files recordings. No tick waits for it.
type Recorder struct {
	config RecorderConfig
	flight *trace.FlightRecorder
	clock  func() time.Duration
	free   atomic.Int64 // recordings that still may be written
	next   atomic.Int64 // when the next may be, by the clock
	busy   atomic.Bool  // late is being written; who sets it owns late
	late   late
	wake   chan struct{}
	done   sync.WaitGroup
	number int   // of the last recording
	former []int // numbers of the recordings of former runs that are still there, the oldest first
}

// late is a turn that took too long.
type late struct {
	ledger *Ledger
	turn   turn
}

// RecorderConfig describes a flight recorder.
type RecorderConfig struct {
	// Dir is where recordings are left, as slow-001.trace and slow-001.txt and so on; it is made if need be. Required.
	Dir string
	// Files is the number of recordings that a run writes, and that the directory holds; 0 means 8. A new recording
	// replaces the oldest of former runs, and never one of this run.
	Files int
	// Interval is the least time between two recordings; 0: 10 s.
	Interval time.Duration
	// Span is how much of the past a trace holds at least; 0: 5 s. It is less where more than Bytes went by.
	Span time.Duration
	// Bytes bounds the memory that traces are kept in; 0: 16 MiB.
	Bytes uint64
	// Recorded receives each recording, on the recorder's goroutine. Optional.
	Recorded func(Recording)
	// Clock returns the time since a fixed moment. Optional: the default is the system's monotonic clock.
	Clock func() time.Duration
}

// Recording is what a slow turn left.
type Recording struct {
	Name   string // whose turn it was
	Turn   Turn
	Budget time.Duration
	Trace  string // for go tool trace; "" if it could not be written
	Table  string
	Err    error // why something could not be written
}

// NewRecorder starts a flight recorder. A process can have one at a time. Close ends it.
func NewRecorder(c RecorderConfig) (*Recorder, error) {
	if c.Files == 0 {
		c.Files = 8
	}
	if c.Interval == 0 {
		c.Interval = 10 * time.Second
	}
	if c.Span == 0 {
		c.Span = 5 * time.Second
	}
	if c.Bytes == 0 {
		c.Bytes = 16 << 20
	}
	switch {
	case c.Dir == "":
		return nil, fmt.Errorf("%w: Dir is empty", ErrConfig)
	case c.Files < 0:
		return nil, fmt.Errorf("%w: Files is %d, want at least 1, or 0 for 8", ErrConfig, c.Files)
	case c.Interval < 0:
		return nil, fmt.Errorf("%w: Interval is %v, want 0 or more", ErrConfig, c.Interval)
	case c.Span < 0:
		return nil, fmt.Errorf("%w: Span is %v, want 0 or more", ErrConfig, c.Span)
	}
	r := &Recorder{config: c, clock: c.Clock, wake: make(chan struct{}, 1),
		flight: trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: c.Span, MaxBytes: c.Bytes})}
	if r.clock == nil {
		base := time.Now()
		r.clock = func() time.Duration { return time.Since(base) }
	}
	if err := r.count(); err != nil {
		return nil, err
	}
	if err := r.flight.Start(); err != nil {
		return nil, fmt.Errorf("cost: no flight recorder: %w", err)
	}
	r.done.Go(r.run)
	return r, nil
}

// count looks at the recordings that are there.
func (r *Recorder) count() error {
	if err := os.MkdirAll(r.config.Dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(r.config.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		number := 0
		if n, _ := fmt.Sscanf(e.Name(), "slow-%d.", &number); n != 1 || number < 1 {
			continue
		}
		if base := filepath.Base(r.base(number)); e.Name() == base+traceSuffix || e.Name() == base+tableSuffix {
			r.former = append(r.former, number)
		}
	}
	slices.Sort(r.former)
	r.former = slices.Compact(r.former)
	if n := len(r.former); n > 0 {
		r.number = r.former[n-1]
	}
	r.free.Store(int64(r.config.Files))
	return nil
}

// The two files of a recording.
const (
	traceSuffix = ".trace"
	tableSuffix = ".txt"
)

// base returns what the names of a recording's files begin with.
func (r *Recorder) base(number int) string {
	return filepath.Join(r.config.Dir, fmt.Sprintf("slow-%03d", number))
}

// giveWay removes the oldest recordings of former runs until there is room for one more.
func (r *Recorder) giveWay() (err error) {
	own := r.config.Files - int(r.free.Load())
	for len(r.former) > 0 && own+len(r.former) >= r.config.Files {
		base := r.base(r.former[0])
		r.former = r.former[1:]
		for _, path := range []string{base + traceSuffix, base + tableSuffix} {
			if e := os.Remove(path); e != nil && !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	}
	return err
}

// slow has the ledger's turn recorded, if it is time to.
func (r *Recorder) slow(l *Ledger) {
	now := int64(r.clock())
	if r.free.Load() <= 0 || now < r.next.Load() || !r.busy.CompareAndSwap(false, true) {
		return
	}
	r.next.Store(now + int64(r.config.Interval))
	r.late.ledger = l
	if len(r.late.turn.parts) != len(l.turn.parts) {
		r.late.turn.parts = make([]part, len(l.turn.parts))
	}
	r.late.turn.take(&l.turn)
	r.wake <- struct{}{} // has room: no recording is being written
}

// run writes what is late until Close.
func (r *Recorder) run() {
	for range r.wake {
		told := r.write()
		r.busy.Store(false)
		if r.config.Recorded != nil {
			r.config.Recorded(told)
		}
	}
}

// write writes one recording. The table is written first: there is less of it to go wrong.
func (r *Recorder) write() Recording {
	l := r.late.ledger
	r.number++
	base := r.base(r.number)
	told := Recording{Name: l.config.Name, Turn: l.export(&r.late.turn), Budget: l.config.Budget, Trace: base + traceSuffix, Table: base + tableSuffix}
	told.Err = r.giveWay()
	latest := l.Latest()
	text := fmt.Sprintf("%s, %s, of a budget of %s\n%s\nall turns up to about a second before:\n%s", told.Name,
		time.Now().UTC().Format(time.RFC3339), Short(told.Budget), told.Turn.Text(), latest.Text())
	told.Err = errors.Join(told.Err, os.WriteFile(told.Table, []byte(text), 0o644))
	if err := r.trace(told.Trace); err != nil {
		told.Trace, told.Err = "", errors.Join(told.Err, err)
	}
	r.free.Add(-1)
	return told
}

// trace writes what the process did in the last seconds.
func (r *Recorder) trace(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = r.flight.WriteTo(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// Close ends the recorder when what is being written is. No ledger may use it any more.
func (r *Recorder) Close() {
	close(r.wake)
	r.done.Wait()
	r.flight.Stop()
}
