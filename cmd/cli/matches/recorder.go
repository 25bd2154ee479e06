package matches

import (
	"fmt"
	"sync/atomic"
)

// Recorder adds records to a Store on a goroutine of its own, so that a room never waits for the disk. A record that
// cannot be kept is lost, counted and told of; the matches go on.
type Recorder struct {
	queue    chan entry
	ended    chan struct{}
	complain func(error)

	dropped atomic.Uint64 // the queue was full
	failed  uint64        // the store refused; belongs to the goroutine until it ended
}

// entry is a record that waits, or somebody who waits for those before.
type entry struct {
	record Record
	kept   chan struct{} // closed when it is its turn; nil: a record
}

// queueLength is how many records wait at most: a disk that hangs for a minute loses nothing while every second 17
// matches are decided.
const queueLength = 1024

// NewRecorder starts a recorder. It tells the first record that the store refuses and the first that found the queue
// full, once each, on its own goroutine.
func NewRecorder(s *Store, complain func(error)) *Recorder {
	return newRecorder(s.Add, complain, queueLength)
}

func newRecorder(add func(Record) (uint64, error), complain func(error), length int) *Recorder {
	r := &Recorder{queue: make(chan entry, length), ended: make(chan struct{}), complain: complain}
	go r.run(add)
	return r
}

// Add hands over a record and what it points to. It never waits.
func (r *Recorder) Add(record Record) {
	select {
	case r.queue <- entry{record: record}:
	default:
		r.dropped.Add(1)
	}
}

// Wait returns when all that was added is kept, or refused. It must not be called after Close.
func (r *Recorder) Wait() {
	kept := make(chan struct{})
	r.queue <- entry{kept: kept}
	<-kept
}

// run adds until the queue is closed and empty.
func (r *Recorder) run(add func(Record) (uint64, error)) {
	defer close(r.ended)
	told := false
	for e := range r.queue {
		if e.kept != nil {
			close(e.kept)
			continue
		}
		if _, err := add(e.record); err != nil {
			if r.failed++; r.failed == 1 {
				r.complain(err)
			}
		}
		if !told && r.dropped.Load() > 0 { // drops come only while there is something in the queue
			told = true
			r.complain(fmt.Errorf("matches: more matches are decided than the disk takes: %d wait, the next are lost", cap(r.queue)))
		}
	}
}

// Close returns when all that waits is kept. It is an error if a record was lost. Add must not be called after it.
func (r *Recorder) Close() error {
	close(r.queue)
	<-r.ended
	if lost := r.failed + r.dropped.Load(); lost > 0 {
		return fmt.Errorf("matches: %d decided matches are not recorded", lost)
	}
	return nil
}
