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
	"tendon/net/client"
	"tendon/rollback/journal"
)

// matchLog keeps a client's match in a file that outlives its process, and the newest token to come back with in
// another one. It is used by the client's goroutine; only the file is synced from another. A client that computes
// nothing, as with verify, tells it of no tick: the file then holds the state that was loaded and nothing since.
//
// A file that cannot be written is told of once and given up; the match goes on.
type matchLog struct {
	app    *app
	path   string
	file   *os.File // nil: there is nothing to write to
	writer *journal.Writer
	sync   chan *os.File
	synced time.Time
	token  []byte
	broken bool
}

// syncEvery is how much of a match a power cut may take from the file.
const syncEvery = time.Second

// openMatchLog opens the log at path and returns the match that a former process left in it, nil if there is none to go
// on with: then a sentence has said why.
func openMatchLog(a *app, path string) (*matchLog, *client.Resume, error) {
	if !isDirectory(filepath.Dir(path)) {
		return nil, nil, fmt.Errorf("--log %s: %s is no directory", path, filepath.Dir(path))
	}
	l := &matchLog{app: a, path: path, sync: make(chan *os.File, 1)}
	go func() {
		for f := range l.sync {
			_ = f.Sync() // what cannot be synced fails to be written soon
		}
	}()
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("the log cannot be read: %w; choose another --log", err)
	}
	resume, err := l.resume(data)
	if err != nil {
		a.say("the log %s is of no use (%v): the match will be loaded from the server", path, err)
		a.emit("log", fields{"file": path, "used": false, "why": err.Error()})
		return l, nil, nil
	}
	a.say("the log %s holds the match up to tick %d", path, resume.World.Tick())
	a.emit("log", fields{"file": path, "used": true, "tick": resume.World.Tick()})
	return l, resume, nil
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
	return &client.Resume{World: world, Match: j.Header().Match, Chain: j.Last().Chain}, nil
}

// Begin writes the log anew. The old file stays until the new one is whole.
func (l *matchLog) Begin(m client.Match, at journal.Position, state *ecs.Snapshot) {
	if l.broken {
		return
	}
	l.check(l.begin(m, at, state))
}

func (l *matchLog) begin(m client.Match, at journal.Position, state *ecs.Snapshot) error {
	f, err := os.CreateTemp(filepath.Dir(l.path), filepath.Base(l.path)+".new-*")
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
		l.app.say("the log %s cannot be written: %v; the match goes on without it", l.path, err)
		l.app.emit("log", fields{"file": l.path, "used": false, "why": err.Error()})
	}
}

// keepToken stores the newest token to come back with, if it is another one.
func (l *matchLog) keepToken(token []byte) {
	if len(token) == 0 || string(token) == string(l.token) {
		return
	}
	l.token = append(l.token[:0], token...)
	if err := writeWhole(l.tokenPath(), []byte(tokenText(token)+"\n"), 0o600); err != nil {
		l.check(err)
	}
}

func (l *matchLog) tokenPath() string { return l.path + ".token" }

// writeWhole replaces a file's content, so that it is the old or the new one whenever the process ends.
func writeWhole(path string, content []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
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
}
