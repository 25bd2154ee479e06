package matches

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Stream is a log of records that the servers of a cluster share. *jetstream.Results of package tendon/net/cluster/jetstream implements it.
type Stream interface {
	// Add stores a record, unless there is one of this end of a match in the room.
	Add(ctx context.Context, room, end string, record []byte) (added bool, err error)
	// Newest calls f with the records of a room, or of all rooms if it is empty, newest first, until f returns false.
	Newest(ctx context.Context, room string, f func(number uint64, record []byte) bool) error
}

const (
	streamLimit = time.Minute // for which a recorder tries to add a record
	streamRetry = 250 * time.Millisecond
)

// NewStreamRecorder starts a recorder of a stream. While the stream does not accept a record, the recorder tries again for a minute. report
// and lost are those of NewRecorder.
func NewStreamRecorder(s Stream, report func(error), lost func(Record)) *Recorder {
	var r *Recorder
	ready := make(chan struct{}) // r is set
	r = newRecorder(nil, func(record Record) (uint64, error) {
		<-ready
		err := addTo(s, &record, r.closing)
		if err != nil {
			lost(record)
		}
		return 0, err
	}, report, queueLength)
	close(ready)
	return r
}

// addTo adds a record to a stream. When closing is closed, it does not try again.
func addTo(s Stream, r *Record, closing <-chan struct{}) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("matches: the record cannot be encoded as JSON: %w", err)
	}
	if len(text) > maxRecord {
		return ErrTooLarge
	}
	end := fmt.Sprintf("%d-%d", r.Match, r.Tick)
	if r.Match == 0 { // always different
		end += "-" + rand.Text()
	}
	ctx, cancel := context.WithTimeout(context.Background(), streamLimit)
	defer cancel()
	for {
		within, done := context.WithTimeout(ctx, closeTimeout/2)
		_, err := s.Add(within, r.Room, end, text)
		done()
		if err == nil {
			return nil
		}
		select {
		case <-closing:
			return err
		case <-ctx.Done():
			return err
		case <-time.After(streamRetry):
		}
	}
}

// errStop ends the reading of a stream.
var errStop = errors.New("matches: stopped")

// ReadStream returns the records of a stream, newest first: those of a room, or of all rooms if it is empty. Their ids are those of the
// stream. An error ends it.
func ReadStream(ctx context.Context, s Stream, room string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var failed error
		err := s.Newest(ctx, room, func(number uint64, text []byte) bool {
			r, err := decode(number, text)
			if err != nil {
				failed = err
				return false
			}
			if !yield(r, nil) {
				failed = errStop
				return false
			}
			return true
		})
		if failed == nil {
			failed = err
		}
		if failed != nil && failed != errStop {
			yield(Record{}, failed)
		}
	}
}

// Merge returns the records of two sources, newest first. An end of a match that both have is returned once, as a has it.
func Merge(a, b iter.Seq2[Record, error]) iter.Seq2[Record, error] {
	type end struct {
		room        string
		match, tick uint64
	}
	return func(yield func(Record, error) bool) {
		nextA, stopA := iter.Pull2(a)
		defer stopA()
		nextB, stopB := iter.Pull2(b)
		defer stopB()
		seen := map[end]bool{}
		one, errA, moreA := nextA()
		two, errB, moreB := nextB()
		for moreA || moreB {
			var r Record
			var err error
			if moreA && (!moreB || errA != nil || errB == nil && !one.Ended.Before(two.Ended)) {
				r, err = one, errA
				one, errA, moreA = nextA()
			} else {
				r, err = two, errB
				two, errB, moreB = nextB()
			}
			e := end{r.Room, r.Match, r.Tick}
			if err == nil && r.Match != 0 && seen[e] {
				continue
			}
			seen[e] = true
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
