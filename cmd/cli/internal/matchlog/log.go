// Package matchlog stores a client's match and its reconnect tokens in files, so that another process can resume the match.
package matchlog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"tendon/cmd/cli/durable"
	"tendon/cmd/cli/internal/app"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/rollback/record"
)

// Log writes the journal of a client's match, which outlives the process. It belongs to the client's goroutine; only
// the file is synced by another. A client that simulates nothing, as with verify, adds no ticks: the file then has the
// state that was loaded. No other process writes the file meanwhile, nor the token store beside it.
//
// A file that cannot be written is reported once and closed; the match continues.
type Log struct {
	app    *app.App
	path   string
	file   *os.File // nil: no file is open
	writer *record.Writer
	synced time.Time   // when the last sync began
	busy   atomic.Bool // it runs
	held   *heldMatch  // the match of the file when it was opened, until it is replaced. May be nil
	unlock func() error
	broken bool
}

// syncEvery is the interval of syncs: a power cut may lose as much of the match.
const syncEvery = time.Second

// Open returns the match of an earlier process in the file. It returns nil if there is none that can be continued, and
// prints the reason.
func (l *Log) Open() (*client.Resume, error) {
	data, _, err := durable.ReadFile(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the log cannot be read: %w; choose another --log", err)
	}
	resume, err := l.resume(data)
	if err != nil {
		l.unused(err.Error(), "the log %s cannot be used (%v): the match will be loaded from the server", l.path, err)
		return nil, nil
	}
	l.app.Logf("the log %s has a match up to tick %d", l.path, resume.World.Tick())
	l.app.Emit("log", app.Fields{"file": l.path, "used": true, "tick": resume.World.Tick()})
	return resume, nil
}

// Lock locks the files of a log for this process.
func Lock(a *app.App, path string) (*Log, error) {
	if !app.IsDirectory(filepath.Dir(path)) {
		return nil, fmt.Errorf("--log %s: %s is not a directory", path, filepath.Dir(path))
	}
	unlock, err := durable.Lock(path + ".lock")
	switch {
	case errors.Is(err, durable.ErrLocked):
		return nil, fmt.Errorf("--log %s: %w: end that one, or choose another --log", path, err)
	case err != nil:
		return nil, fmt.Errorf("--log %s: no files can be made there: %w; choose another --log", path, err)
	}
	return &Log{app: a, path: path, unlock: unlock}, nil
}

