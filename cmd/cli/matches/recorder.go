package matches

import (
	"fmt"
	"sync/atomic"
)

// Recorder adds records to a Store on its own goroutine, so that a room never waits for the disk. A record that cannot be
// stored is lost, counted and reported.
type Recorder struct {
	queue  chan entry
	ended  chan struct{}
	report func(error)

	dropped atomic.Uint64 // the queue was full
	failed  uint64        // the store refused; belongs to the goroutine until it ended
}

// entry is a record, or a marker of Wait.
type entry struct {
	record Record
	stored chan struct{} // of a marker: closed when all records before it are stored
}

// queueLength is the maximum number of waiting records: one minute of a hanging disk at 17 matches per second.
const queueLength = 1024

// NewRecorder starts a recorder. report receives the first error of the store and the first full queue, once each, on the
// recorder's goroutine.
func NewRecorder(s *Store, report func(error)) *Recorder {
	return newRecorder(s.Add, report, queueLength)
}

func newRecorder(add func(Record) (uint64, error), report func(error), length int) *Recorder {
	r := &Recorder{queue: make(chan entry, length), ended: make(chan struct{}), report: report}
	go r.run(add)
	return r
}

// Add queues a record. It never waits. The caller must not change the record's slices afterwards.
func (r *Recorder) Add(record Record) {
	select {
	case r.queue <- entry{record: record}:
	default:
		r.dropped.Add(1)
	}
}

// Wait returns when all records that were added are stored or refused. It must not be called after Close.
func (r *Recorder) Wait() {
	stored := make(chan struct{})
	r.queue <- entry{stored: stored}
	<-stored
}

// run adds until the queue is closed and empty.
func (r *Recorder) run(add func(Record) (uint64, error)) {
	defer close(r.ended)
	reported := false
	for e := range r.queue {
		if e.stored != nil {
			close(e.stored)
			continue
		}
		if _, err := add(e.record); err != nil {
			if r.failed++; r.failed == 1 {
				r.report(err)
			}
		}
		if !reported && r.dropped.Load() > 0 { // drops come only while there is something in the queue
			reported = true
			r.report(fmt.Errorf("matches: matches are decided faster than the disk stores them: %d wait, the next are lost", cap(r.queue)))
		}
	}
}

// Close stores the waiting records. It fails if a record was lost. Add must not be called after it.
func (r *Recorder) Close() error {
	close(r.queue)
	<-r.ended
	if lost := r.failed + r.dropped.Load(); lost > 0 {
		return fmt.Errorf("matches: %d decided matches are not recorded", lost)
	}
	return nil
}
