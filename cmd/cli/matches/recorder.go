package matches

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Recorder adds records to a Store on its own goroutine, so that a room never waits for the disk. A record that cannot be
// stored is lost, counted and reported.
type Recorder struct {
	queue   chan entry
	closing chan struct{} // closed by Close
	ended   chan struct{} // closed when every record is stored or refused
	report  func(error)
	also    *Recorder // receives each record too. Optional

	added, stored atomic.Uint64 // records
	refused       atomic.Uint64 // records that the store refused
	dropped       atomic.Uint64 // records that found the queue full
}

// entry is a record, or a marker of Wait.
type entry struct {
	record Record
	stored chan struct{} // of a marker: closed when all records before it are stored
}

// queueLength is the maximum number of waiting records: one minute of a hanging disk at 17 matches per second.
const queueLength = 1024

// checkInterval is the time between two checks of the file.
const checkInterval = time.Second

// NewRecorder starts a recorder. report receives the first error of the store and the first full queue, once each. lost receives
// each record that the store refused. Both are called on the recorder's goroutine, which also checks the file, first at once and then
// each second.
func NewRecorder(s *Store, report func(error), lost func(Record)) *Recorder {
	return newRecorder(s.check, func(r Record) (uint64, error) {
		id, err := s.Add(r)
		if err != nil {
			lost(r)
		}
		return id, err
	}, report, queueLength)
}

func newRecorder(check func() error, add func(Record) (uint64, error), report func(error), length int) *Recorder {
	r := &Recorder{queue: make(chan entry, length), closing: make(chan struct{}), ended: make(chan struct{}), report: report}
	go r.run(check, add)
	return r
}

// And makes a recorder add each further record to another one, too. It must be called before Add. Wait and Close then hold for both.
func (r *Recorder) And(other *Recorder) { r.also = other }

// Add queues a record. It never waits. The caller must not change the record's slices afterwards.
func (r *Recorder) Add(record Record) {
	if r.also != nil {
		r.also.Add(record)
	}
	r.added.Add(1)
	select {
	case r.queue <- entry{record: record}:
	default:
		r.dropped.Add(1)
	}
}

// Wait returns nil when all records that were added are stored or refused. It returns the context's error if that is done first.
func (r *Recorder) Wait(ctx context.Context) error {
	if r.also != nil {
		if err := r.also.Wait(ctx); err != nil {
			return err
		}
	}
	stored := make(chan struct{})
	select {
	case r.queue <- entry{stored: stored}:
	case <-r.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-stored:
		return nil
	case <-r.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Settled reports whether no record waits to be stored.
func (r *Recorder) Settled() bool {
	done := r.stored.Load() + r.refused.Load() + r.dropped.Load()
	return done == r.added.Load() && (r.also == nil || r.also.Settled())
}

// run adds until Close was called and the queue is empty.
func (r *Recorder) run(check func() error, add func(Record) (uint64, error)) {
	defer close(r.ended)
	failed, full, closing := false, false, false
	fail := func(err error) {
		if err != nil && !failed {
			failed = true
			r.report(err)
		}
	}
	var checks <-chan time.Time
	if check != nil {
		ticker := time.NewTicker(checkInterval)
		defer ticker.Stop()
		checks = ticker.C
		fail(check())
	}
	for {
		var e entry
		select {
		case e = <-r.queue:
		default:
			if closing {
				return
			}
			select {
			case e = <-r.queue:
			case <-checks:
				fail(check())
				continue
			case <-r.closing:
				closing = true
				continue
			}
		}
		if e.stored != nil {
			close(e.stored)
			continue
		}
		_, err := add(e.record)
		if fail(err); err == nil {
			r.stored.Add(1)
		} else {
			r.refused.Add(1)
		}
		if !full && r.dropped.Load() > 0 { // drops come only while there is something in the queue
			full = true
			r.report(fmt.Errorf("matches: matches are decided faster than the disk stores them: %d wait, the next are lost", cap(r.queue)))
		}
	}
}

// Close stores the waiting records, for at most 5 s. It fails if a record was lost. Add must not be called after it.
func (r *Recorder) Close() (err error) {
	if r.also != nil {
		defer func() { err = errors.Join(err, r.also.Close()) }()
	}
	close(r.closing)
	select {
	case <-r.ended:
	case <-time.After(closeTimeout):
	}
	if lost := r.added.Load() - r.stored.Load(); lost > 0 {
		return fmt.Errorf("%d of the decided matches are not recorded", lost)
	}
	return nil
}
