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

// Config describes a Store.
type Config struct {
	// Dir is the directory of the files. Required without Cluster; it is made if it does not exist.
	Dir string
	// Cluster keeps the journals in the logs of rooms that several servers share, instead of in files. Open then claims the room. The
	// error wraps a *cluster.OwnedError if another server has it. Optional.
	Cluster *cluster.Node
	// Game is the game that is played. Required.
	Game *ecs.Game
	// Build names this program. A match that another build began is recovered if the game has no floats and this build computes
	// the recorded states. Empty: unknown.
	Build string
	// Strategy and Params are those of the room.Config's Strategy: a match continues with the strategy that it began with.
	Strategy string
	Params   []byte
	// Flags are the strategy's settings as flags of the command line, for people.
	Flags string
	// Quarantine moves a journal that cannot be recovered into the folder quarantine, and the other matches continue. Open still
	// fails if the build or the strategy fits none of the matches. Without it, one such journal fails Open.
	Quarantine bool
	// Sync bounds the loss of a power cut; the zero value is Always.
	Sync Sync
	// RefuseOthers opens the directory although there are journals that this build cannot continue. Their rooms are then refused
	// with ErrOtherBuild, and the files stay as they are. Otherwise Open fails.
	RefuseOthers bool
	// ChangeRules continues every match that another build began, with the rules of this one: see record.Migrate. The journal of
	// the ticks before stays beside the new one, as ROOM-MATCH-TICK.ended.journal.
	ChangeRules bool
	// Settled reports whether the results of a room's earlier ticks are stored. Until then its journal in a cluster does not begin
	// anew, so that the next server finds these results in it. Optional.
	Settled func(room string) bool
	// Report receives events, on any goroutine. Optional.
	Report func(Event)
	// Clock returns the time of the host. Tests replace it. Default: time.Now.
	Clock func() time.Time
	// Disk opens a file for writing, with flags as in os.OpenFile. Tests use a faulty disk. Optional.
	Disk func(path string, flags int) (File, error)
}

// Event is a change of a journal.
type Event struct {
	Kind Kind
	Room string
	File string
	Tick ecs.Tick // last one in the journal
	// Returned is the number of the ticks up to Tick that the journal had lost and players returned, for Resumed.
	Returned uint64
	Paused   bool  // the match is still paused, for Resumed
	Err      error // for all kinds that are about a failure, and for Torn, Empty and Slow
}

// Kind is the kind of an Event.
type Kind uint8

// The kinds.
const (
	Started        Kind = iota // a journal was started for a new match
	Resumed                    // a recovered match continues after Tick
	Torn                       // the end of a journal was cut: the server was killed while it wrote it
	Empty                      // a journal without a tick was removed
	Failed                     // a write failed, or too many bytes wait to be written, so the match waits
	Recovered                  // a write succeeded again
	Broken                     // a journal cannot be written any more: its match waits for good
	Ended                      // a match is over, and its file was archived
	Abandoned                  // the same, since no player came back
	NotArchived                // a match is over, and its file could not be renamed: the next start tries it again
	Refused                    // a journal cannot be made, so its room is not; reported once until one can
	TokensFailed               // used tokens cannot be recorded, so no client can connect; reported once until one can
	NotKept                    // the last state of a match that is kept cannot be written: it continues where the journal ends
	Changed                    // another build began the match: it continues from Tick with the rules of this one, and File has the ticks before
	OtherBuild                 // this build cannot continue the match, so its room is refused: see Config.RefuseOthers
	TokensLost                 // the record of used tokens is damaged and begins anew, so tokens that were issued before are refused
	TokensRemoved              // the record of used tokens was removed or replaced while the server runs, and is written again
	Slow                       // a write or a sync takes too long: Err names the consequence; reported once, and again after a minute without one
	Unused                     // the journal of a room that no player entered was removed
	Removed                    // the directory, File, was removed while the server runs: its matches wait, and no room is opened
	Quarantined                // a journal that cannot be recovered was moved to File
	NotQuarantined             // the same, but it cannot be moved and stays in its place, File
	Lost                       // another server of the cluster continues the match: the room must be suspended
)

// Errors of Open. Those about a journal wrap package record's.
var (
	// ErrLocked is returned if another process uses the directory.
	ErrLocked = errors.New("journals: the directory is in use")
	// ErrStrategy is returned for a journal of a match with another strategy, or with other settings of the same one.
	ErrStrategy = errors.New("journals: of a match with another strategy or settings")
	// ErrOtherBuild is returned by Store.Open for a room whose match this build cannot continue. See Config.RefuseOthers.
	ErrOtherBuild = errors.New("journals: of a match that this build cannot continue")
	// ErrTwice is returned if two journals are of the same room.
	ErrTwice = errors.New("journals: two matches of one room")
)

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
