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
	stands  *standstill
	workers []*worker
	log     *limitedLog
	done    chan struct{} // closed when Run has returned
	started atomic.Bool
	saving  sync.Mutex // held while the bans are saved
	hurry   context.Context
	end     context.CancelFunc // of hurry: by End
}

// ErrNoRoom is returned by the methods that need a room or a client, if there is none.
var ErrNoRoom = errors.New("server: no such room or client")

// ErrStopped is returned by the methods that need a room or a client, when the server has stopped.
var ErrStopped = errors.New("server: stopped")

const (
	// readPause follows a batch that was not full, so that many packets are read at a time. No tick waits for it.
	readPause      = 4 * time.Millisecond
	pollTrust      = 2 * longestStep // for so long after a read by a worker, the goroutines that read and update sleep for pollRest
	pollRest       = 200 * time.Millisecond
	updateInterval = 30 * time.Millisecond // of the checks of keep-alives and timeouts
	closeLimit     = 2 * time.Second       // in which rooms and ending connections send their last messages
)

// New checks the config and opens the socket. An error is a sentence with the remedy.
func New(c Config) (*Server, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, log: newLog(c.Logger), done: make(chan struct{})}
	s.hurry, s.end = context.WithCancel(context.Background())
	s.socket = c.Socket
	if c.Socket == nil {
		if c.Address == "" {
			return nil, fmt.Errorf("%w: Address is empty: name a port to listen on, such as :7777", ErrConfig)
		}
		if s.socket, err = listen(c.Address); err != nil {
			return nil, err
		}
	}
	public, err := s.config.public(s.socket)
	if err == nil {
		s.conns, err = newConnTable(&s.config, public)
	}
	if err != nil {
		if c.Socket == nil {
			s.socket.Close()
		}
		return nil, err
	}
	s.stands = &standstill{clock: &s.conns.clock, stoodStill: c.StoodStill}
	for i := range c.Workers {
		s.workers = append(s.workers, newWorker(i, &s.config, s.conns, s.socketIO(), s.log))
	}
	s.conns.workers = s.workers
	return s, nil
}

// Addr returns the address of the socket.
func (s *Server) Addr() net.Addr { return s.socket.LocalAddr() }

// Run serves until the context is done. Then it stops as Config.OnStop selects: it ends the session of every client, closes the
// rooms and the socket, and returns nil. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	if s.started.Swap(true) {
		panic("server: Run was called twice: make another Server with New")
	}
	defer close(s.done)
	checking, ended := context.WithCancel(context.Background())
	s.stands.start(checking)
	defer s.stands.calls.Wait()
	defer ended()
	s.log.info("server listens", slog.String("address", s.socket.LocalAddr().String()), slog.Int("workers", len(s.workers)))
	var reading, working, saving sync.WaitGroup
	closed := make(chan struct{}) // when every worker has sent the last messages
	reading.Go(s.read)
	if s.config.Web != nil {
		reading.Go(s.readWeb)
	}
	saved := make(chan struct{}) // when no room can expel a client any more
	saving.Go(func() { s.keepBans(saved) })
	for _, w := range s.workers {
		working.Go(func() { w.run(closed) })
	}

	sock := s.socketIO()
	timer := time.NewTimer(updateInterval)
	defer timer.Stop()
	var lag lagReport
	update := func(until <-chan struct{}) {
		for {
			select {
			case <-until:
				return
			case now := <-timer.C:
				if s.conns.update(&sock.sealed, now) == 0 && s.config.OnStop == Finish && ctx.Err() != nil {
					s.end()
				}
				sock.flush()
				lag.update(s, now)
				if timer.Reset(updateInterval); s.polled(now) {
					timer.Reset(pollRest)
				}
			}
		}
	}
	update(ctx.Done())
	s.log.info("server stops", slog.String("matches", s.config.OnStop.String()))
	if s.config.OnStop == Finish {
		s.conns.refuse(finishing)
		update(s.hurry.Done())
	}
	s.conns.refuse(closing)
	s.stopWorkers(closed)
	update(closed)
	s.conns.disconnect(&sock.sealed, time.Now())
	sock.flush()
	working.Wait()
	close(saved)
	saving.Wait()
	err := s.socket.Close()
	if s.config.Web != nil {
		err = errors.Join(err, s.config.Web.Close())
	}
	reading.Wait()
	return err
}

// stopWorkers makes the workers stop their rooms. It closes closed when all are stopped.
func (s *Server) stopWorkers(closed chan<- struct{}) {
	var rooms sync.WaitGroup
	rooms.Add(len(s.workers))
	for _, w := range s.workers {
		w.queue.call(func(w *worker) { w.stop(rooms.Done) })
	}
	go func() {
		rooms.Wait()
		close(closed)
	}()
}

