package journals

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"tendon/cmd/cli/durable"
	"tendon/ecs"
	"tendon/rollback/record"
)

// recover reads the directory. No file is changed before it is certain that the server starts.
func (s *Store) recover() error {
	paths, err := journalsIn(s.config.Dir)
	if err != nil {
		return err
	}
	found, failed := s.load(paths)
	index := map[string]int{} // by room, of the match that continues
	for i, m := range found {
		if m == nil || m.empty != nil || m.Journal.Ended() {
			continue
		}
		name := m.Journal.Header().Room
		last, twice := index[name]
		if twice {
			over := i
			if !m.Written.Before(found[last].Written) { // it was played last
				over, last = last, i
			}
			failed[over] = fmt.Errorf("%w: %s and %s are both of room %s: move the one away that is over", ErrTwice, found[over].File, found[last].File, name)
		} else {
			last = i
		}
		index[name], s.waiting[name] = last, found[last]
	}
	if err := s.refusal(paths, failed); err != nil {
		return err
	}
	for i, m := range found {
		if failed[i] != nil {
			s.quarantine(paths[i], failed[i])
		} else if m != nil {
			if err := s.repair(m); err != nil {
				return err
			}
		}
	}
	s.quarantined = count(filepath.Join(s.config.Dir, quarantineDir))
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
	case m.before != nil:
		return s.change(m)
	case m.Journal.Torn() != nil:
		if err := s.cut(m.File, len(m.Journal.Bytes())); err != nil {
			return err
		}
		s.config.Report(Event{Kind: Torn, Room: m.Journal.Header().Room, File: m.File, Tick: m.world.Tick(), Err: m.Journal.Torn()})
	}
	return nil
}

// change replaces the journal of another build by one of this build. It keeps the old file under another name.
func (s *Store) change(m *Match) error {
	name, tick := m.File+".new", m.Journal.Start()
	f, err := s.config.Disk(name, os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(m.Journal.Bytes())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	past := endedPath(fmt.Sprintf("%s-%d%s", strings.TrimSuffix(m.File, suffix), tick, suffix))
	if err := cmp.Or(durable.Rename(m.File, past), durable.Rename(name, m.File)); err != nil {
		return err
	}
	s.config.Report(Event{Kind: Changed, Room: m.Journal.Header().Room, File: past, Tick: tick})
	return nil
}

// cut ends a file after size bytes, also if a power cut follows.
func (s *Store) cut(path string, size int) error {
	f, err := s.config.Disk(path, 0)
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

// load recovers matches, as many at a time as there are cores, since each simulates up to half a minute. A file has a match or
// an error. It has neither if its room is refused.
func (s *Store) load(paths []string) (found []*Match, failed []error) {
	found, failed = make([]*Match, len(paths)), make([]error, len(paths))
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
	s.refuseBuilds(paths, found, failed)
	for i, err := range failed {
		if s.config.RefuseOthers && otherBuild(err) {
			room := roomOf(paths[i])
			s.refused[room], failed[i] = err, nil
			s.config.Report(Event{Kind: OtherBuild, Room: room, File: paths[i], Err: err})
		}
	}
	return found, failed
}

// refuseBuilds drops the matches of the journals that failed. A journal may prove that this build computes other states than the
// build that wrote it. Then all journals of that build fail, since the others may be too short to prove it.
func (s *Store) refuseBuilds(paths []string, found []*Match, failed []error) {
	proofs := map[string]int{} // by build
	for i, m := range found {
		if failed[i] == nil || m == nil {
			continue
		}
		build := m.Journal.Header().Build
		if _, known := proofs[build]; !known && build != s.config.Build && errors.Is(failed[i], record.ErrDiverged) {
			proofs[build] = i
		}
		found[i] = nil
	}
	for i, m := range found {
		if m == nil || m.empty != nil || m.Journal.Ended() {
			continue
		}
		build := m.Journal.Header().Build
		if proof, other := proofs[build]; other {
			found[i], failed[i] = nil, fmt.Errorf("build %q began it, this is build %q, which computes other states than that one in %s: %w",
				build, s.config.Build, filepath.Base(paths[proof]), record.ErrDiverged)
		}
	}
}

// refusal returns the error of a start that is refused. Without Config.Quarantine it is refused if a journal cannot be recovered.
// Otherwise it is refused if one is of another build or strategy, and none is of this build: then the server was updated or has
// other flags. The error is that of the first file, and names the others.
func (s *Store) refusal(paths []string, failed []error) error {
	var first error
	var more []string
	unfit := false
	for i, err := range failed {
		if err == nil {
			continue
		}
		unfit = unfit || otherBuild(err) || errors.Is(err, ErrStrategy)
		if first == nil {
			first = fmt.Errorf("%s: %w%s", paths[i], err, remedy(err))
		} else {
			more = append(more, filepath.Base(paths[i]))
		}
	}
	for _, m := range s.waiting {
		if m.Journal.Header().Build == s.config.Build {
			unfit = false
		}
	}
	if s.config.Quarantine && !unfit {
		return nil
	}
	const most = 3
	if n := len(more) - most; n > 0 {
		more = append(more[:most-1], fmt.Sprintf("%s and %d more", more[most-1], n))
	}
	if len(more) > 0 {
		first = fmt.Errorf("%w; these cannot be recovered either: %s", first, strings.Join(more, ", "))
	}
	return first
}

// roomOf returns the room in the name of a journal.
func roomOf(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), suffix)
	return name[:max(strings.LastIndexByte(name, '-'), 0)]
}

