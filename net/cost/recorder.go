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

// Recorder is a flight recorder. When a turn takes longer than its budget, it writes a trace of Go's runtime and a table of
// the turn's costs. A trace covers the last 5 s, less if they exceed 16 MiB. Any number of ledgers may share a recorder.
//
// There are at most 8 recordings per run, one in 10 s, and the directory holds at most 8. A new one replaces the oldest of
// former runs, and never one of this run. A goroutine writes each recording, one at a time, and no tick waits for it.
type Recorder struct {
	dir      string
	recorded func(Recording)
	flight   *trace.FlightRecorder
	files    int           // most recordings of a run, and in the directory
	interval time.Duration // least time between two recordings

	busy    atomic.Bool // a turn is being recorded; its goroutine owns the next two fields
	written int         // recordings of this run
	next    time.Time   // when the next recording may begin
	done    sync.WaitGroup
}

// Recording describes the files about a slow turn.
type Recording struct {
	Name   string // of the ledger
	Turn   Turn
	Budget time.Duration
	Trace  string // for go tool trace; "" if it could not be written
	Table  string
	Err    error // why a file could not be written
}

// NewRecorder starts a flight recorder. A process can have one at a time. Close ends it. The files slow-001.trace,
// slow-001.txt and so on are written into dir, which is made if it does not exist. recorded receives each recording, on a
// goroutine of its own, one call at a time. Optional.
func NewRecorder(dir string, recorded func(Recording)) (*Recorder, error) {
	r := &Recorder{dir: dir, recorded: recorded, files: 8, interval: 10 * time.Second,
		flight: trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: 5 * time.Second, MaxBytes: 16 << 20})}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := r.flight.Start(); err != nil {
		return nil, fmt.Errorf("cost: no flight recorder: %w", err)
	}
	return r, nil
}

// The two files of a recording.
const (
	traceSuffix = ".trace"
	tableSuffix = ".txt"
)

// base returns the path of a recording's files without suffix.
func (r *Recorder) base(number int) string {
	return filepath.Join(r.dir, fmt.Sprintf("slow-%03d", number))
}

// place returns the path of the next recording's files without suffix. It removes the oldest recordings until there is room
// for one more: those of former runs, since this run writes no more than there is room for.
func (r *Recorder) place() (base string, err error) {
	entries, err := os.ReadDir(r.dir)
	var list []int // numbers of the recordings
	for _, e := range entries {
		number := 0
		_, _ = fmt.Sscanf(e.Name(), "slow-%d.", &number)
		if base := filepath.Base(r.base(number)); number > 0 && (e.Name() == base+traceSuffix || e.Name() == base+tableSuffix) {
			list = append(list, number)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	next := 1
	if n := len(list); n > 0 {
		next = list[n-1] + 1
	}
	for ; len(list) >= r.files; list = list[1:] {
		for _, suffix := range []string{traceSuffix, tableSuffix} {
			if e := os.Remove(r.base(list[0]) + suffix); !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	}
	return r.base(next), err
}

// slow records the ledger's turn, unless the bounds on recordings forbid it.
func (r *Recorder) slow(l *Ledger) {
	if !r.busy.CompareAndSwap(false, true) {
		return
	}
	now := time.Now()
	if r.written >= r.files || now.Before(r.next) {
		r.busy.Store(false)
		return
	}
	r.next = now.Add(r.interval)
	turn := l.turn
	turn.Parts = l.appendParts(nil, &l.turn)
	r.done.Go(func() {
		written := r.write(l, turn)
		if r.recorded != nil {
			r.recorded(written)
		}
		r.busy.Store(false)
	})
}

// write writes one recording: the table first, since it is smaller.
func (r *Recorder) write(l *Ledger, turn Turn) Recording {
	base, err := r.place()
	latest := l.Latest()
	w := Recording{Name: latest.Name, Turn: turn, Budget: latest.Budget, Trace: base + traceSuffix, Table: base + tableSuffix}
	text := fmt.Sprintf("%s, %s, of a budget of %s\n%s\nall turns up to about a second before:\n%s", w.Name,
		time.Now().UTC().Format(time.RFC3339), Short(w.Budget), w.Turn.Text(), latest.Text())
	w.Err = errors.Join(err, os.WriteFile(w.Table, []byte(text), 0o644))
	if err := r.trace(w.Trace); err != nil {
		w.Trace, w.Err = "", errors.Join(w.Err, err)
	}
	r.written++
	return w
}

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

// Close ends the recorder after the running recording is written. No ledger may use the recorder any more.
func (r *Recorder) Close() {
	r.done.Wait()
	r.flight.Stop()
}
