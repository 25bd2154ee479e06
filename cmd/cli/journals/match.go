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
	"time"

	"tendon/ecs"
	"tendon/rollback/journal"
)

// match is one that a server left behind, brought back to its last tick.
type match struct {
	path    string
	journal *journal.Journal
	world   *ecs.World
	written time.Time // when the file was written last
	empty   error     // the file did not get as far as a first tick, and why; then the rest is nil
}

// bringBack reads the directory. Nothing in it is changed before everything was found to be in order.
func (k *Keeper) bringBack() error {
	paths, err := journalsIn(k.config.Dir)
	if err != nil {
		return err
	}
	found, err := k.load(paths)
	if err != nil {
		return err
	}
	for i, m := range found {
		if m.empty != nil {
			continue
		}
		name := m.journal.Header().Room
		if other := k.waiting[name]; other != nil {
			return fmt.Errorf("%w: %s and %s are both of room %s: move the one away that is over", ErrTwice, other.path, m.path, name)
		}
		k.waiting[name] = found[i]
	}
	for _, m := range found {
		if err := k.tidy(m); err != nil {
			return err
		}
	}
	return nil
}

// tidy cuts off what is torn, and removes a file in which nothing is whole.
func (k *Keeper) tidy(m *match) error {
	if m.empty != nil {
		if err := os.Remove(m.path); err != nil {
			return err
		}
		k.config.Told(News{Kind: Empty, File: m.path, Err: m.empty})
		return nil
	}
	name, last := m.journal.Header().Room, m.world.Tick()
	if torn := m.journal.Torn(); torn != nil {
		if err := cut(m.path, m.journal.Valid()); err != nil {
			return err
		}
		k.config.Told(News{Kind: Torn, Room: name, File: m.path, Tick: last, Err: torn})
	}
	k.found = append(k.found, Found{Room: name, File: m.path, Tick: last})
	return nil
}

// journalsIn lists the journals of matches that go on, by name.
func journalsIn(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, suffix) && !strings.HasSuffix(name, endedSuffix) {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths, err
}

// load brings matches back, as many at a time as there are cores, since each replays up to half a minute. The error is
// that of the first file that has one, and names the others.
func (k *Keeper) load(paths []string) ([]*match, error) {
	found, failed := make([]*match, len(paths)), make([]error, len(paths))
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(paths)) {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := int(next.Add(1)) - 1; i < len(paths); i = int(next.Add(1)) - 1 {
				found[i], failed[i] = k.read(paths[i])
			}
		}()
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
	first, others := failed[slices.Index(paths, bad[0])], otherFiles(bad[1:])
	if other := (*StrategyError)(nil); errors.As(first, &other) {
		other.Others = others
		return nil, fmt.Errorf("%s: %w", bad[0], first)
	}
	return nil, fmt.Errorf("%s: %w%s", bad[0], advised(first), others)
}

// otherFiles says that these cannot be brought back either, as the end of a sentence.
func otherFiles(paths []string) string {
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
	return "; nor can these be brought back: " + names[2:]
}

// read brings one match back.
func (k *Keeper) read(path string) (*match, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(data, k.config.Game, k.config.Build)
	if errors.Is(err, journal.ErrTorn) {
		return &match{path: path, empty: err}, nil
	}
	if err != nil {
		return nil, err
	}
	if h := j.Header(); h.Strategy != k.config.Strategy || !bytes.Equal(h.Params, k.config.Params) {
		return nil, &StrategyError{File: path, Strategy: h.Strategy, Params: h.Params, Here: k.config.Strategy, HereParams: k.config.Params}
	}
	world, err := j.World()
	return &match{path: path, journal: j, world: world, written: info.ModTime()}, err
}

// advised adds what to do to an error that does not say so.
func advised(err error) error {
	for _, of := range []struct {
		kind error
		what string
	}{
		{journal.ErrNotJournal, "move the file away"},
		{journal.ErrVersion, "start the build that wrote it, or move the journal away"},
		{journal.ErrDiverged, "start the build that wrote it, or move the journal away"},
		{journal.ErrCorrupt, "put a sound copy in its place, or move the journal away, and its match is over"},
		{journal.ErrNoState, "move the journal away: its match is over"},
	} {
		if errors.Is(err, of.kind) {
			return fmt.Errorf("%w: %s", err, of.what)
		}
	}
	return err
}
