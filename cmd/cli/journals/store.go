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
	"time"

	"tendon/cmd/cli/durable"
	"tendon/ecs"
	"tendon/net/room"
	"tendon/rollback/record"
)

// Store keeps the journals of a server. It owns the directory until Close. A room's name is in at most one of waiting, open
// and stuck.
type Store struct {
	config Config
	disk   func(path string, flags int) (file, error)
	unlock func() error
	timer  *time.Timer
	stop   chan struct{}
	synced sync.WaitGroup

	mu      sync.Mutex
	waiting map[string]*Match       // recovered matches whose players have not come back
	open    map[string]*roomJournal // rooms that are open
	refuses bool                    // the last room was refused
	lags    bool                    // the last syncs took longer than Config.Sync
	stuck   map[string]string       // by room, journals without an end mark that could not be renamed
}

// Config describes a Store.
type Config struct {
	// Dir is the directory of the files. Required; it is made if it does not exist.
	Dir string
	// Game is the game that is played. Required.
	Game *ecs.Game
	// Build names this program: a match is recovered only by the build that began it. Empty: unknown, every build may.
	Build string
	// Strategy and Params are those of the room.Config's Strategy: a match continues with the strategy that it began with.
	Strategy string
	Params   []byte
	// Flags are the strategy's settings as flags of the command line, for people.
	Flags string
	// Sync bounds the loss of a power cut; the zero value is Always.
	Sync Sync
	// Report receives events, on any goroutine. Optional.
	Report func(Event)
}

// Event is a change of a journal.
type Event struct {
	Kind Kind
	Room string
	File string
	Tick ecs.Tick // last one in the journal
	Err  error    // for Torn, Empty, Failed, Broken, NotArchived, Refused and Slow
}

// Kind is the kind of an Event.
type Kind uint8

// The kinds.
const (
	Started     Kind = iota // a journal was started for a new match
	Resumed                 // a recovered match continues
	Torn                    // the end of a journal was cut: the server was killed while it wrote it
	Empty                   // a journal without a tick was removed
	Failed                  // a write failed, so the match waits
	Recovered               // a write succeeded again
	Broken                  // a journal cannot be written any more: its match waits for good
	Ended                   // a match is over, and its file was archived
	Abandoned               // the same, since no player came back
	NotArchived             // a match is over, and its file could not be renamed: the next start tries it again
	Refused                 // a journal cannot be made, so its room is not; reported once until one can
	Slow                    // syncing takes longer than Config.Sync, so a power cut loses more than that; reported once until it does not
)

// Errors of Open. Those about a journal wrap package record's.
var (
	// ErrLocked is returned if another process uses the directory.
	ErrLocked = errors.New("journals: the directory is in use")
	// ErrStrategy is returned for a journal of a match with another strategy, or with other settings of the same one.
	ErrStrategy = errors.New("journals: of a match with another strategy or settings")
	// ErrTwice is returned if two journals are of the same room.
	ErrTwice = errors.New("journals: two matches of one room")
)

const (
	suffix      = ".journal"
	endedSuffix = ".ended" + suffix
	// maxWait is how long a recovered match waits for its first client before it is over.
	maxWait = 10 * time.Minute
)

// Open locks a directory, reads every journal in it, and recovers the matches up to their last tick. If one of them cannot
// be recovered, no file is changed. The error then names the file, the reason and the remedy.
func Open(c Config) (*Store, error) { return openOn(c, openFile) }

