package journals

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"tendon/cmd/cli/durable"
	"tendon/ecs"
	"tendon/net/room"
)

// File returns the path that the journal of an open room will have when its match is over; "" if it has none. In a cluster it
// describes the room's log.
func (s *Store) File(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.open[name]; j != nil {
		if j.log != nil {
			return j.path
		}
		return endedPath(j.path)
	}
	return ""
}

// End ends and archives the journal of a match that is over, on another goroutine and after before returned, which may be nil.
// The channel is closed afterwards. It has no effect for a room without a journal.
func (s *Store) End(name string, before func()) (ended <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, done := s.open[name], s.used[name]
	if j == nil || s.closed {
		done = make(chan struct{})
		close(done)
		return done
	}
	delete(s.open, name)
	s.work.Go(func() {
		if before != nil {
			before()
		}
		j.end(Ended)
		s.release(name)
	})
	return done
}

// Keep closes the journal of a match that the next process continues, on another goroutine. The channel is closed afterwards.
// world is that of the room. Its state is written too, so that the recovery simulates no tick. It may be nil if the room was not
// made: a recovered match then waits again for its players.
func (s *Store) Keep(name string, world *ecs.World) (kept <-chan struct{}) {
	s.mu.Lock()
	j, done := s.open[name], s.used[name]
	s.mu.Unlock()
	seconds := 1
	if j != nil && j.log != nil {
		// The next server simulates a few ticks faster than it receives an image, and clients that lack ticks do not load one.
		seconds = checkpointSeconds
	}
	if j != nil && j.broken.Load() == nil && j.writer.ImageDue(seconds) {
		j.image(world, true)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if j == nil || s.closed {
		done = make(chan struct{})
		close(done)
		return done
	}
	delete(s.open, name)
	s.work.Go(func() {
		defer s.release(name)
		if j.log != nil {
			if j.release(); world != nil && j.log.next == "" {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.kept++
			}
			return
		}
		if j.unused() {
			j.discard()
			return
		}
		is, missing := j.file.Stat()
		if err := j.keep(); err != nil {
			j.report(NotKept, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case world == nil && j.match != nil:
			s.waiting[name] = j.match
		case missing == nil && !durable.Gone(is, j.path):
			s.kept++
		}
	})
	return done
}

// checkpointSeconds is the distance of the images in a cluster, in seconds of play. Play waits while the next server reads and simulates
// the ticks since the newest image, of all rooms of a server that died.
const checkpointSeconds = 5

// Checkpoint makes the journal of an open room begin anew with the state after its next tick, as a preparation for Keep.
func (s *Store) Checkpoint(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.open[name]; j != nil {
		j.due.Store(true)
	}
}

// MoveTo sets the cluster.Server.ID of the next owner of an open room. Keep then moves the room to that server, which must wait for it. If
// server is empty, any server can claim the room after Keep.
func (s *Store) MoveTo(name, server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.open[name]; j != nil && j.log != nil {
		j.log.next = server
	}
}

// Kept returns how many matches the next process continues: those that Keep kept, and recovered ones whose players have not come
// back. It does not count those whose journals were removed, or that moved to another server. Call it when the channels of Keep are closed, and before Close.
func (s *Store) Kept() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.kept
	for _, m := range s.waiting {
		if _, err := os.Stat(m.File); err == nil {
			n++
		}
	}
	return n
}

// unused reports whether no player has entered the room.
func (j *roomJournal) unused() bool { return j.match == nil && !j.seated }

// discard removes the journal of a room that no player has entered.
func (j *roomJournal) discard() {
	if err := errors.Join(j.drain(), j.file.Close(), os.Remove(j.path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.report(NotArchived, err)
		return
	}
	j.report(Unused, nil)
}

// keep writes what waits, unless the journal is broken, and closes the file.
func (j *roomJournal) keep() error {
	if why := j.broken.Load(); why != nil {
		return errors.Join(*why, j.file.Close())
	}
	var away error
	if why := j.away.Load(); why != nil {
		away = *why
	}
	return errors.Join(away, j.writer.Flush(), j.drain(), j.file.Sync(), j.file.Close())
}

// end writes the end mark, after which no server recovers the match, and archives the file. It removes the file of a room that no
// player has entered.
func (j *roomJournal) end(kind Kind) {
	if j.log != nil {
		j.endLog(kind)
		return
	}
	if j.unused() {
		j.discard()
		return
	}
	unmarked := errors.Join(j.writer.End(), j.drain(), j.file.Sync(), j.file.Close())
	j.store.archive(Event{Kind: kind, Room: j.room, File: j.path, Tick: j.writer.Last()}, unmarked)
}

// archive renames the journal of a match that is over, and reports that. unmarked is why the journal has no end mark, or nil.
func (s *Store) archive(e Event, unmarked error) {
	err := durable.Rename(e.File, endedPath(e.File))
	switch {
	case err == nil:
		e.File = endedPath(e.File)
	case unmarked == nil:
		e.Kind, e.Err = NotArchived, err
	default:
		e.Kind, e.Err = NotArchived, fmt.Errorf("%w; the journal has no end mark (%w): move the file away, its room is refused until then", err, unmarked)
		s.mu.Lock()
		s.stuck[e.Room] = e.File
		s.mu.Unlock()
	}
	s.config.Report(e)
}

// abandon ends the matches whose players have not come back.
func (s *Store) abandon() {
	for _, m := range s.Waiting() {
		name := m.Journal.Header().Room
		s.mu.Lock()
		idle := s.waiting[name] != nil && s.used[name] == nil && !s.closed
		if idle {
			s.used[name] = make(chan struct{})
			delete(s.waiting, name)
		}
		s.mu.Unlock()
		if !idle {
			continue
		}
		if j, err := s.reopen(name, &room.Config{}, &m); err == nil {
			j.end(Abandoned)
		} else {
			s.archive(Event{Kind: Abandoned, Room: name, File: m.File, Tick: m.world.Tick()}, err)
		}
		s.release(name)
	}
}

// endedPath is the path of the journal of a match that is over.
func endedPath(path string) string { return path[:len(path)-len(suffix)] + endedSuffix }
