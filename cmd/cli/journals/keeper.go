package journals

import (
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
	"tendon/rollback/journal"
)

// Keeper keeps the journals of a server. It has the directory for itself until Close. A room's name is in at most one
// of waiting, open and over.
type Keeper struct {
	config Config
	disk   disk
	unlock func() error
	found  []Found
	timer  *time.Timer
	stop   chan struct{}
	synced sync.WaitGroup

	mu      sync.Mutex
	waiting map[string]*match       // brought back; nobody has come back yet
	open    map[string]*roomJournal // rooms that are open
	over    map[string]string       // ended matches whose file could not be put aside: its path
	refuses bool                    // the last room was refused
	lags    bool                    // the last syncs took longer than Config.Sync
}

// Config describes a Keeper. Zero values stand for defaults where a field names one.
type Config struct {
	// Dir is where the files are. Required; it is made if it does not exist.
	Dir string
	// Game is what is played. Required.
	Game *ecs.Game
	// Build names this program: a match is brought back by the build that began it only. Empty: unknown, any may.
	Build string
	// Strategy and Params are those of the room.Config's Strategy: a match goes on by the one that it was begun with.
	Strategy string
	Params   []byte
	// Sync says what a power cut may take; the zero value is Always.
	Sync Sync
	// Wait is how long a match that was brought back waits for its first client before it is over; 0: 10 minutes.
	Wait time.Duration
	// Told is told what happens, from any goroutine; nil: nobody is.
	Told func(News)
}

// News is something that happened to a journal.
type News struct {
	Kind Kind
	Room string
	File string
	Tick ecs.Tick // last one in the journal
	Err  error    // for Torn, Empty, Failed, Broken, Unended, Refused and Slow
}

// Kind says what happened.
type Kind uint8

// The kinds.
const (
	Begun    Kind = iota // a journal was begun with a new match
	Resumed              // a match that was brought back goes on
	Torn                 // the end of a journal was cut: it was being written when the server was killed
	Empty                // a journal that did not get as far as its first tick was removed
	Failed               // a journal cannot be written, so its match waits
	Mended               // it can again
	Broken               // a journal cannot be written any more: its match waits for good
	Ended                // a match is over, and its file was put aside
	Forsaken             // the same: nobody came back to it
	Unended              // a match is over, and its file could not be put aside: it would be brought back
	Refused              // a journal cannot be made, so its room is not; not told of again before one can
	Slow                 // the disk takes longer than Config.Sync, so a power cut takes more than that; not told of again before it does not
)

// Found is a match that was brought back.
type Found struct {
	Room string
	File string
	Tick ecs.Tick // where it goes on
}

// Errors of Open. Those about a journal wrap journal's.
var (
	// ErrLocked says that another process uses the directory.
	ErrLocked = errors.New("journals: the directory is in use")
	// ErrStrategy says that a journal is of a match by another strategy.
	ErrStrategy = errors.New("journals: of a match by another strategy")
	// ErrTwice says that two journals are of the same room.
	ErrTwice = errors.New("journals: two matches of one room")
)

// StrategyError is about a journal of a match by another strategy, or by the same one set up otherwise. It wraps
// ErrStrategy.
type StrategyError struct {
	File       string
	Strategy   string // the match's
	Params     []byte
	Here       string // the server's
	HereParams []byte
	Others     string // the further journals that cannot be brought back either, as the end of a sentence; "": none
}

// Error is a sentence that says what to do.
func (e *StrategyError) Error() string {
	other := fmt.Sprintf("it was played by %s, this server's is %s", e.Strategy, e.Here)
	if e.Strategy == e.Here {
		other = fmt.Sprintf("it was played by %s with other settings than this server's", e.Strategy)
	}
	return fmt.Sprintf("%v: %s: start the server with the strategy that it was begun with, or move the journal away%s", ErrStrategy, other, e.Others)
}

// Unwrap returns ErrStrategy.
func (e *StrategyError) Unwrap() error { return ErrStrategy }

const (
	suffix      = ".journal"
	endedSuffix = ".ended" + suffix
	lockName    = "lock"
	defaultWait = 10 * time.Minute
)

