package journals

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tendon/cmd/cli/durable"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/cluster"
	"tendon/net/room"
	"tendon/rollback/record"
)

// Store keeps the journals of a server. It owns the directory until Close. A room's name is in at most one of waiting, open
// and stuck.
type Store struct {
	config  Config
	unlock  func() error
	timer   *time.Timer
	tokens  *UsedTokens
	stop    chan struct{}
	work    sync.WaitGroup // goroutines that sync or end journals
	limit   time.Duration  // of the wait in Open
	saving  chan struct{}  // has an element while the bans are written
	writers writers

	quarantined int         // files in the folder
	lost        atomic.Bool // the directory was removed

	mu      sync.Mutex
	waiting map[string]*Match        // recovered matches whose players have not come back
	open    map[string]*roomJournal  // rooms that are open
	used    map[string]chan struct{} // rooms with a journal that is being opened, open or being ended; closed after that
	kept    int                      // matches that Keep kept, and whose journals are in their places
	refuses bool                     // the last room was refused
	stuck   map[string]string        // by room, journals without an end mark that could not be renamed
	refused map[string]error         // by room, why this build cannot continue the match of a journal
	closed  bool
}

const (
	suffix      = ".journal"
	endedSuffix = ".ended" + suffix
	// maxWait is how long a recovered match waits for its first client before it is over.
	maxWait = 10 * time.Minute
	// openLimit is how long Open waits for the end of the room's last journal, on a slow disk.
	openLimit = 10 * time.Second
	// closeLimit is how long Close waits for the disk.
	closeLimit = 15 * time.Second
)

// errClosed is returned by Open after Close.
var errClosed = errors.New("the server stops")

// Open locks a directory, reads every journal in it, and recovers the matches up to their last tick. On an error about a journal
// no file is changed. The error names the file, the reason and the remedy.
func Open(c Config) (*Store, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Disk == nil {
		c.Disk = openFile
	}
	if c.Report == nil {
		c.Report = func(Event) {}
	}
	if c.Settled == nil {
		c.Settled = func(string) bool { return true }
	}
	if c.Cluster != nil {
		return openCluster(&c), nil
	}
	if err := durable.MakeDirectory(c.Dir); err != nil {
		return nil, err
	}
	unlock, err := durable.Lock(filepath.Join(c.Dir, "lock"))
	if errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("%w: %s: %w", ErrLocked, c.Dir, err)
	}
	if err != nil {
		return nil, err
	}
	s := newStore(&c, unlock)
	if err = s.recover(); err == nil {
		s.tokens, err = openUsedTokens(&s.config)
	}
	dir, missing := os.Stat(c.Dir)
	if err = cmp.Or(err, missing); err != nil {
		return nil, errors.Join(err, unlock())
	}
	if len(s.waiting) > 0 {
		s.timer = time.AfterFunc(maxWait, s.abandon)
	}
	s.work.Go(func() { s.watch(dir) })
	if c.Sync > 0 {
		s.work.Go(func() { s.syncEvery(time.Duration(c.Sync)) })
	}
	return s, nil
}

func newStore(c *Config, unlock func() error) *Store {
	s := &Store{config: *c, unlock: unlock, stop: make(chan struct{}), limit: openLimit, saving: make(chan struct{}, 1), waiting: map[string]*Match{},
		open: map[string]*roomJournal{}, used: map[string]chan struct{}{}, stuck: map[string]string{}, refused: map[string]error{}}
	s.writers.init(&s.work)
	return s
}

// ChangesRules reports whether the next build may continue a match by other rules: see Config.ChangeRules.
func (s *Store) ChangesRules() bool { return s.config.ChangeRules }

// UsedTokens returns the record of used tokens.
func (s *Store) UsedTokens() *UsedTokens { return s.tokens }

