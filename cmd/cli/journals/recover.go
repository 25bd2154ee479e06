package journals

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"tendon/rollback/record"
)

// recover reads the directory. No file is changed before every journal was found to be sound.
func (s *Store) recover() error {
	paths, err := journalsIn(s.config.Dir)
	if err != nil {
		return err
	}
	found, err := s.load(paths)
	if err != nil {
		return err
	}
	for _, m := range found {
		if m.empty != nil || m.Journal.Ended() {
			continue
		}
		name := m.Journal.Header().Room
		if twin := s.waiting[name]; twin != nil {
			return fmt.Errorf("%w: %s and %s are both of room %s: move the one away that is over", ErrTwice, twin.File, m.File, name)
		}
		s.waiting[name] = m
	}
	for _, m := range found {
		if err := s.repair(m); err != nil {
			return err
		}
	}
	return nil
}

// repair removes a file without a whole header, archives a match that is over, and cuts off a torn end.
func (s *Store) repair(m *Match) error {
	switch {
	case m.empty != nil:
		if err := os.Remove(m.File); err != nil {
			return err
		}
		s.config.Report(Event{Kind: Empty, File: m.File, Err: m.empty})
	case m.Journal.Ended():
		s.archive(Event{Kind: Ended, Room: m.Journal.Header().Room, File: m.File, Tick: m.Journal.Last().Tick}, nil)
	case m.Journal.Torn() != nil:
		if err := s.cut(m.File, len(m.Journal.Bytes())); err != nil {
			return err
		}
		s.config.Report(Event{Kind: Torn, Room: m.Journal.Header().Room, File: m.File, Tick: m.world.Tick(), Err: m.Journal.Torn()})
	}
	return nil
}

// cut ends a file after size bytes, also if a power cut follows.
func (s *Store) cut(path string, size int) error {
	f, err := s.disk(path, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(int64(size)), f.Sync(), f.Close())
}

// journalsIn lists the journals of running matches, by name.
func journalsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var paths []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, suffix) && !strings.HasSuffix(name, endedSuffix) {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths, err
}

// load recovers matches, as many at a time as there are cores, since each simulates up to half a minute. The error is that
// of the first file that has one, and names the others.
func (s *Store) load(paths []string) ([]*Match, error) {
	found, failed := make([]*Match, len(paths)), make([]error, len(paths))
	var all sync.WaitGroup
	cores := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range paths {
		cores <- struct{}{}
		all.Go(func() {
			found[i], failed[i] = s.read(paths[i])
			<-cores
		})
	}
	all.Wait()
	var first error
	var more []string
	for i, err := range failed {
		switch {
		case err != nil && first == nil:
			first = fmt.Errorf("%s: %w%s", paths[i], err, remedy(err))
		case err != nil:
			more = append(more, filepath.Base(paths[i]))
		}
	}
	const most = 3
	if n := len(more) - most; n > 0 {
		more = append(more[:most-1], fmt.Sprintf("%s and %d more", more[most-1], n))
	}
	if len(more) > 0 {
		first = fmt.Errorf("%w; these cannot be recovered either: %s", first, strings.Join(more, ", "))
	}
	return found, first
}

// read recovers one match.
func (s *Store) read(path string) (*Match, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	j, err := record.Open(data, s.config.Game)
	m := &Match{Journal: j, File: path, Ended: endedPath(path), Written: info.ModTime()}
	switch {
	case errors.Is(err, record.ErrTorn):
		m.empty = err
		return m, nil
	case err != nil:
		return nil, err
	case j.Ended():
		return m, nil
	}
	h := j.Header()
	if err := cmp.Or(h.CheckBuild(s.config.Game, s.config.Build), s.checkStrategy(&h)); err != nil {
		return nil, err
	}
	m.world, err = j.WorldAt(j.Last().Tick)
	return m, err
}

// checkStrategy returns an error that names both settings if the match has another strategy or other parameters than this
// server.
func (s *Store) checkStrategy(h *record.Header) error {
	if h.Strategy == s.config.Strategy && bytes.Equal(h.Params, s.config.Params) {
		return nil
	}
	was, here := cmp.Or(h.Flags, h.Strategy), cmp.Or(s.config.Flags, s.config.Strategy)
	if was == here {
		return fmt.Errorf("%w: it was begun with other parameters of %s than this server's: start the build that wrote it", ErrStrategy, was)
	}
	return fmt.Errorf("%w: it was begun with %s, this server with %s: start the server with %s", ErrStrategy, was, here, was)
}

// remedy completes the sentence of an error with the remedy.
func remedy(err error) string {
	is := func(kinds ...error) bool {
		return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
	}
	switch {
	case is(record.ErrNotRecord):
		return ": move the file away"
	case is(record.ErrVersion, record.ErrDiverged):
		return ": start the build that wrote it, or move the journal away"
	case is(record.ErrCorrupt):
		return ": put a sound copy in its place, or move the journal away, and its match is over"
	case is(record.ErrNoState):
		return ": move the journal away: its match is over"
	case is(record.ErrOther, ErrStrategy):
		return ", or move the journal away"
	}
	return ""
}
