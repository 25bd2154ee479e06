package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/systems"
)

// Server runs rooms on one socket. It goes New → Run → done, once. Goroutines while it runs: one that reads the
// socket, one for each worker, and Run's own; none for a connection or a room.
type Server struct {
	config  Config
	socket  endpoint
	port    *port
	workers []*worker
	log     *lines
	done    chan struct{} // closed when Run has returned
	once    sync.Once
}

// ErrNoRoom is returned by Do and Kick for a room or a client that is not there.
var ErrNoRoom = errors.New("server: no such room or client")

// ErrStopped is returned by Do and Kick when the server has stopped.
var ErrStopped = errors.New("server: stopped")

const (
	// readPause follows a batch that was not full, so that packets are read many at a time: a goroutine that wakes for
	// each of them costs more than all the rest. Workers read too, right before their ticks, so no tick waits for it;
	// what it blurs is the time of arrival.
	readPause = 4 * time.Millisecond
	// pollTrust is how long after a worker has read the reader believes that it goes on. It then looks again after
	// pollRest, in which what it takes over from a worker that stopped may wait.
	pollTrust = 2 * stepTime
	pollRest  = 40 * time.Millisecond
	// updateInterval is how often connections are kept alive and silent ones ended. It is a good part of netcode's 100 ms.
	updateInterval = 20 * time.Millisecond
	// closeLimit bounds the time that rooms have to say their last words.
	closeLimit = 2 * time.Second
)

// New opens the socket and checks everything. Errors are sentences that say what to do.
func New(c Config) (*Server, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, log: &lines{logger: c.Logger}, done: make(chan struct{})}
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
		s.port, err = newPort(&s.config, public, time.Now(), s.log)
	}
	if err != nil {
		if c.Socket == nil {
			s.socket.Close()
		}
		return nil, err
	}
	for i := range c.Workers {
		s.workers = append(s.workers, newWorker(i, &s.config, s.port, s.socket, s.log))
	}
	s.port.workers = s.workers
	return s, nil
}

// Addr returns the address of the socket.
func (s *Server) Addr() net.Addr { return s.socket.LocalAddr() }

// Run serves until the context is done; then it tells every client, lets the rooms say their last words, closes the
// socket and returns nil. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	first := false
	s.once.Do(func() { first = true })
	if !first {
		panic("server: Run was called twice: make another Server with New")
	}
	defer close(s.done)
	s.log.info("server listens", slog.String("address", s.socket.LocalAddr().String()), slog.Int("workers", len(s.workers)))
	var reading, working sync.WaitGroup
	stop := make(chan struct{})
	reading.Add(1)
	go s.read(&reading)
	for _, w := range s.workers {
		working.Add(1)
		go w.run(&working, stop)
	}

	var out netcode.Outbox
	sender := newSender(s.socket)
	ticker := time.NewTicker(updateInterval)
	defer ticker.Stop()
	update := func(until <-chan struct{}, limit time.Duration) {
		var timeout <-chan time.Time
		if limit > 0 {
			timer := time.NewTimer(limit)
			defer timer.Stop()
			timeout = timer.C
		}
		for {
			select {
			case <-until:
				return
			case <-timeout:
				return
			case now := <-ticker.C:
				s.port.update(&out, now)
				sender.send(&out)
				out.Reset()
			}
		}
	}
	update(ctx.Done(), 0)
	s.log.info("server stops")
	s.port.close()
	if s.config.Farewell > 0 {
		s.eachWorker(func(w *worker) { w.notice(int(s.config.Farewell / time.Second)) })
		update(nil, s.config.Farewell)
	}
	closed := make(chan struct{})
	go s.closeRooms(closed, stop)
	update(closed, 0)
	s.port.disconnect(&out, time.Now())
	sender.send(&out)
	working.Wait()
	err := s.socket.Close()
	reading.Wait()
	return err
}

// closeRooms ends every match, and says so when every peer had time to hear of it.
func (s *Server) closeRooms(closed, stop chan struct{}) {
	var farewells sync.WaitGroup
	farewells.Add(len(s.workers))
	s.eachWorker(func(w *worker) { w.stop(farewells.Done) })
	farewells.Wait()
	close(stop)
	close(closed)
}

// read takes what comes from the socket until it is closed. While workers do so at each step, it only looks now and
// then whether they still do: a goroutine that waits is one that is woken.
func (s *Server) read(done *sync.WaitGroup) {
	defer done.Done()
	var a arrivals
	var out netcode.Outbox
	from, to := newReceiver(s.socket), newSender(s.socket)
	for {
		if s.port.at(time.Now())-systems.Time(s.port.polled.Load()) < systems.Time(pollTrust) {
			time.Sleep(pollRest)
			continue
		}
		err := from.receive(&a)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // of one datagram, or of the system; neither is a reason to stop
			time.Sleep(readPause)
			continue
		}
		s.port.receive(&a, &out, time.Now())
		to.send(&out)
		out.Reset()
		if a.pause {
			time.Sleep(readPause)
		}
	}
}

// eachWorker has f called on every worker's goroutine.
func (s *Server) eachWorker(f func(w *worker)) {
	for _, w := range s.workers {
		w.inbox.news(letter{kind: letterCall, call: f})
	}
}

// Do calls f with a room, on the goroutine that computes it, between two ticks; it returns when f has. f must not keep
// the room, nor wait for anything.
func (s *Server) Do(name string, f func(r *room.Room)) error {
	return s.host(name, func(_ *worker, h *host) error {
		f(h.room)
		return nil
	})
}

// Kick puts a client out of a room: its session ends, its player leaves the match at once, and it cannot come back but
// with a token that is made after now.
func (s *Server) Kick(name string, clientID uint64, text string) error {
	return s.host(name, func(w *worker, h *host) error {
		for _, c := range h.conns {
			if c != nil && c.client == clientID {
				s.port.bar(c, time.Now())
				h.room.Kick(c.peer, text)
				return nil
			}
		}
		return ErrNoRoom
	})
}

// host calls f on the goroutine of a room's worker.
func (s *Server) host(name string, f func(w *worker, h *host) error) error {
	at := s.port.place(name)
	if at == nil {
		return ErrNoRoom
	}
	answer := make(chan error, 1)
	at.worker.inbox.news(letter{kind: letterCall, call: func(w *worker) {
		if at.host == nil {
			answer <- ErrNoRoom
			return
		}
		answer <- f(w, at.host)
	}})
	select {
	case err := <-answer:
		return err
	case <-s.done:
		return ErrStopped
	}
}
