package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tendon/net/room"
	"tendon/systems"
)

// Server runs rooms on one socket, with one goroutine that reads the socket, one for each worker, and that of Run.
type Server struct {
	config  Config
	socket  endpoint
	conns   *connTable
	workers []*worker
	log     *limitedLog
	done    chan struct{} // closed when Run has returned
	started atomic.Bool
}

// ErrNoRoom is returned by Do and Kick for an unknown room or client.
var ErrNoRoom = errors.New("server: no such room or client")

// ErrStopped is returned by Do and Kick when the server has stopped.
var ErrStopped = errors.New("server: stopped")

const (
	// readPause follows a batch that was not full, so that many packets are read at a time. No tick waits for it.
	readPause      = 4 * time.Millisecond
	pollTrust      = 2 * stepTime // for so long after a read by a worker, the reading goroutine sleeps for pollRest
	pollRest       = 40 * time.Millisecond
	updateInterval = 20 * time.Millisecond // of the checks of keep-alives and timeouts
	closeLimit     = 2 * time.Second       // in which rooms send their last messages
)

// New checks the config and opens the socket. An error is a sentence with the remedy.
func New(c Config) (*Server, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, log: newLog(c.Logger), done: make(chan struct{})}
	if s.socket = c.Socket; c.Socket == nil {
		if c.Address == "" {
			return nil, fmt.Errorf("%w: Address is empty: name a port to listen on, such as :7777", ErrConfig)
		}
		if s.socket, err = listen(c.Address); err != nil {
			return nil, err
		}
	}
	public, err := s.config.public(s.socket)
	if err == nil {
		s.conns, err = newConnTable(&s.config, public, time.Now(), s.log)
	}
	if err != nil {
		if c.Socket == nil {
			s.socket.Close()
		}
		return nil, err
	}
	for i := range c.Workers {
		s.workers = append(s.workers, newWorker(i, &s.config, s.conns, s.socket, s.log))
	}
	s.conns.workers = s.workers
	return s, nil
}

// Addr returns the address of the socket.
func (s *Server) Addr() net.Addr { return s.socket.LocalAddr() }

// Run serves until the context is done. Then it ends the session of every client, closes the rooms and the socket, and
// returns nil. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	if s.started.Swap(true) {
		panic("server: Run was called twice: make another Server with New")
	}
	defer close(s.done)
	s.log.info("server listens", slog.String("address", s.socket.LocalAddr().String()), slog.Int("workers", len(s.workers)))
	var reading, working, rooms sync.WaitGroup
	closed := make(chan struct{}) // when every worker has sent the last messages
	reading.Go(s.read)
	for _, w := range s.workers {
		working.Go(func() { w.run(closed) })
	}

	io := socketIO{datagrams: newDatagrams(s.socket)}
	ticker := time.NewTicker(updateInterval)
	defer ticker.Stop()
	update := func(until <-chan struct{}) {
		for {
			select {
			case <-until:
				return
			case now := <-ticker.C:
				s.conns.update(&io.sealed, now)
				io.flush()
			}
		}
	}
	update(ctx.Done())
	s.log.info("server stops")
	s.conns.mu.Lock()
	s.conns.closing = true
	s.conns.mu.Unlock()
	rooms.Add(len(s.workers))
	for _, w := range s.workers {
		w.queue.add(workItem{kind: workCall, call: func(w *worker) { w.stop(rooms.Done) }})
	}
	go func() {
		rooms.Wait()
		close(closed)
	}()
	update(closed)
	s.conns.disconnect(&io.sealed, time.Now())
	io.flush()
	working.Wait()
	err := s.socket.Close()
	reading.Wait()
	return err
}

// read reads the socket until it is closed. While workers read it at each step, it only checks whether they still do.
func (s *Server) read() {
	io := socketIO{datagrams: newDatagrams(s.socket)}
	for {
		if s.conns.at(time.Now())-systems.Time(s.conns.polled.Load()) < systems.Time(pollTrust) {
			time.Sleep(pollRest)
			continue
		}
		err := io.receive(&io.arrivals)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil { // otherwise it is of one datagram, or of the system
			s.conns.receive(&io.arrivals, &io.sealed, time.Now())
			io.flush()
		}
		if err != nil || io.pause {
			time.Sleep(readPause)
		}
	}
}

// Do calls f with a room, between two ticks and on the goroutine that computes it, and returns after f. f must not block.
func (s *Server) Do(name string, f func(r *room.Room)) error {
	return s.hosted(name, func(_ *worker, h *hostedRoom) error {
		f(h.room)
		return nil
	})
}

// Kick removes a client from a room: its session ends, and its player leaves the match at once. It can come back only with
// a token that is made later.
func (s *Server) Kick(name string, clientID uint64, text string) error {
	return s.hosted(name, func(w *worker, h *hostedRoom) error {
		for _, c := range h.conns {
			if c != nil && c.client == clientID {
				now := time.Now()
				s.conns.mu.Lock()
				s.conns.revoked.add(clientID, c.epoch+1, now, now)
				s.conns.mu.Unlock()
				h.room.Kick(c.peer, text)
				return nil
			}
		}
		return ErrNoRoom
	})
}

func (s *Server) hosted(name string, f func(w *worker, h *hostedRoom) error) error {
	s.conns.mu.Lock()
	h := s.conns.rooms[name]
	s.conns.mu.Unlock()
	if h == nil {
		return ErrNoRoom
	}
	answer := make(chan error, 1)
	h.worker.queue.add(workItem{kind: workCall, call: func(w *worker) {
		if h.room == nil {
			answer <- ErrNoRoom
			return
		}
		answer <- f(w, h)
	}})
	select {
	case err := <-answer:
		return err
	case <-s.done:
		return ErrStopped
	}
}