// Open takes a directory, reads every journal in it, and brings the matches back to their last tick. If one of them
// cannot be, nothing is changed, and the error says which, why, and what to do.
func Open(c Config) (*Keeper, error) { return openOn(c, system{}) }

func openOn(c Config, d disk) (*Keeper, error) {
	if c.Wait == 0 {
		c.Wait = defaultWait
	}
	if c.Told == nil {
		c.Told = func(News) {}
	}
	if err := durable.MakeDirectory(c.Dir); err != nil {
		return nil, err
	}
	unlock, err := durable.Lock(filepath.Join(c.Dir, lockName))
	if errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("%w: %s: %w", ErrLocked, c.Dir, err)
	}
	if err != nil {
		return nil, err
	}
	k := &Keeper{config: c, disk: d, unlock: unlock, stop: make(chan struct{}), waiting: map[string]*match{},
		open: map[string]*roomJournal{}, over: map[string]string{}}
	if err := k.bringBack(); err != nil {
		return nil, errors.Join(err, unlock())
	}
	if len(k.waiting) > 0 {
		k.timer = time.AfterFunc(c.Wait, k.forsake)
	}
	if c.Sync > 0 {
		k.synced.Add(1)
		go k.syncEvery(time.Duration(c.Sync))
	}
	return k, nil
}

// Found returns the matches that were brought back, by room.
func (k *Keeper) Found() []Found { return slices.Clone(k.found) }

// Left is a match that was brought back and that nobody has come back to yet.
type Left struct {
	Journal *journal.Journal // up to where it goes on; it may be read by any goroutine
	File    string           // where its journal lies while the match goes on
	Ended   string           // and where it will lie when the match is over
	Written time.Time        // when the process before wrote the last of it
}

// Left returns the matches that were brought back and wait, by room.
func (k *Keeper) Left() []Left {
	k.mu.Lock()
	defer k.mu.Unlock()
	var left []Left
	for _, name := range slices.Sorted(maps.Keys(k.waiting)) {
		m := k.waiting[name]
		left = append(left, Left{Journal: m.journal, File: m.path, Ended: endedPath(m.path), Written: m.written})
	}
	return left
}

// Open adds a journal to the sinks of a room that is about to be made: a new one, or that of a match that was brought back, which
// then goes on in this room. c's Seed and Match are those of a new match, and are changed if it is an old one. An
// error says that nothing could be written, so the room must not be made.
func (k *Keeper) Open(name string, c *room.Config) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	j, err := k.journal(name, c)
	if err != nil {
		if !k.refuses {
			k.config.Told(News{Kind: Refused, Room: name, Err: err})
		}
		k.refuses = true
		return fmt.Errorf("journals: room %s has no journal: %w", name, err)
	}
	k.refuses = false
	k.open[name] = j
	c.Sinks = append(c.Sinks, j.sink())
	return nil
}

func (k *Keeper) journal(name string, c *room.Config) (*roomJournal, error) {
	if k.open[name] != nil {
		return nil, errors.New("it is open already")
	}
	if path, ok := k.over[name]; ok {
		if err := durable.Rename(path, endedPath(path)); err != nil {
			return nil, fmt.Errorf("that of the match before cannot be put aside: %w", err)
		}
		delete(k.over, name)
	}
	if j, err := k.resume(name, c); j != nil || err != nil {
		return j, err
	}
	return k.begin(name, c)
}

// begin makes the file of a new match, so that it is there after a power cut before the match has a tick.
func (k *Keeper) begin(name string, c *room.Config) (*roomJournal, error) {
	h := journal.HeaderOf(k.config.Game, c.Seed, k.config.Build)
	h.Strategy, h.Params, h.Room, h.Match = k.config.Strategy, k.config.Params, name, c.Match
	j := &roomJournal{keeper: k, room: name, path: filepath.Join(k.config.Dir, fmt.Sprintf("%s-%016x%s", name, c.Match, suffix))}
	var err error
	if j.file, err = k.disk.create(j.path); err != nil {
		return nil, err
	}
	if j.writer, err = journal.NewWriter(j.file, k.config.Game, h); err == nil {
		err = j.writer.Flush()
	}
	if err == nil {
		err = j.file.Sync()
	}
	if err == nil {
		err = durable.SyncDirectory(k.config.Dir)
	}
	if err != nil {
		return nil, errors.Join(err, j.file.Close(), os.Remove(j.path)) // nobody has heard of the match
	}
	k.config.Told(News{Kind: Begun, Room: name, File: j.path})
	return j, nil
}

