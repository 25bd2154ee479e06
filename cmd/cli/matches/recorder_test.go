package matches

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestClosingARecorderStoresAllThatWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	r := NewRecorder(open(t, path), func(err error) { t.Error(err) }, func(Record) {})
	for i := range 10 {
		r.Add(sample(uint64(i)))
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	got := all(t, path, "")
	if len(got) != 10 || got[0].Match != 9 || got[9].Match != 0 {
		t.Errorf("%d records, or not in the order of adding", len(got))
	}
}

// A tick must not wait for a hanging disk: records beyond the queue are lost, counted, and reported once.
func TestARecorderNeverWaitsForAHangingDisk(t *testing.T) {
	hang, begun := make(chan struct{}), make(chan struct{}, 100)
	var reports []error
	added := 0
	r := newRecorder(nil, func(Record) (uint64, error) { begun <- struct{}{}; <-hang; added++; return 0, nil }, func(err error) { reports = append(reports, err) }, 2)
	r.Add(Record{})
	<-begun
	for range 10 {
		r.Add(Record{}) // two of them wait
	}
	close(hang)
	err := r.Close()
	if err == nil || !strings.Contains(err.Error(), "8 ") || added != 3 {
		t.Errorf("%d added, %v", added, err)
	}
	if len(reports) != 1 {
		t.Errorf("reported %d times: %v", len(reports), reports)
	}
}

func TestARecorderReportsAnErrorOnceAndContinues(t *testing.T) {
	full := errors.New("no space")
	var reports []error
	n := 0
	r := newRecorder(nil, func(Record) (uint64, error) {
		if n++; n < 4 {
			return 0, full
		}
		return 1, nil
	}, func(err error) { reports = append(reports, err) }, queueLength)
	for range 5 {
		r.Add(Record{})
	}
	err := r.Close()
	if err == nil || !strings.Contains(err.Error(), "3 ") || n != 5 {
		t.Errorf("%d tried, %v", n, err)
	}
	if len(reports) != 1 || !errors.Is(reports[0], full) {
		t.Errorf("reported %v", reports)
	}
}

// Wait adds nothing to the store itself.
func TestWaitReturnsWhenAllRecordsAreStored(t *testing.T) {
	release, stored := make(chan struct{}), 0
	r := newRecorder(nil, func(Record) (uint64, error) {
		<-release
		stored++
		return 0, nil
	}, func(error) {}, 8)
	for range 5 {
		r.Add(Record{})
	}
	close(release)
	if err := r.Wait(t.Context()); err != nil || stored != 5 {
		t.Errorf("%d of 5 are stored, %v", stored, err)
	}
	if err := r.Close(); err != nil || stored != 5 {
		t.Errorf("%v, %d", err, stored)
	}
}

// A disk that does not answer delays neither the end of a room nor that of the server for ever.
func TestEveryWaitForARecorderIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		r := newRecorder(nil, func(Record) (uint64, error) { <-hang; return 0, nil }, func(error) {}, 2)
		for range 5 { // one is being stored, two wait
			r.Add(Record{})
		}
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		if err := r.Close(); err == nil || !strings.Contains(err.Error(), "5 of the decided") || time.Since(begun) != time.Second+closeTimeout {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		close(hang)
		<-r.ended
		if err := r.Wait(t.Context()); err != nil {
			t.Errorf("after the end: %v", err)
		}
	})
}