func openOn(c Config, disk func(path string, flags int) (file, error)) (*Store, error) {
	if c.Report == nil {
		c.Report = func(Event) {}
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
	s := &Store{config: c, disk: disk, unlock: unlock, stop: make(chan struct{}), waiting: map[string]*Match{},
		open: map[string]*roomJournal{}, stuck: map[string]string{}}
	if err := s.recover(); err != nil {
		return nil, errors.Join(err, unlock())
	}
	if len(s.waiting) > 0 {
		s.timer = time.AfterFunc(maxWait, s.abandon)
	}
	if c.Sync > 0 {
		s.synced.Add(1)
		go s.syncEvery(time.Duration(c.Sync))
	}
	return s, nil
}

// Match is the match of a server that was killed, recovered up to its last tick.
type Match struct {
	Journal *record.Record // for any goroutine
	File    string         // path of the journal while the match is running
	Ended   string         // path of the journal when the match is over
	Written time.Time      // time of the last write of the process before

	world *ecs.World // in the state of the last tick
	empty error      // why the file has no whole header; then only File is set
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

// Open adds a journal to the sinks of a room that is about to be made. The journal is of a new match, or of a recovered
// one, which then continues in this room. c's Seed and Match are those of a new match, and are replaced for a recovered one. On an error
// the room must not be made.
func (s *Store) Open(name string, c *room.Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.journal(name, c)
	if err != nil && !s.refuses {
		s.config.Report(Event{Kind: Refused, Room: name, Err: err})
	}
	if s.refuses = err != nil; s.refuses {
		return fmt.Errorf("journals: room %s has no journal: %w", name, err)
	}
	s.open[name] = j
	c.Sinks = append(c.Sinks, j.sink())
	return nil
}

func (s *Store) journal(name string, c *room.Config) (*roomJournal, error) {
	if s.open[name] != nil {
		return nil, errors.New("it is open already")
	}
	if path, ok := s.stuck[name]; ok { // the next start would refuse two matches of the room
		if err := durable.Rename(path, endedPath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the journal of the match before, %s, cannot be renamed: %w; move the file away", path, err)
		}
		delete(s.stuck, name)
	}
	m := s.waiting[name]
	if m == nil {
		return s.start(name, c)
	}
	j, err := s.reopen(name, m)
	if err != nil {
		return nil, err // it still waits
	}
	delete(s.waiting, name)
	h := m.Journal.Header()
	c.Seed, c.Match, c.Resume = h.Seed, h.Match, room.ResumeOf(m.Journal, m.world)
	s.config.Report(Event{Kind: Resumed, Room: name, File: m.File, Tick: m.world.Tick()})
	return j, nil
}

// start makes the file of a new match. It survives a power cut before the match has a tick.
func (s *Store) start(name string, c *room.Config) (*roomJournal, error) {
	h := record.HeaderOf(s.config.Game, c.Seed, s.config.Build)
	h.Strategy, h.Flags, h.Params, h.Room, h.Match = s.config.Strategy, s.config.Flags, s.config.Params, name, c.Match
	j := &roomJournal{store: s, room: name, path: filepath.Join(s.config.Dir, fmt.Sprintf("%s-%016x%s", name, c.Match, suffix))}
	var err error
	if j.file, err = s.disk(j.path, os.O_CREATE|os.O_EXCL); err != nil {
		return nil, err
	}
	if j.writer, err = record.NewWriter(j.file, s.config.Game, h); err == nil {
		err = cmp.Or(j.writer.Flush(), j.file.Sync(), durable.SyncDirectory(s.config.Dir))
	}
	if err != nil {
		return nil, errors.Join(err, j.file.Close(), os.Remove(j.path)) // the match was not announced to a client yet
	}
	s.config.Report(Event{Kind: Started, Room: name, File: j.path})
	return j, nil
}

// reopen opens the file of a recovered match.
func (s *Store) reopen(name string, m *Match) (*roomJournal, error) {
	f, err := s.disk(m.File, os.O_APPEND)
	return &roomJournal{store: s, room: name, path: m.File, file: f, writer: m.Journal.Resume(f)}, err
}

// File returns the path that the journal of an open room will have when its match is over; "" if it has none.
func (s *Store) File(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.open[name]; j != nil {
		return endedPath(j.path)
	}
	return ""
}

// End ends and archives the journal of a match that is over. It has no effect for a room without one.
func (s *Store) End(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.open[name]; j != nil {
		delete(s.open, name)
		j.end(Ended)
	}
}

// end writes the end mark, after which no server recovers the match, and archives the file.
func (j *roomJournal) end(kind Kind) {
	unmarked := errors.Join(j.writer.End(), j.file.Sync(), j.file.Close())
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
		s.stuck[e.Room] = e.File
	}
	s.config.Report(e)
}

// abandon ends the matches whose players have not come back.
func (s *Store) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, m := range s.waiting {
		delete(s.waiting, name)
		if j, err := s.reopen(name, m); err == nil {
			j.end(Abandoned)
		} else {
			s.archive(Event{Kind: Abandoned, Room: name, File: m.File, Tick: m.world.Tick()}, err)
		}
	}
}

// syncEvery syncs all open journals at an interval until Close.
func (s *Store) syncEvery(interval time.Duration) {
	defer s.synced.Done()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		}
		s.mu.Lock()
		rooms := slices.Collect(maps.Values(s.open))
		s.mu.Unlock()
		begun := time.Now()
		for _, j := range rooms {
			j.sync()
		}
		s.checkDuration(time.Since(begun), len(rooms))
	}
}

// checkDuration compares the duration of syncing all rooms with Config.Sync.
func (s *Store) checkDuration(d time.Duration, rooms int) {
	lags := d > time.Duration(s.config.Sync)
	if lags && !s.lags {
		s.config.Report(Event{Kind: Slow, Err: fmt.Errorf("syncing the journals of %d rooms took %v", rooms, d.Round(time.Millisecond))})
	}
	s.lags = lags
}

// Close unlocks the directory. The next Open recovers the matches that were not ended. The rooms must be closed.
func (s *Store) Close() error {
	if s.timer != nil {
		s.timer.Stop()
	}
	close(s.stop)
	s.synced.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, j := range s.open {
		errs = append(errs, j.file.Sync(), j.file.Close())
	}
	s.open, s.waiting = nil, nil
	return errors.Join(append(errs, s.unlock())...)
}

// endedPath is the path of the journal of a match that is over.
func endedPath(path string) string { return path[:len(path)-len(suffix)] + endedSuffix }
