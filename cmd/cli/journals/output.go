package journals

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"tendon/net/cluster"
	"tendon/net/room"
)

// output buffers the bytes of a journal between its room and the goroutine that writes them.
type output struct {
	mu       sync.Mutex // held for a copy of the bytes of a tick
	queued   []byte     // to be written after writing
	accepted uint64     // bytes that were ever queued
	durable  uint64     // of accepted, the bytes that are written, and with Always also synced
	err      error      // of the last write; nil after one that succeeded
	listed   bool       // the journal is in writers.ready, or is being written; guarded by writers.mu
	wanted   uint64     // of accepted, the bytes to write before listed becomes false; guarded by writers.mu

	file    chan struct{} // a lock: it has an element while the file is written
	writing []byte
	sent    int // bytes of writing that are written

	// Only the log of a cluster begins anew.
	fresh    bool // the next Write begins the journal anew; of the room's goroutine
	begins   bool // the journal begins anew at byte begin of queued
	begin    int
	restarts bool // it begins anew with writing
	closing  bool // no more bytes are queued: the last ones are written with the release of the room
	releases bool // the bytes of writing are written with the release
}

func newOutput() output { return output{file: make(chan struct{}, 1)} }

// Write queues bytes. It does not wait for the disk.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fresh {
		o.fresh, o.begins, o.begin = false, true, len(o.queued)
	}
	o.queued = append(o.queued, b...)
	o.accepted += uint64(len(b))
	return len(b), nil
}

// end ends the queue.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closing = true
}

// ends reports whether the queue has ended.
func (o *output) ends() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closing
}

func (o *output) state() (accepted, durable uint64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.accepted, o.durable, o.err
}

// restarting reports whether the bytes that begin the journal anew are still queued.
func (o *output) restarting() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.begins
}

// next returns the bytes to write now: the rest of writing, or else the queued bytes. Those before a new beginning come first, alone.
func (o *output) next() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sent < len(o.writing) {
		return o.writing[o.sent:]
	}
	o.sent, o.restarts = 0, o.begins && o.begin == 0
	if o.begins && o.begin > 0 {
		o.writing = append(o.writing[:0], o.queued[:o.begin]...)
		o.queued = append(o.queued[:0], o.queued[o.begin:]...)
		o.begin = 0
	} else {
		o.writing, o.queued, o.begins = o.queued, o.writing[:0], false
	}
	o.releases = o.closing && !o.restarts && len(o.queued) == 0 && len(o.writing) <= cluster.MaxBody
	return o.writing
}

// locked calls f while no other goroutine uses the file.
func (o *output) locked(f func() error) error {
	o.file <- struct{}{}
	defer func() { <-o.file }()
	return f()
}

// drain writes the next bytes, and syncs them with Always. It waits for the disk.
func (j *roomJournal) drain() error { return j.out.locked(j.drainLocked) }

func (j *roomJournal) drainLocked() error {
	o := &j.out
	if err := j.repeatProbe(); err != nil {
		return err
	}
	err := j.write(o.next())
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err = err; err == nil {
		o.durable += uint64(len(o.writing))
		o.sent = 0
		if o.writing = o.writing[:0]; cap(o.writing) > keepBytes {
			o.writing = nil
		}
	}
	return err
}

// write writes the rest of output.writing.
func (j *roomJournal) write(rest []byte) error {
	if len(rest) > 0 {
		if j.log != nil {
			j.log.begins, j.log.releases = j.out.restarts, j.out.releases
		}
		n, err := j.file.Write(rest)
		n = min(max(n, 0), len(rest))
		j.out.sent += n
		if n < len(rest) && err == nil {
			err = io.ErrShortWrite
		}
		if errors.Is(err, cluster.ErrLost) {
			j.check(err)
		}
		if err != nil {
			return fmt.Errorf("journals: %d of %d bytes were written: %w", n, len(rest), err)
		}
		j.dirty.Store(true)
	}
	if j.store.config.Sync == Always {
		j.sync()
		if err := j.broken.Load(); err != nil {
			return *err
		}
	}
	return nil
}

const (
	// maxQueued bounds the bytes of a journal that wait for a slow disk. The match waits while there are more.
	maxQueued = 4 << 20
	// keepBytes is the capacity that an empty buffer of a journal keeps. Most states fit into it.
	keepBytes = 256 << 10
	// maxWriters bounds the goroutines that write the journals of a store. A call to a slow disk blocks one of them, so there may
	// be one for each journal.
	maxWriters = 1 << 10
	// idleWriters is the maximum number of these goroutines that wait for the next write. The others end.
	idleWriters = 64
	// maxBehind bounds the ticks of the three seconds for which a match continues without its journal. At most twice as many ticks
	// are confirmed and not written. Clients can return the last 1024 ticks.
	maxBehind = 256
)

var (
	errBehind  = fmt.Errorf("the disk is too slow: %d MiB wait to be written", maxQueued>>20)
	errHangs   = errors.New("the disk is too slow: a write takes several seconds")
	errStalled = errors.New("the disk does not answer")
	errLease   = errors.New("the cluster does not answer, and another server may have the room")
)

