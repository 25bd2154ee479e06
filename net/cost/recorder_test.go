package cost

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/exp/trace"

	"tendon/ecs"
	"tendon/ecs/image"
)

// newRecorder returns a recorder, and a ledger whose budget is 10 ms.
func newRecorder(t *testing.T, dir string, recorded func(Recording)) (*Recorder, *Ledger, *clock) {
	t.Helper()
	r, err := NewRecorder(dir, recorded)
	if err != nil {
		t.Fatal(err)
	}
	l, c := newLedger(t, func(k *Config) { k.Recorder = r })
	return r, l, c
}

// turnOf is a turn of some length.
func turnOf(l *Ledger, c *clock, f ecs.Tick, d time.Duration) {
	in(l, c, image.SectionFrame, 0, func() { in(l, c, rockets, d) })
	l.Turn(f)
}

// files lists what a directory holds by how names end.
func files(t *testing.T, dir, end string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*"+end))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// events counts the events of a trace; it fails on one that cannot be read.
func events(t *testing.T, path string) (n int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := trace.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for {
		switch _, err := r.ReadEvent(); {
		case errors.Is(err, io.EOF):
			return n
		case err != nil:
			t.Fatal(err)
		}
		n++
	}
}

// One slow tick among others leaves one trace, which tools can read, and one table, which says what the tick was doing.
func TestASlowTickLeavesATraceAndATable(t *testing.T) {
	dir := t.TempDir()
	var list []Recording
	r, l, c := newRecorder(t, dir, func(r Recording) { list = append(list, r) })
	for f := range ecs.Tick(100) {
		d := 9 * time.Millisecond
		if f == 70 {
			d = 11 * time.Millisecond
		}
		turnOf(l, c, f, d)
	}
	r.Close()
	traces, tables := files(t, dir, ".trace"), files(t, dir, ".txt")
	if len(traces) != 1 || len(tables) != 1 || len(files(t, dir, "")) != 2 {
		t.Fatalf("left: %v %v", traces, tables)
	}
	if events(t, traces[0]) == 0 {
		t.Error("the trace is empty")
	}
	text, err := os.ReadFile(tables[0])
	if err != nil || !strings.Contains(string(text), "tick 70 took 11 ms") || !strings.Contains(string(text), "rockets") {
		t.Errorf("%v: %s", err, text)
	}
	if len(list) != 1 || list[0].Err != nil || list[0].Trace != traces[0] || list[0].Table != tables[0] || list[0].Turn.Tick != 70 || list[0].Name != "test" {
		t.Errorf("recordings: %+v", list)
	}
}

// A server that is always too slow must not fill the disk. There are never more recordings than the bound, also after a
// restart.
func TestSlowTicksWithoutEndLeaveABoundedNumberOfFiles(t *testing.T) {
	dir := t.TempDir()
	var wrote atomic.Int64
	count := func(Recording) { wrote.Add(1) }
	r, l, c := newRecorder(t, dir, count)
	r.interval = time.Hour
	for range 100 {
		turnOf(l, c, 1, 20*time.Millisecond)
	}
	for wrote.Load() == 0 || r.busy.Load() {
		runtime.Gosched()
	}
	turnOf(l, c, 2, 20*time.Millisecond) // the recorder is free again, and the interval is not over
	r.Close()
	if n := len(files(t, dir, ".trace")); n != 1 {
		t.Errorf("%d recordings within an interval, want 1", n)
	}
	r, l, c = newRecorder(t, dir, count) // the next run
	r.files, r.interval = 3, 0
	for i := range 100 {
		turnOf(l, c, 1, 20*time.Millisecond)
		for i < 3 && (wrote.Load() < int64(2+i) || r.busy.Load()) { // each of the first is written before the next comes
			runtime.Gosched()
		}
	}
	r.Close()
	if traces, tables := files(t, dir, ".trace"), files(t, dir, ".txt"); len(traces) != 3 || len(tables) != 3 {
		t.Errorf("left: %v %v", traces, tables)
	}
}

// A server starts with any content of the directory. Each new recording replaces the oldest one, and other files stay.
func TestANewRunReplacesTheOldestRecordings(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"slow-002.trace", "slow-002.txt", "slow-007.txt", "slow-009.trace", "slow-009.txt", "slow-011.trace", "slow-1.trace", "slow-001.old", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, l, c := newRecorder(t, dir, nil)
	r.files = 3
	if n := len(files(t, dir, "")); n != 9 {
		t.Errorf("%d files before anything was slow, want the 9 that were there", n)
	}
	turnOf(l, c, 1, 20*time.Millisecond)
	r.Close()
	var left []string
	for _, path := range files(t, dir, "") {
		left = append(left, filepath.Base(path))
	}
	want := []string{"notes.txt", "slow-001.old", "slow-009.trace", "slow-009.txt", "slow-011.trace", "slow-012.trace", "slow-012.txt", "slow-1.trace"}
	if !slices.Equal(left, want) {
		t.Errorf("left: %v, want %v", left, want)
	}
}

// While a trace is being written, and however long that takes, ticks go on.
func TestATickDoesNotWaitForTheRecorder(t *testing.T) {
	release := make(chan struct{})
	r, l, c := newRecorder(t, t.TempDir(), func(Recording) { <-release })
	r.files, r.interval = 1000, 0
	for f := range ecs.Tick(1000) { // the recorder is blocked in Recorded
		turnOf(l, c, f, 20*time.Millisecond)
	}
	if got := l.Report(); got.Over != 1000 || got.Turns != 1000 {
		t.Errorf("%d of %d turns over the budget", got.Over, got.Turns)
	}
	close(release)
	r.Close()
}

// A callback that takes long delays the next recording, so that no two callbacks overlap.
func TestTheCallbackReceivesOneRecordingAtATime(t *testing.T) {
	var running, most, calls atomic.Int64
	begun, release := make(chan struct{}, 10), make(chan struct{})
	r, l, c := newRecorder(t, t.TempDir(), func(Recording) {
		most.Store(max(most.Load(), running.Add(1)))
		calls.Add(1)
		begun <- struct{}{}
		<-release
		running.Add(-1)
	})
	r.interval = 0
	turnOf(l, c, 1, 20*time.Millisecond)
	<-begun
	turnOf(l, c, 2, 20*time.Millisecond) // not recorded: the callback is running
	close(release)
	r.Close()
	if calls.Load() != 1 || most.Load() != 1 {
		t.Errorf("%d calls, %d at once", calls.Load(), most.Load())
	}
}

// A recording that cannot be written is reported, and the recorder continues.
func TestARecordingThatCannotBeWrittenIsReported(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	var list []Recording
	r, l, c := newRecorder(t, dir, func(r Recording) { list = append(list, r) })
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	turnOf(l, c, 1, 20*time.Millisecond)
	r.Close()
	if len(list) != 1 || list[0].Err == nil || list[0].Trace != "" {
		t.Errorf("recordings: %+v", list)
	}
}
