package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tendon/cmd/cli/durable"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/rollback/journal"
)

// matchLog keeps a client's match in a file that outlives its process. It is used by the client's goroutine; only the
// file is synced from another. A client that computes nothing, as with verify, tells it of no tick: the file then holds
// the state that was loaded and nothing since. No other process writes the file meanwhile, nor the token store beside it.
//
// A file that cannot be written is told of once and given up; the match goes on.
type matchLog struct {
	app    *app
	path   string
	file   *os.File // nil: there is nothing to write to
	writer *journal.Writer
	sync   chan *os.File
	synced time.Time
	held   *client.Match // what the file was of when it was opened, until it begins anew; nil: of nothing
	last   ecs.Tick      // of that
	unlock func() error
	broken bool
}

// syncEvery is how much of a match a power cut may take from the file.
const syncEvery = time.Second

// open returns the match that a former process left in the file, nil if there is none to go on with: then a sentence has
// said why.
func (l *matchLog) open() (*client.Resume, error) {
	data, err := os.ReadFile(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the log cannot be read: %w; choose another --log", err)
	}
	resume, err := l.resume(data)
	if err != nil {
		l.app.say("the log %s is of no use (%v): the match will be loaded from the server", l.path, err)
		l.app.emit("log", fields{"file": l.path, "used": false, "why": err.Error()})
		return nil, nil
	}
	l.app.say("the log %s holds a match up to tick %d", l.path, resume.World.Tick())
	l.app.emit("log", fields{"file": l.path, "used": true, "tick": resume.World.Tick()})
	return resume, nil
}

// lockMatchLog takes the files of a log for this process.
func lockMatchLog(a *app, path string) (*matchLog, error) {
	if !isDirectory(filepath.Dir(path)) {
		return nil, fmt.Errorf("--log %s: %s is no directory", path, filepath.Dir(path))
	}
	unlock, err := durable.Lock(path + ".lock")
	switch {
	case errors.Is(err, durable.ErrLocked):
		return nil, fmt.Errorf("--log %s: %w: end that one, or choose another --log", path, err)
	case err != nil:
		return nil, fmt.Errorf("--log %s: no files can be made there: %w; choose another --log", path, err)
	}
	l := &matchLog{app: a, path: path, sync: make(chan *os.File, 1), unlock: unlock}
	go func() {
		for f := range l.sync {
			_ = f.Sync() // what cannot be synced fails to be written soon
		}
	}()
	return l, nil
}

// resume takes up the match of a file's content and goes on writing behind it.
func (l *matchLog) resume(data []byte) (*client.Resume, error) {
	j, err := journal.Open(data, l.app.game, buildString())
	if err != nil {
		return nil, err
	}
	if torn := j.Torn(); torn != nil {
		l.app.say("the log %s is gone on with without its end: %v", l.path, torn)
	}
	world, err := j.World()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if err = f.Truncate(int64(j.Valid())); err == nil {
		_, err = f.Seek(0, 2)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	l.file, l.writer = f, j.Resume(f)
	l.held, l.last = &client.Match{Number: j.Header().Match, Strategy: j.Header().Strategy}, world.Tick()
	return &client.Resume{World: world, Match: j.Header().Match, Chain: j.Last().Chain}, nil
}

// Begin writes the log anew. The old file stays until the new one is whole.
func (l *matchLog) Begin(m client.Match, at journal.Position, state *image.Snapshot) {
	if l.broken {
		return
	}
	l.tellAnew(m)
	l.check(l.begin(m, at, state))
}

// tellAnew says why the match that the file held up to now is not gone on with.
func (l *matchLog) tellAnew(m client.Match) {
	held := l.held
	if l.held = nil; held == nil {
		return // it was told of, or there was none
	}
	why := fmt.Sprintf("the server did not go on from tick %d, which it no longer has or has otherwise", l.last)
	switch {
	case held.Number != m.Number:
		why = fmt.Sprintf("it is of another match (%016x, by %s) than the server's (%016x, by %s)", held.Number, held.Strategy, m.Number, m.Strategy)
	case held.Strategy != m.Strategy:
		why = fmt.Sprintf("it was played by %s, the server plays by %s", held.Strategy, m.Strategy)
	}
	l.app.say("the log %s begins anew: %s; the match was loaded from the server", l.path, why)
	l.app.emit("log", fields{"file": l.path, "used": false, "why": why})
}

func (l *matchLog) begin(m client.Match, at journal.Position, state *image.Snapshot) error {
	f, err := os.OpenFile(l.path+newSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	h := journal.HeaderOf(l.app.game, 0, buildString())
	h.Strategy, h.Match, h.Start = m.Strategy, m.Number, at
	w, err := journal.NewWriter(f, l.app.game, h)
	if err == nil {
		err = w.Image(state) // that of tick 0 too: a client does not know the match's seed
	}
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = durable.Rename(f.Name(), l.path)
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if l.file != nil {
		err = l.file.Close()
	}
	l.file, l.writer = f, w
	return err
}

// Tick adds a tick to the log.
func (l *matchLog) Tick(t journal.Tick) {
	if l.broken || l.writer == nil {
		return
	}
	err := l.writer.Tick(t)
	if err == nil {
		err = l.writer.Flush()
	}
	l.check(err)
	if now := time.Now(); now.Sub(l.synced) >= syncEvery {
		l.synced = now
		select {
		case l.sync <- l.file:
		default: // the last one is still at work
		}
	}
}

// check gives the log up at the first error.
func (l *matchLog) check(err error) {
	if err != nil && !l.broken {
		l.broken = true
		err = reason(err)
		l.app.say("the log %s cannot be written: %v; the match goes on without it", l.path, err)
		l.app.emit("log", fields{"file": l.path, "used": false, "why": err.Error()})
	}
}

// reason is an error without the name of its file, which may be the one that is to replace the log.
func reason(err error) error {
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		return file.Err
	}
	if move := (*os.LinkError)(nil); errors.As(err, &move) {
		return move.Err
	}
	return err
}

// newSuffix ends the name of a file that is to replace another one when it is whole. A process that is killed leaves it
// to the next, which has the same lock.
const newSuffix = ".new"

// tokenStore returns the store of the reconnect tokens, whose file lies beside the log. An error of it ends the log:
// without a token no process comes back to the match.
func (l *matchLog) tokenStore() *tokenStore {
	return &tokenStore{path: l.path + ".token", failed: l.check}
}

// writeWhole replaces a file's content, so that it is the old or the new one whenever the process ends.
func writeWhole(path string, content []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path+newSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = durable.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// close ends the log; the match can be gone on with.
func (l *matchLog) close() {
	close(l.sync)
	if l.file != nil {
		l.check(errors.Join(l.file.Sync(), l.file.Close()))
	}
	_ = l.unlock() // which the end of the process does anyway
}