// otherBuild reports whether another build could recover the match.
func otherBuild(err error) bool {
	return errors.Is(err, record.ErrVersion) || errors.Is(err, record.ErrDiverged) || errors.Is(err, record.ErrOther)
}

// read recovers the match of a file. A file that is a pipe is an error.
func (s *Store) read(path string) (*Match, error) {
	data, info, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return s.match(data, &Match{File: path, Ended: endedPath(path), Written: info.ModTime()})
}

// match recovers the match of a journal into m. Rules that panic are an error.
func (s *Store) match(data []byte, m *Match) (_ *Match, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("the rules of the game failed: %v", value)
		}
	}()
	open := func() (*record.Record, error) { return record.Open(data, s.config.Game) }
	if h, err := record.ReadHeader(data); err == nil && s.config.ChangeRules && h.Build != s.config.Build {
		m.before = &h
		open = func() (*record.Record, error) { return record.Migrate(data, s.config.Game, s.config.Build, maxTick) }
	}
	j, err := open()
	m.Journal = j
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
	other := h.CheckBuild(s.config.Game, s.config.Build)
	if other != nil && s.config.Game.Schema().HasFloats() {
		return nil, other
	}
	if err := s.checkStrategy(&h); err != nil && !s.config.ChangeRules && !offers(m.room, &h) {
		return nil, err
	}
	if m.world, err = j.WorldAt(j.Last().Tick); err == nil && other != nil {
		err = sameRules(j)
	}
	if err != nil && other != nil {
		err = fmt.Errorf("build %q began it, this is build %q: %w", h.Build, s.config.Build, err)
	}
	return m, err
}

// maxTick is above every tick of a journal.
const maxTick ecs.Tick = math.MaxInt64

// sampleTicks is how many ticks before the last state in a journal are simulated to compare the rules of another build.
const sampleTicks = 2 * checkEvery

// sameRules returns an error if this build computes other states than the journal has. The ticks after the last image were
// compared before. A server that was stopped in order leaves none, so ticks after the image before that are compared.
func sameRules(j *record.Record) error {
	from := j.Start()
	for _, f := range j.Images() {
		if f+checkEvery <= j.Last().Tick {
			from = f
		}
	}
	_, err := j.WorldAt(min(from+sampleTicks, j.Last().Tick-1))
	return err
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
	switch {
	case is(err, record.ErrNotRecord):
		return ": move the file away"
	case is(err, record.ErrVersion, record.ErrDiverged):
		return ": start the build that wrote it, or move the journal away"
	case is(err, record.ErrCorrupt):
		return ": put an undamaged copy in its place, or move the journal away, which ends its match"
	case is(err, record.ErrNoState):
		return ": move the journal away: its match is over"
	case is(err, record.ErrOther, ErrStrategy):
		return ", or move the journal away"
	}
	return ""
}

func is(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}
