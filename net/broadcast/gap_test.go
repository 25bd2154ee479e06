package broadcast

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// gaps change a broadcast that a viewer has watched up to tick 420. jumps is the number of gaps that the viewer meets.
var gaps = map[string]struct {
	change func(m *match, to *memory)
	jumps  uint64
}{
	"missing": {func(m *match, to *memory) {
		m.play(fragmentTicks)
		to.await(8 * fragmentTicks)
		if err := to.Remove("run-1/420.ticks"); err != nil {
			m.t.Error(err)
		}
		m.play(3 * fragmentTicks)
	}, 1},
	"not written": {func(m *match, to *memory) {
		m.writer.Close(false)() // a writer has a copy of the config
		m.config.Failed = nil
		to.put = func(name string) error {
			if name == "run-1/420.full" {
				return errors.New("the disk is full")
			}
			return nil
		}
		m.start()
		m.play(4 * fragmentTicks)
	}, 1},
	"damaged": {func(m *match, to *memory) {
		m.play(fragmentTicks)
		to.await(8 * fragmentTicks)
		to.mu.Lock()
		to.files["run-1/420.ticks"][99] ^= 1
		to.mu.Unlock()
		m.play(3 * fragmentTicks)
	}, 1},
	"late": {func(m *match, _ *memory) { m.play(20 * fragmentTicks) }, 1},
	"restart": {func(m *match, _ *memory) {
		m.writer.Close(false)()
		m.config.Run = "run-2"
		m.start()
		m.play(4 * fragmentTicks)
	}, 1},
	"another match": {func(m *match, to *memory) {
		m.writer.Close(true)()
		next := newMatch(m.t, 9, to, 0)
		next.config.Run, next.config.Header.Match = "run-3", 78
		next.writer.Close(false)()
		next.start()
		next.play(4 * fragmentTicks)
		*m = *next
	}, 1},
	"none": {func(m *match, _ *memory) { m.play(4 * fragmentTicks) }, 0},
}

// A viewer continues with a newer fragment if one is missing, damaged or no longer there, and in the run of the next server.
func TestAViewerContinuesAfterAGap(t *testing.T) {
	for name, c := range gaps {
		to := newMemory()
		m := newMatch(t, 5, to, 0)
		m.play(7 * fragmentTicks)
		to.await(7 * fragmentTicks)
		v := watch(game(), to)
		v.until(time.Second / 10)
		if v.steps(t); v.Stats().Tick != 7*fragmentTicks {
			t.Fatalf("%s: tick %d before the change", name, v.Stats().Tick)
		}
		c.change(m, to)
		m.writer.Close(true)()
		for range 30 {
			v.until(v.now + 10*time.Second)
			v.steps(t)
		}
		s := v.Stats()
		if s.Tick != m.world.Tick() || s.Jumps != c.jumps || v.err != nil || !s.Over {
			t.Errorf("%s: tick %d of %d, %d jumps, over: %v, %v", name, s.Tick, m.world.Tick(), s.Jumps, s.Over, v.err)
		}
	}
}

// A fragment of which a file cannot be written leaves no file behind, and the files of the time without an index are removed later.
func TestAFullDiskLeavesNoFiles(t *testing.T) {
	to := newMemory()
	m := newMatch(t, 6, to, 0)
	m.writer.Close(false)()
	refused := ".ticks"
	to.put = func(name string) error {
		if refused != "" && strings.HasSuffix(name, refused) {
			return errors.New("the disk is full")
		}
		return nil
	}
	m.config.Failed = nil
	for _, refused = range []string{".ticks", IndexName, ""} {
		m.start()
		m.play(20 * fragmentTicks)
		if refused == "" {
			m.writer.Close(true)()
			break
		}
		m.writer.Close(false)()
		if refused == ".ticks" && len(to.files) != 1 {
			t.Errorf("%d files, want the index alone", len(to.files))
		}
		clear(to.files)
	}
	if len(to.files) != 1+2*keptFragments {
		t.Errorf("%d files", len(to.files))
	}
}

// The first and the last index are written again after an error: viewers wait for them.
func TestTheIndexIsWrittenAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newMemory()
		m := newMatch(t, 6, to, 1000*fragmentTicks) // no fragment becomes visible before the end
		m.writer.Close(false)()
		m.config.Failed = nil
		clear(to.files)
		failures := 0
		to.put = func(name string) error {
			if failures > 0 && name == IndexName {
				failures--
				return errors.New("the disk is full")
			}
			return nil
		}
		failures = 1
		m.start()
		synctest.Wait()
		if to.files[IndexName] != nil {
			t.Fatal("the first attempt did not fail")
		}
		m.play(fragmentTicks)
		synctest.Wait()
		if to.files[IndexName] == nil {
			t.Error("no index after the first fragment")
		}
		failures = endTries // the first is that of the fragment
		m.writer.Close(true)()
		if x := to.index(); !x.Over || x.Last != fragmentTicks || failures > 0 {
			t.Errorf("the index is %+v, %d attempts had to fail", x, failures)
		}
	})
}

// A store that does not return delays no tick. Fragments beyond the queue are dropped, and viewers jump over them.
func TestAStoreThatHangsDelaysNoTick(t *testing.T) {
	to := newMemory()
	m := newMatch(t, 6, to, 0)
	m.writer.Close(false)()
	hang := make(chan struct{})
	to.put = func(string) error { <-hang; return nil }
	var failures []error
	m.config.Failed = func(err error) { failures = append(failures, err) }
	m.config.Run = "run-2"
	m.start()
	m.hangs = true
	m.play((maxJobs + 10) * fragmentTicks)
	close(hang)
	to.await((maxJobs/2 - 1) * fragmentTicks)
	m.play(fragmentTicks)
	m.writer.Close(true)()
	if len(failures) == 0 || !errors.Is(failures[0], errDropped) {
		t.Errorf("reported: %v", failures)
	}
	v := watch(game(), to)
	v.until(time.Minute)
	v.steps(t)
	if s := v.Stats(); s.Tick != m.world.Tick() || v.err != nil {
		t.Errorf("tick %d of %d, %v", s.Tick, m.world.Tick(), v.err)
	}
}

// A view may see a state that neither a viewer nor the file has. Where that changes the match, the viewer waits for a newer
// fragment. It reports no difference.
func TestAViewBeyondTheFileIsNoDifference(t *testing.T) {
	to := newMemory()
	m := newMatch(t, 13, to, 0)
	m.back, m.views = 40, true
	m.play(8 * fragmentTicks)
	m.writer.Close(true)()
	v := watch(game(), to)
	for range 60 {
		v.until(v.now + time.Second)
		v.steps(t)
	}
	if n, s := len(to.asked), v.Stats(); v.err != nil || n < 20 || n > 90 || s.Received == 0 {
		t.Errorf("%d requests in a minute, %d ticks received, %v", n, s.Received, v.err)
	}
}