// socketIO returns the sockets for one goroutine, with buffers.
func (s *Server) socketIO() socketIO { return socketIO{datagrams: s.datagrams(), stands: s.stands} }

// datagrams returns the sockets for one goroutine.
func (s *Server) datagrams() datagrams {
	d := newDatagrams(s.socket)
	if s.config.Web != nil {
		return routed{d, s.config.Web}
	}
	return d
}

// readWeb reads the sessions of Config.Web until it is closed.
func (s *Server) readWeb() {
	sock := s.socketIO()
	web := plainSocket{s.config.Web}
	for {
		err := web.receive(&sock.arrivals)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			s.conns.receive(&sock.arrivals, &sock.sealed, time.Now())
			sock.flush()
		}
	}
}

// polled reports whether workers read the socket at each step, and update the connections.
func (s *Server) polled(now time.Time) bool {
	return s.conns.at(now)-systems.Time(s.conns.polled.Load()) < systems.Time(pollTrust)
}

// read reads the socket until it is closed. While workers read it at each step, it only checks whether they still do.
func (s *Server) read() {
	sock := s.socketIO()
	for {
		if s.polled(time.Now()) {
			time.Sleep(pollRest)
			continue
		}
		err := sock.receive(&sock.arrivals)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil { // otherwise it is of one datagram, or of the system
			s.conns.receive(&sock.arrivals, &sock.sealed, time.Now())
			sock.flush()
		}
		if err != nil || sock.pause {
			time.Sleep(readPause)
		}
	}
}

// Do calls f with a room, between two ticks and on the goroutine that computes it, and returns after f. f must not block. If
// ctx is done first, Do returns its error, and f may still be called.
func (s *Server) Do(ctx context.Context, name string, f func(r *room.Room)) error {
	return s.hosted(ctx, name, func(_ *worker, h *hostedRoom) error {
		f(h.room)
		return nil
	})
}

// Switch continues the match of a room with another strategy of Config.Room.Strategies: see [room.Room.Switch]. It returns
// ErrNoRoom if there is no such room.
func (s *Server) Switch(ctx context.Context, name, strategy string) error {
	return s.hosted(ctx, name, func(_ *worker, h *hostedRoom) error { return h.room.Switch(strategy) })
}

// Pause pauses the match of a room or lets it continue, for the operator: see [room.Room.Pause]. It returns ErrNoRoom if there
// is no such room.
func (s *Server) Pause(ctx context.Context, name string, on bool) error {
	return s.hosted(ctx, name, func(_ *worker, h *hostedRoom) error { return h.room.Pause(on, room.Admin) })
}

// Kick removes a client from its room: its session ends, and its player leaves the match at once. The client can connect again only with
// a token that is made later. See Ban. It returns ErrNoRoom if the client is not in a room. Its present tokens are refused in both cases, so
// a Kick on each server removes a client from a cluster.
func (s *Server) Kick(clientID uint64, text string) error {
	s.conns.kick(clientID, time.Now())
	return s.connected(clientID, func(h *hostedRoom, c *conn) { h.room.Kick(c.peer, text) })
}

// connected calls f with the connection of a client, on the goroutine that computes its room.
func (s *Server) connected(clientID uint64, f func(h *hostedRoom, c *conn)) error {
	name := ""
	s.conns.mu.Lock()
	for _, c := range s.conns.conns {
		if c != nil && c.client == clientID {
			name = c.room.name
		}
	}
	s.conns.mu.Unlock()
	return s.hosted(context.Background(), name, func(_ *worker, h *hostedRoom) error {
		for _, c := range h.conns {
			if c != nil && c.client == clientID {
				f(h, c)
				return nil
			}
		}
		return ErrNoRoom
	})
}

// hosted calls f with an open room: see call.
func (s *Server) hosted(ctx context.Context, name string, f func(w *worker, h *hostedRoom) error) error {
	return s.call(ctx, name, func(w *worker, h *hostedRoom) error {
		if h.room == nil {
			return ErrNoRoom
		}
		return f(w, h)
	})
}

// call calls f with a room, which may not be open, on the goroutine that computes it, and returns after f. If ctx is done first, f may
// be running, and does not start later.
func (s *Server) call(ctx context.Context, name string, f func(w *worker, h *hostedRoom) error) error {
	s.conns.mu.Lock()
	h := s.conns.rooms[name]
	s.conns.mu.Unlock()
	if h == nil {
		return ErrNoRoom
	}
	answer := make(chan error, 1)
	h.worker.queue.call(func(w *worker) {
		err := ErrNoRoom // unless f returns
		defer func() { answer <- err }()
		defer w.recovered(h)
		if ctx.Err() != nil {
			return
		}
		err = f(w, h)
	})
	select {
	case err := <-answer:
		return err
	case <-s.done:
		return ErrStopped
	case <-ctx.Done():
		return fmt.Errorf("server: the room did not answer in time: %w", ctx.Err())
	}
}