// Match is the match of a server that was killed, recovered up to its last tick.
type Match struct {
	Journal *record.Record // for any goroutine
	File    string         // path of the journal while the match is running
	Ended   string         // path of the journal when the match is over
	Written time.Time      // time of the last write of the process before
	Shared  bool           // the journal is a log that several servers share, and File only describes it

	room   *room.Config   // that is about to be made; nil for a file
	world  *ecs.World     // in the state of the last tick
	before *record.Header // of the build that computed the ticks so far, if this one continues them by other rules
	empty  error          // why the file has no whole header; then only File is set
}

// Waiting returns the recovered matches whose players have not come back, by room.
func (s *Store) Waiting() []Match {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Match
	for _, name := range slices.Sorted(maps.Keys(s.waiting)) {
		list = append(list, *s.waiting[name])
	}
	return list
}

// Continued returns the recovered match that an open room continues.
func (s *Store) Continued(room string) (m Match, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.open[room]; j != nil && j.match != nil {
		return *j.match, true
	}
	return m, false
}

// Open adds a journal to the sinks of a room that is about to be made. The journal is of a new match, or of a recovered
// one, which then continues in this room. c's Seed and Match are those of a new match, and are replaced for a recovered one. On an error
// the room must not be made.
//
// Open waits for the disk, and at most 10 s for the end of the room's last journal. Several goroutines may call it.
func (s *Store) Open(name string, c *room.Config) error {
	if why := s.refused[name]; why != nil { // since the store is open, it does not change
		return fmt.Errorf("%w: room %s: %w", ErrOtherBuild, name, why)
	}
	j, err := s.journal(name, c)
	owned := errors.As(err, new(*cluster.OwnedError)) // its clients are sent to the owner
	s.mu.Lock()
	report := err != nil && !owned && !s.refuses
	if !owned {
		s.refuses = err != nil
	}
	s.mu.Unlock()
	if report {
		s.config.Report(Event{Kind: Refused, Room: name, Err: advised(err, s.config.Dir, 1+len(s.rooms()))})
	}
	if err != nil {
		return fmt.Errorf("journals: room %s has no journal: %w", name, err)
	}
	c.Sinks = append(c.Sinks, j.sink())
	return nil
}

// acquire reserves a room's files for a new journal, until release or End. It waits for the end of the journal before.
func (s *Store) acquire(name string) error {
	timeout := time.NewTimer(s.limit)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return errClosed
		}
		ended := s.used[name]
		if ended == nil {
			s.used[name] = make(chan struct{})
		}
		s.mu.Unlock()
		if ended == nil {
			return nil
		}
		select {
		case <-ended:
		case <-timeout.C:
			return errors.New("the match before has not ended: the disk may be slow")
		}
	}
}

func (s *Store) release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.used[name])
	delete(s.used, name)
}

