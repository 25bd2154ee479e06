package journals

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"tendon/cmd/cli/durable"
)

// syncEvery syncs all open journals at an interval until Close. Several syncs run in parallel, so a sync that hangs delays no other
// journal.
func (s *Store) syncEvery(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	slots, origin := make(chan struct{}, maxWriters), time.Now()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		}
		begun := time.Now()
		for _, j := range s.rooms() {
			if since := j.syncing.Load(); since != 0 {
				s.synced(j, begun.Sub(origin)-time.Duration(since), interval)
				continue
			}
			if !j.dirty.Load() {
				continue
			}
			select {
			case <-s.stop: // Close syncs the others
				return
			case slots <- struct{}{}:
			}
			j.syncing.Store(int64(begun.Sub(origin)))
			s.work.Go(func() {
				j.sync()
				j.syncing.Store(0)
				s.synced(j, time.Since(begun), interval)
				<-slots
			})
		}
	}
}

// synced adds the duration of a sync of a journal, and reports a slow disk if a lag begins with it.
func (s *Store) synced(j *roomJournal, d, interval time.Duration) {
	s.writers.mu.Lock()
	begins := s.writers.lags.begins(d, interval, time.Now())
	s.writers.mu.Unlock()
	if begins {
		s.config.Report(Event{Kind: Slow, Room: j.room, Err: fmt.Errorf("the journal of room %s was not synced for %v; a power cut may lose that much play, more than --fsync allows",
			j.room, d.Round(time.Millisecond))})
	}
}

// lag is the state in which syncs take longer than their interval. It ends after a minute in which each took at most half of it.
type lag struct {
	on   bool
	last time.Time // when a sync last took more than half of the interval
}

const lagEnds = time.Minute

// begins adds the duration of a sync that has ended now, and reports whether a lag begins with it.
func (l *lag) begins(d, interval time.Duration, now time.Time) bool {
	was := l.on && now.Sub(l.last) <= lagEnds
	if d > interval/2 {
		l.last = now
	}
	l.on = was || d > interval
	return l.on && !was
}

// rooms returns the journals of the open rooms.
func (s *Store) rooms() []*roomJournal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.open))
}

// watchInterval is the time between two checks that the files are in their places.
const watchInterval = 500 * time.Millisecond

// errRemoved is the reason of a match that waits because the system removes its journal when the server ends. The match continues
// when the file is back.
var errRemoved = errors.New("it was removed or replaced: put it back")

// watch checks until Close that the directory and the journals are in their places. dir is the directory at the start.
func (s *Store) watch(dir fs.FileInfo) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		}
		if gone := durable.Gone(dir, s.config.Dir); gone != s.lost.Swap(gone) && gone {
			s.config.Report(Event{Kind: Removed, File: s.config.Dir, Err: errRemoved})
		}
		if !s.lost.Load() {
			s.tokens.check()
		}
		for _, j := range s.rooms() {
			is, err := j.file.Stat()
			switch away := j.away.Load(); {
			case err != nil: // it was closed meanwhile
			case !durable.Gone(is, j.path):
				j.away.Store(nil)
			case away == nil:
				why := fmt.Errorf("%s: %w", j.path, errRemoved)
				j.away.Store(&why)
			}
		}
	}
}