// resume returns the match of a file's content, and continues the file.
func (l *Log) resume(data []byte) (*client.Resume, error) {
	j, err := record.Open(data, l.app.Game)
	if err != nil {
		return nil, err
	}
	h := j.Header()
	if err := h.CheckBuild(l.app.Game, app.Build()); err != nil {
		return nil, err
	}
	if torn := j.Torn(); torn != nil {
		l.app.Logf("the log %s is continued without its end: %v", l.path, torn)
	}
	world, err := j.WorldAt(j.Last().Tick)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if err = cmp.Or(f.Truncate(int64(len(j.Bytes()))), f.Sync()); err == nil {
		_, err = f.Seek(0, 2)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	l.file, l.writer = f, j.Resume(f)
	l.held = &heldMatch{client.Match{Number: h.Match, Strategy: h.Strategy}, j.Start(), world.Tick()}
	return &client.Resume{World: world, Match: h.Match, Chain: j.Last().Chain}, nil
}

// Begin replaces the log. The old file stays until the new one is whole.
func (l *Log) Begin(m client.Match, at record.Position, state *image.Snapshot) {
	if l.broken {
		return
	}
	if l.held != nil {
		why := l.held.unused(m)
		l.unused(why, "the log %s is replaced: %s; the match was loaded from the server", l.path, why)
		l.held = nil
	}
	l.check(l.begin(m, at, state))
}

// heldMatch is a match in a file, with its first and last tick.
type heldMatch struct {
	match       client.Match
	start, last ecs.Tick
}

// unused returns why the server sent a state of its match m, and did not continue from the last tick of the file.
func (h *heldMatch) unused(m client.Match) string {
	switch {
	case h.match.Number != m.Number || h.match.Strategy != m.Strategy:
		return fmt.Sprintf("it has match %016x by %s up to tick %d, which the server with match %016x by %s does not continue",
			h.match.Number, h.match.Strategy, h.last, m.Number, m.Strategy)
	case h.start == h.last:
		return fmt.Sprintf("it has only the state of tick %d, which is too old for the server to continue from", h.last)
	}
	return fmt.Sprintf("it has the match up to tick %d, which is too old for the server to continue from or was lost in a restart", h.last)
}

// unused reports that the match in the file is not used or not written.
func (l *Log) unused(why, format string, args ...any) {
	l.app.Logf(format, args...)
	l.app.Emit("log", app.Fields{"file": l.path, "used": false, "why": why})
}

func (l *Log) begin(m client.Match, at record.Position, state *image.Snapshot) error {
	f, err := create(l.path)
	if err != nil {
		return err
	}
	h := record.HeaderOf(l.app.Game, 0, app.Build())
	h.Strategy, h.Match, h.Start = m.Strategy, m.Number, at
	w, err := record.NewWriter(f, l.app.Game, h)
	if err == nil {
		err = cmp.Or(w.Image(state), w.Flush()) // of tick 0 too: a client does not know the match's seed
	}
	if err = replace(f, l.path, err); err != nil {
		return errors.Join(err, f.Close())
	}
	if l.file != nil {
		err = l.file.Close()
	}
	l.file, l.writer = f, w
	return err
}

// Tick adds a tick to the log.
func (l *Log) Tick(t record.Tick) {
	if l.broken || l.writer == nil {
		return
	}
	err := l.writer.Tick(t)
	if err == nil {
		err = l.writer.Flush()
	}
	l.check(err)
	if now := time.Now(); now.Sub(l.synced) >= syncEvery && !l.busy.Swap(true) {
		l.synced = now
		go func(f *os.File) {
			_ = f.Sync() // if this fails, a write fails soon
			l.busy.Store(false)
		}(l.file)
	}
}

// check ends the log at the first error.
func (l *Log) check(err error) {
	if err != nil && !l.broken {
		l.broken = true
		// Without the name of the file, which may be the one that is to replace the log.
		if file := (*fs.PathError)(nil); errors.As(err, &file) {
			err = file.Err
		} else if move := (*os.LinkError)(nil); errors.As(err, &move) {
			err = move.Err
		}
		l.unused(err.Error(), "the log %s cannot be written: %v; the match continues without it", l.path, err)
	}
}

// newSuffix ends the name of a file that is to replace another one. A process that is killed leaves it to the next one,
// which holds the same lock.
const newSuffix = ".new"

// TokenStore returns the store of the reconnect tokens, whose file is beside the log. An error of it ends the log: without a
// token no process can return to the match.
func (l *Log) TokenStore() *TokenStore {
	return &TokenStore{Path: l.path + ".token", failed: l.check}
}

// writeWhole replaces a file's content, so that it is the old or the new one whenever the process ends.
func writeWhole(path string, content []byte) error {
	f, err := create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(replace(f, path, err), f.Close())
}

// create creates the file that is to replace another one.
func create(path string) (*os.File, error) {
	return os.OpenFile(path+newSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

// replace replaces a file by f, or removes f if an error came before.
func replace(f *os.File, path string, err error) error {
	if err = cmp.Or(err, f.Chmod(0o600), f.Sync()); err == nil {
		err = durable.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Close ends the log. The match can be continued.
func (l *Log) Close() {
	if l.file != nil {
		l.check(errors.Join(l.file.Sync(), l.file.Close()))
	}
	_ = l.unlock() // the end of the process unlocks it too
}