// journal opens the journal of a room.
func (s *Store) journal(name string, c *room.Config) (*roomJournal, error) {
	if s.lost.Load() {
		return nil, fmt.Errorf("%s: %w", s.config.Dir, errRemoved)
	}
	if err := s.acquire(name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	path, m := s.stuck[name], s.waiting[name]
	s.mu.Unlock()
	var j *roomJournal
	err := s.archiveStuck(name, path)
	switch {
	case err != nil:
	case s.config.Cluster != nil:
		j, m, err = s.openLog(name, c)
	case m == nil:
		j, err = s.start(name, c)
	default:
		j, err = s.reopen(name, c, m) // after an error it still waits
	}
	s.mu.Lock()
	if err == nil && s.closed {
		err = errors.Join(errClosed, j.file.Close())
	}
	if err == nil {
		delete(s.waiting, name)
		s.open[name] = j
	}
	s.mu.Unlock()
	switch {
	case err != nil:
		s.release(name)
		return nil, err
	case m == nil:
		s.config.Report(Event{Kind: Started, Room: name, File: j.path})
	default:
		h := m.Journal.Header()
		c.Seed, c.Match, c.Resume = h.Seed, h.Match, room.ResumeOf(m.Journal, m.world)
		if j.digest != nil { // the journal was read for it
			d := *j.digest
			c.Resume.Digest = func() (record.Digest, bool) { return d, true }
		}
		c.Resume.OtherBuild = h.Build != s.config.Build || m.before != nil
		if j.log != nil && j.log.Released() {
			c.Resume.Wait = movedWait
		}
		if s.config.ChangeRules || j.log != nil {
			c.Resume.Strategy = cmp.Or(c.Resume.Strategy, h.Strategy)
		}
		if b := m.before; b != nil {
			c.Resume.Rules = image.AppendRules(nil, b.Fingerprint, h.Fingerprint, b.Build)
		}
	}
	return j, nil
}

// archiveStuck renames the journal of the match before, if that was not possible at its end. Otherwise the next start would
// find two matches of the room.
func (s *Store) archiveStuck(name, path string) error {
	if path == "" {
		return nil
	}
	if err := durable.Rename(path, endedPath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the journal of the match before, %s, cannot be renamed: %w; move the file away", path, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stuck, name)
	return nil
}

// start makes the file of a new match. It survives a power cut before the match has a tick.
func (s *Store) start(name string, c *room.Config) (*roomJournal, error) {
	h := s.header(name, c)
	j := &roomJournal{store: s, room: name, wake: wakeOf(c), out: newOutput(), path: filepath.Join(s.config.Dir, fmt.Sprintf("%s-%016x%s", name, c.Match, suffix))}
	var err error
	if j.file, err = s.config.Disk(j.path, os.O_CREATE|os.O_EXCL); err != nil {
		return nil, err
	}
	if j.writer, err = record.NewWriter(&j.out, s.config.Game, h); err == nil {
		err = cmp.Or(j.writer.Flush(), j.drain(), j.file.Sync(), durable.SyncDirectory(s.config.Dir))
	}
	if err != nil {
		return nil, errors.Join(err, j.file.Close(), os.Remove(j.path)) // the match was not announced to a client yet
	}
	return j, nil
}

// header returns the header of a new match.
func (s *Store) header(name string, c *room.Config) record.Header {
	h := record.HeaderOf(s.config.Game, c.Seed, s.config.Build)
	h.Strategy, h.Flags, h.Params, h.Room, h.Match = s.config.Strategy, s.config.Flags, s.config.Params, name, c.Match
	return h
}

// reopen opens the file of a recovered match.
func (s *Store) reopen(name string, c *room.Config, m *Match) (*roomJournal, error) {
	f, err := s.config.Disk(m.File, os.O_APPEND)
	if err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil { // the killed process may not have synced
		return nil, errors.Join(err, f.Close())
	}
	j := &roomJournal{store: s, room: name, wake: wakeOf(c), out: newOutput(), match: m, path: m.File, file: f}
	j.writer, j.reach = m.Journal.Resume(&j.out), m.Journal.Reach()
	return j, nil
}

// wakeOf returns Config.Wake of a room.
func wakeOf(c *room.Config) func() {
	if c.Wake == nil {
		return func() {}
	}
	return c.Wake
}

// Close unlocks the directory. The next Open recovers the matches that were not ended. The rooms must be closed. It fails after
// 15 s if the disk does not answer.
func (s *Store) Close() error {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	s.writers.close()
	closed := make(chan error, 1)
	go func() { closed <- s.shut() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(closeLimit):
		return fmt.Errorf("journals: the disk of %s does not answer: the next server may resume matches that are over", s.config.Dir)
	}
}

func (s *Store) shut() error {
	s.work.Wait()
	if s.tokens != nil {
		s.tokens.close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all sync.WaitGroup
	errs := make(chan error, len(s.open))
	for _, j := range s.open {
		all.Go(func() { errs <- errors.Join(j.drain(), j.file.Sync(), j.file.Close()) })
	}
	all.Wait()
	close(errs)
	err := s.unlock()
	for failed := range errs {
		err = errors.Join(failed, err)
	}
	s.open, s.waiting = nil, nil
	return err
}
