package matches

import (
	"bufio"
	"context"
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

// querySocket answers queries on a Unix socket beside the file. A connection carries one query. A peer that sends nonsense
// or does not read costs a goroutine and a page until the timeout, and delays nothing else.
type querySocket struct {
	page     func(query) (answer, error)
	timeout  time.Duration // of a connection
	listener net.Listener
	remove   func() error // removes what the listener does not
	closing  context.Context
	cancel   context.CancelFunc // of closing
	slots    chan struct{}      // one value for each open connection
	served   sync.WaitGroup
}

const (
	queryTimeout   = 30 * time.Second // of both sides, for a query and its answer
	maxConnections = 32               // at once; further ones are closed
	maxQuery       = 1 << 10          // bytes of the line of a query
)

// openSocket listens at a path. The caller has the lock of the file, so an existing socket is that of an ended process.
func openSocket(path string, page func(query) (answer, error), timeout time.Duration) (*querySocket, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&(fs.ModeSocket|fs.ModeSymlink) == 0 {
			return nil, fmt.Errorf("matches: %s is in the way of the socket for queries: move it away", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	var err error
	s := &querySocket{page: page, timeout: timeout, slots: make(chan struct{}, maxConnections)}
	s.closing, s.cancel = context.WithCancel(context.Background())
	if s.listener, s.remove, err = listen(path); err != nil {
		return nil, fmt.Errorf("matches: no socket can be created at %s, so the matches could not be read while the server runs: %w", path, err)
	}
	s.served.Go(s.accept)
	return s, nil
}

// listen opens a socket that only this user may connect to. If the path is too long for a socket, the socket is in a
// private directory, and a link to it is at the path.
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

// accept accepts connections until the socket is closed.
func (s *querySocket) accept() {
	for {
		c, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors, for a moment
			time.Sleep(100 * time.Millisecond)
			continue
		}
		select {
		case s.slots <- struct{}{}:
			s.served.Go(func() { s.answer(c) })
		default:
			_ = c.Close()
		}
	}
}

// answer answers the query of a connection and closes it.
func (s *querySocket) answer(c net.Conn) {
	defer func() { <-s.slots }()
	defer c.Close()
	defer context.AfterFunc(s.closing, func() { _ = c.Close() })()
	_ = c.SetDeadline(time.Now().Add(s.timeout))
	line, err := bufio.NewReader(io.LimitReader(c, maxQuery)).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return
	}
	var q query
	var a answer
	if err := json.Unmarshal(line, &q); err != nil {
		a.Error = "the query is not valid: send one line of JSON of at most 1 KiB"
	} else if a, err = s.page(q); err != nil {
		a = answer{Error: err.Error()}
	}
	_ = json.NewEncoder(c).Encode(a) // the peer may have left
}

// close closes all connections and removes the socket, unless s is nil.
func (s *querySocket) close() error {
	if s == nil {
		return nil
	}
	err := s.listener.Close()
	s.cancel()
	s.served.Wait()
	return errors.Join(err, s.remove())
}