// progress begins to write the entries since the last call that returned nil, or continues that write. It returns nil when they are
// written, room.ErrPending while they are not, or an error. It does not wait for the disk.
//
// With Always, the match waits if a write takes longer than a second. Otherwise the limit is a quarter of a second: the match then
// continues without its journal, for at most three seconds. In a cluster it continues only while no other server can have the room;
// otherwise it waits as with Always. The limits are numbers of calls, of which a room makes one for each
// tick. So the time in which the process does not run has no effect.
func (j *roomJournal) progress() error {
	if err := j.broken.Load(); err != nil {
		return *err
	}
	if err := j.away.Load(); err != nil {
		return *err
	}
	accepted, durable, failed := j.out.state()
	rate, always := j.store.config.Game.TickRate, j.store.config.Sync == Always || j.log != nil && !j.log.Leased()
	if j.age++; durable >= j.mark {
		j.mark, j.age = accepted, 0
	}
	if j.log != nil && j.store.config.Sync > 0 && !always {
		return j.group(rate)
	}
	if !j.begun {
		if j.behind = j.behind && durable < accepted; j.behind {
			if err := j.tooFar(accepted, durable, rate, always); err != nil {
				j.store.writers.list(j, accepted, true)
				return cmp.Or(failed, err)
			}
		}
		_ = j.writer.Flush() // output accepts all bytes
		j.begun, j.calls = true, 0
		j.until, durable, failed = j.out.state()
	}
	if durable < j.until {
		j.store.writers.list(j, j.until, always || j.calls > 0)
	}
	switch j.calls++; {
	case durable >= j.until:
		j.begun = false
		return nil
	case failed != nil:
		return failed
	case always && j.calls > rate:
		j.waits = j.store.stalled("the match in room %s waits: a write to its journal takes more than a second", j.room) || j.waits
		return errStalled
	case !always && (j.behind || j.calls > max(rate/4, 1)):
		if !j.behind {
			j.store.stalled("a write to the journal of room %s takes more than a quarter of a second; until it ends, a crash may lose ticks", j.room)
		}
		j.begun, j.behind = false, true
		return nil
	}
	return room.ErrPending
}

// tooFar returns why a match that continues without its journal must wait.
func (j *roomJournal) tooFar(accepted, durable uint64, rate int, waits bool) error {
	switch {
	case waits:
		return errLease
	case accepted-durable > maxQueued:
		return errBehind
	case j.age > min(3*rate, maxBehind):
		return errHangs
	}
	return nil
}

// stalled reports a slow disk, once and again after a minute without a stall. It returns true if it did.
func (s *Store) stalled(format, room string) bool {
	s.writers.mu.Lock()
	begins := s.writers.stalls.begins(1, 0, time.Now())
	s.writers.mu.Unlock()
	if begins {
		s.config.Report(Event{Kind: Slow, Room: room, Err: fmt.Errorf(format, room)})
	}
	return begins
}

// writers are the goroutines that write the journals of a store. No room waits for them.
type writers struct {
	mu      sync.Mutex // held for a few instructions
	wake    sync.Cond
	ready   []*roomJournal
	idle    int
	running int
	closed  bool
	stalls  lag // of commits
	lags    lag // of syncs at an interval
	work    *sync.WaitGroup
}

func (w *writers) init(work *sync.WaitGroup) {
	w.wake.L, w.work = &w.mu, work
}

// list adds a journal to the journals to write, at least up to until. Usually one goroutine writes all of them. If more is set,
// another goroutine may write too, because the running ones are slow, or because several syncs take little longer than one.
func (w *writers) list(j *roomJournal, until uint64, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if j.out.wanted = until; !j.out.listed {
		j.out.listed = true
		w.ready = append(w.ready, j)
	}
	switch {
	case len(w.ready) == 0 || w.idle < w.running && !more: // a running goroutine writes them
	case len(w.ready) <= w.idle || w.idle > 0 && !more:
		w.wake.Signal()
	case w.running < maxWriters:
		w.running++
		w.work.Go(w.run)
	}
}

// run writes listed journals until close, or until enough other goroutines are idle. It wakes the rooms of several fast writes
// together.
func (w *writers) run() {
	var written []*roomJournal
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if len(w.ready) == 0 && w.idle >= idleWriters {
			w.running--
			return
		}
		for len(w.ready) == 0 && !w.closed {
			w.idle++
			w.wake.Wait()
			w.idle--
		}
		if w.closed {
			return
		}
		j := w.ready[0]
		w.ready = slices.Delete(w.ready, 0, 1)
		w.mu.Unlock()
		begun := time.Now()
		err := j.drain()
		if err == nil { // otherwise the room begins the next attempt
			written = append(written, j)
		}
		slow := time.Since(begun) > fastWrite
		w.mu.Lock()
		_, durable, _ := j.out.state() // under the lock, so that no call of list is lost
		if j.out.listed = err == nil && durable < j.out.wanted; j.out.listed {
			w.ready = append(w.ready, j)
		}
		if len(w.ready) == 0 || slow || len(written) >= wakeTogether {
			w.mu.Unlock()
			for _, j := range written {
				j.wake()
			}
			clear(written)
			written = written[:0]
			w.mu.Lock()
		}
	}
}

const (
	// fastWrite is the longest write after which the rooms of finished writes may wait for the next one.
	fastWrite = time.Millisecond
	// wakeTogether is the maximum number of rooms that are woken together.
	wakeTogether = 64
)

// close ends the goroutines. Store.Close then writes the queued bytes.
func (w *writers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.wake.Broadcast()
}
