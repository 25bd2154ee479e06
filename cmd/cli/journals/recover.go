package journals

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

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
	for i, m := range found {
		if m.empty != nil {
			continue
		}
		name := m.Journal.Header().Room
		if twin := s.waiting[name]; twin != nil {
			return fmt.Errorf("%w: %s and %s are both of room %s: move the one away that is over", ErrTwice, twin.File, m.File, name)
		}
		s.waiting[name] = found[i]
	}
	for _, m := range found {
		if err := s.repair(m); err != nil {
			return err
		}
	}
	return nil
}

// repair cuts off a torn end, and removes a file without a whole header.
func (s *Store) repair(m *Match) error {
	if m.empty != nil {
		if err := os.Remove(m.File); err != nil {
			return err
		}
		s.config.Report(Event{Kind: Empty, File: m.File, Err: m.empty})
		return nil
	}
	if torn := m.Journal.Torn(); torn != nil {
		if err := cut(m.File, len(m.Journal.Bytes())); err != nil {
			return err
		}
		s.config.Report(Event{Kind: Torn, Room: m.Journal.Header().Room, File: m.File, Tick: m.world.Tick(), Err: torn})
	}
	return nil
}

// journalsIn lists the journals of running matches, by name.
func journalsIn(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
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
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(paths)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(paths); i = int(next.Add(1)) - 1 {
				found[i], failed[i] = s.read(paths[i])
			}
		})
	}
	all.Wait()
	var bad []string
	for i, err := range failed {
		if err != nil {
			bad = append(bad, paths[i])
		}
	}
	if len(bad) == 0 {
		return found, nil
	}
	first := failed[slices.Index(paths, bad[0])]
	return nil, fmt.Errorf("%s: %w%s%s", bad[0], first, remedy(first), alsoBad(bad[1:]))
}

// alsoBad names further files that cannot be recovered, as the end of a sentence.
func alsoBad(paths []string) string {
	const most = 3
	names := ""
	for _, p := range paths[:min(most, len(paths))] {
		names += ", " + filepath.Base(p)
	}
	switch more := len(paths) - most; {
	case names == "":
		return ""
	case more > 0:
		names += fmt.Sprintf(" and %d more", more)
	}
	return "; these cannot be recovered either: " + names[2:]
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
	if errors.Is(err, record.ErrTorn) {
		return &Match{File: path, empty: err}, nil
	}
	if err != nil {
		return nil, err
	}
	h := j.Header()
	if err := h.CheckBuild(s.config.Game, s.config.Build); err != nil {
		return nil, err
	}
	if err := s.checkStrategy(&h); err != nil {
		return nil, err
	}
	world, err := j.WorldAt(j.Last().Tick)
	return &Match{Journal: j, File: path, Ended: endedPath(path), Written: info.ModTime(), world: world}, err
}

// checkStrategy returns an error that names both settings if the match has another strategy or other parameters than this
// server.
func (s *Store) checkStrategy(h *record.Header) error {
	if h.Strategy == s.config.Strategy && bytes.Equal(h.Params, s.config.Params) {
		return nil
	}
	name := func(strategy, flags string) string {
		if flags == "" {
			return strategy
		}
		return flags
	}
	was, here := name(h.Strategy, h.Flags), name(s.config.Strategy, s.config.Flags)
	if was == here {
		return fmt.Errorf("%w: it was begun with other parameters of %s than this server's: start the build that wrote it", ErrStrategy, was)
	}
	return fmt.Errorf("%w: it was begun with %s, this server with %s: start the server with %s", ErrStrategy, was, here, was)
}

// remedy completes the sentence of an error with the remedy.
func remedy(err error) string {
	for _, r := range []struct {
		kind error
		text string
	}{
		{record.ErrNotRecord, ": move the file away"},
		{record.ErrVersion, ": start the build that wrote it, or move the journal away"},
		{record.ErrDiverged, ": start the build that wrote it, or move the journal away"},
		{record.ErrCorrupt, ": put a sound copy in its place, or move the journal away, and its match is over"},
		{record.ErrNoState, ": move the journal away: its match is over"},
		{record.ErrOther, ", or move the journal away"},
		{ErrStrategy, ", or move the journal away"},
	} {
		if errors.Is(err, r.kind) {
			return r.text
		}
	}
	return ""
}
