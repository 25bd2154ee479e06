package matches

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// desk answers questions on a socket beside the file. Each connection asks once. Whoever asks nonsense, or does not
// read, costs a goroutine and a page until patience ends, and nobody waits for him.
type desk struct {
	page     func(question) (answer, error)
	patience time.Duration // for one conversation, from its beginning to its end
	listener net.Listener
	remove   func() error // what the listener does not remove itself

	mu     sync.Mutex
	open   map[net.Conn]bool // nil: closed
	served sync.WaitGroup
}

const (
	askPatience = 30 * time.Second // of both sides, for one question and its answer
	deskMost    = 32               // conversations at once; more are hung up on
	maxQuestion = 1 << 10          // bytes of the line of a question
)

// openDesk listens at a path. Whoever calls it has the lock on the file, so a socket that is there is a dead one.
func openDesk(path string, page func(question) (answer, error), patience time.Duration) (*desk, error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode()&(fs.ModeSocket|fs.ModeSymlink) == 0:
		return nil, fmt.Errorf("matches: %s is in the way: it is where the server answers what is asked of its matches; move it away", path)
	case err == nil:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	d := &desk{page: page, patience: patience, open: map[net.Conn]bool{}}
	if d.listener, d.remove, err = listen(path); err != nil {
		return nil, fmt.Errorf("matches: no socket can be made at %s, so nobody could read the matches while the server runs: %w", path, err)
	}
	d.served.Go(d.accept)
	return d, nil
}

// listen opens a socket that only this user may connect to, at the path or behind a link there.
func listen(path string) (l net.Listener, remove func() error, err error) {
	if l, err = net.Listen("unix", path); err == nil {
		if err = os.Chmod(path, 0o600); err != nil {
			return nil, nil, errors.Join(err, l.Close())
		}
		return l, func() error { return nil }, nil
	}
	dir, err := os.MkdirTemp("", "tendon-matches-")
	if err != nil {
		return nil, nil, err
	}
	target := filepath.Join(dir, "sock")
	if l, err = net.Listen("unix", target); err != nil {
		return nil, nil, errors.Join(err, os.Remove(dir))
	}
	if err = os.Symlink(target, path); err != nil {
		return nil, nil, errors.Join(err, l.Close(), os.Remove(dir))
	}
	return l, func() error { return errors.Join(os.Remove(path), os.Remove(dir)) }, nil
}

// accept takes connections until the desk closes.
func (d *desk) accept() {
	for {
		c, err := d.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors: players come and go, so this passes
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if !d.take(c) {
			_ = c.Close()
		}
	}
}

// take begins a conversation, unless there are too many.
func (d *desk) take(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil || len(d.open) >= deskMost {
		return false
	}
	d.open[c] = true
	d.served.Go(func() {
		_ = c.SetDeadline(time.Now().Add(d.patience))
		d.converse(c)
		_ = c.Close()
		d.mu.Lock()
		delete(d.open, c)
		d.mu.Unlock()
	})
	return true
}

// converse answers one question. Whoever asks wrongly is told; whoever has gone away is not missed.
func (d *desk) converse(c net.Conn) {
	line, err := bufio.NewReader(io.LimitReader(c, maxQuestion)).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return
	}
	var q question
	var a answer
	if err := json.Unmarshal(line, &q); err != nil {
		a.Error = "that is no question: ask in one line of JSON of at most 1 KiB"
	} else if a, err = d.page(q); err != nil {
		a = answer{Error: err.Error()}
	}
	_ = json.NewEncoder(c).Encode(a)
}

// close hangs up on everybody and removes the socket.
func (d *desk) close() error {
	err := d.listener.Close()
	d.mu.Lock()
	for c := range d.open {
		_ = c.Close()
	}
	d.open = nil
	d.mu.Unlock()
	d.served.Wait()
	return errors.Join(err, d.remove())
}