// resume goes on with a match that was brought back; nil if there is none of that room.
func (k *Keeper) resume(name string, c *room.Config) (*roomJournal, error) {
	m := k.waiting[name]
	if m == nil {
		return nil, nil
	}
	f, err := k.disk.appendTo(m.path)
	if err != nil {
		return nil, err // it waits on
	}
	delete(k.waiting, name)
	h := m.journal.Header()
	c.Seed, c.Match, c.Resume = h.Seed, h.Match, room.ResumeOf(m.journal, m.world)
	k.config.Told(News{Kind: Resumed, Room: name, File: m.path, Tick: m.world.Tick()})
	return &roomJournal{keeper: k, room: name, path: m.path, file: f, writer: m.journal.Resume(f)}, nil
}

// File returns where the journal of an open room will lie once its match is over; "" if it has none.
func (k *Keeper) File(name string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if j := k.open[name]; j != nil {
		return endedPath(j.path)
	}
	return ""
}

// End puts the journal of a match that is over aside. Nothing happens if the room has none.
func (k *Keeper) End(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	j := k.open[name]
	if j == nil {
		return
	}
	delete(k.open, name)
	_ = errors.Join(j.writer.Flush(), j.file.Sync(), j.file.Close()) // nobody will need it
	k.putAside(Ended, name, j.path, j.writer.Last())
}

func (k *Keeper) putAside(kind Kind, name, path string, last ecs.Tick) {
	n := News{Kind: kind, Room: name, File: endedPath(path), Tick: last}
	if err := durable.Rename(path, n.File); err != nil {
		n.Kind, n.File, n.Err = Unended, path, err
		if !errors.Is(err, fs.ErrNotExist) { // then somebody has taken it away, and that is as good
			k.over[name] = path
		}
	}
	k.config.Told(n)
}

// forsake ends the matches that nobody has come back to.
func (k *Keeper) forsake() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, m := range k.waiting {
		delete(k.waiting, name)
		k.putAside(Forsaken, name, m.path, m.world.Tick())
	}
}

// syncEvery syncs what was written until Close.
func (k *Keeper) syncEvery(interval time.Duration) {
	defer k.synced.Done()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var rooms []*roomJournal
	for {
		select {
		case <-k.stop:
			return
		case <-ticker.C:
		}
		rooms = rooms[:0]
		k.mu.Lock()
		for _, j := range k.open {
			rooms = append(rooms, j)
		}
		k.mu.Unlock()
		begun := time.Now()
		for _, j := range rooms {
			j.sync()
		}
		k.took(time.Since(begun), len(rooms))
		clear(rooms)
	}
}

// took compares what syncing all rooms took with what was promised.
func (k *Keeper) took(d time.Duration, rooms int) {
	lags := d > time.Duration(k.config.Sync)
	if lags && !k.lags {
		k.config.Told(News{Kind: Slow, Err: fmt.Errorf("syncing the journals of %d rooms took %v", rooms, d.Round(time.Millisecond))})
	}
	k.lags = lags
}

// Close gives the directory back. Matches that were not ended are brought back by the next Open. The rooms must be gone.
func (k *Keeper) Close() error {
	if k.timer != nil {
		k.timer.Stop()
	}
	close(k.stop)
	k.synced.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for _, j := range k.open {
		errs = append(errs, j.file.Sync(), j.file.Close())
	}
	k.open, k.waiting = nil, nil
	return errors.Join(append(errs, k.unlock())...)
}

// endedPath is where the journal of a match that is over lies.
func endedPath(path string) string { return path[:len(path)-len(suffix)] + endedSuffix }
