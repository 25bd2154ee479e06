package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/systems"
)

// Config describes a server. Zero values select the defaults where a field names one.
type Config struct {
	// Room is the config of every room; Game and Strategy are required. MintToken is set by the server. KeepSeat is at most
	// MaxKeepSeat. Reconnect tokens are valid for two minutes more, and a room is not closed while a seat may be kept in it.
	Room room.Config
	// OpenRoom changes the config of one room before the room is made: its seed, its match number, its sinks, but not Wake, Game,
	// MaxPeers, KeepSeat and MintToken. On an error the client is not admitted; a *session.Error selects the code that it receives,
	// and an *Elsewhere sends it to another server. OpenRoom
	// runs on a goroutine of its own and may wait for a disk. Several rooms may be opened at once. Optional: without it, every
	// room has a random seed and match number.
	OpenRoom func(name string, c *room.Config) error
	// CloseRoom receives each room that is closed, after all its matches are decided, on the goroutine of the worker: it must
	// not wait for a disk. r is nil if the room was not made after OpenRoom: a match that it resumes is then not over. Optional.
	CloseRoom func(name string, r *room.Room)

	Address string // the address to listen on, as host:port or :port. Required unless Socket is set
	Socket  Socket // replaces the socket of the server. The server closes it. Optional
	// Web is a second socket, of clients that do not use UDP, such as a Listener of net/web. The server closes it. Optional.
	Web Sessions
	// Public are the addresses of the server in connect tokens. A token without any of them is refused. Empty: the address
	// of the socket, which must then be that of a single host.
	Public []netip.AddrPort
	// Others returns the addresses of other servers with the same keys that may take over a room. Reconnect tokens contain them
	// after those of Public, up to netcode.MaxServers addresses. The goroutine of the worker calls it, so it must not block. The clients
	// of a room receive new tokens within a second after it returns another address. Optional.
	Others func(room string) []netip.AddrPort
	// Endpoints returns the list of the servers' addresses for browsers, encoded by web.AppendEndpoints. It has at most
	// session.MaxEndpointBytes bytes, and is nil if there are none. A connection of Web receives them before a token for these servers. It is called
	// like Others. Optional: without it, connections of Web cannot follow their room to another server.
	Endpoints func(servers []netip.AddrPort) []byte
	Keys      []netcode.Key // shared with the makers of tokens: the one that seals tokens, and optionally a second one that is accepted. Required
	// UsedTokens records the used tokens for the next process with these keys and addresses. Optional: without it, tokens
	// that were issued before New are refused.
	UsedTokens UsedTokens

	// BanTime is the length of the ban of an expelled client: all its tokens are refused. 0: 10 minutes; below 0: no ban.
	BanTime time.Duration
	Bans    []Ban // of the previous process. Optional
	// SaveBans receives the banned clients after each change, for Bans of the next process, and again 10 s after an error. It
	// may block, and is called on one goroutine at a time. Optional: without it the bans end with the server.
	SaveBans func([]Ban) error
	// Expelled receives each client that was expelled, on the goroutine of the worker. Its Until is in the past if the client is
	// not banned. It must not block. Optional.
	Expelled func(Ban)

	// Crashed receives each room whose rules panicked, on the goroutine of its worker and before CloseRoom. The room ends, the
	// other rooms continue. It must not block for long. Optional.
	Crashed func(Crash)

	// Lagged receives the time that matches gave up because the server stood still or is too slow, every 10 s at most. It must not
	// block for long. Optional.
	Lagged func(Lag)

	// StoodStill is called on a goroutine of its own after the process did not run for half a second, for example because of SIGSTOP. The
	// server sends no packet of a connection until StoodStill returns. If the process stands still again during the call, StoodStill
	// is called once more. Run cancels ctx when it ends, and waits for the call. Optional.
	StoodStill func(ctx context.Context)

	// Clock returns the time of the host, by which tokens are issued and expire. Tests replace it. Default: time.Now.
	Clock func() time.Time

	MaxRooms int          // the maximum number of rooms; 0: 256. A client for another room is refused
	OnStop   OnStop       // what becomes of running matches when the server stops
	Workers  int          // the number of goroutines that compute rooms; 0: one for each core
	Logger   *slog.Logger // receives a few lines per second at most, about rooms and connections. Optional
}

// UsedTokens is a record of used tokens that outlives the process. Its methods must not block.
type UsedTokens interface {
	// Since returns the moment since which the record has every used token. Tokens that were issued before are refused. It is
	// the zero time if no earlier process used the keys.
	Since() time.Time
	// Used reports whether an earlier process recorded a token.
	Used(token netcode.TokenID, expires uint64) bool
	// Floor returns a Unix second. Tokens that expire then or before count as used.
	Floor() uint64
	// Record begins to record a token, which expires at a Unix second, and reports whether it is on the disk. No packet of
	// its connection is sealed before that. Until then the client repeats its response, ten times a second. On an error the
	// client is denied with session.CodeStorage, and tries again. Records of tokens that expired before now may be dropped.
	Record(token netcode.TokenID, expires uint64, now time.Time) (recorded bool, err error)
}

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("server: bad Config")

const (
	mostClients = 4096             // bounds the connections of a server whose rooms have more places. A place costs about a kilobyte
	emptyRoom   = 30 * time.Second // how long a room without connections goes on. The server may keep it up to a second longer
)

func (c Config) withDefaults() (Config, error) {
	if c.Room.Game == nil {
		return c, fmt.Errorf("%w: Room.Game is nil: name the game", ErrConfig)
	}
	c.MaxRooms = cmp.Or(c.MaxRooms, 256)
	c.Room.MaxPeers = cmp.Or(c.Room.MaxPeers, c.Room.Game.MaxPlayers+16)
	c.Workers = cmp.Or(c.Workers, runtime.GOMAXPROCS(0))
	c.BanTime = cmp.Or(c.BanTime, defaultBanTime)
	if c.Clock == nil {
		c.Clock = time.Now
	}
	switch {
	case len(c.Keys) < 1 || len(c.Keys) > 2:
		return c, fmt.Errorf("%w: Keys has %d keys, want 1 or 2", ErrConfig, len(c.Keys))
	case c.MaxRooms < 1 || c.MaxRooms > netcode.MaxSlots:
		return c, fmt.Errorf("%w: MaxRooms is %d, want 1 to %d", ErrConfig, c.MaxRooms, netcode.MaxSlots)
	case c.Room.KeepSeat > MaxKeepSeat:
		return c, fmt.Errorf("%w: Room.KeepSeat is %v, want at most %v", ErrConfig, c.Room.KeepSeat, MaxKeepSeat)
	case c.BanTime > MaxBanTime:
		return c, fmt.Errorf("%w: BanTime is %v, want at most %v", ErrConfig, c.BanTime, MaxBanTime)
	case c.OnStop >= onStops:
		return c, fmt.Errorf("%w: OnStop is %d, want End, Keep or Finish", ErrConfig, c.OnStop)
	case c.Workers < 1 || c.Workers > 1024:
		return c, fmt.Errorf("%w: Workers is %d, want 1 to 1024", ErrConfig, c.Workers)
	}
	// A room that is not used reports now the errors of every later room.
	if _, err := room.New(c.Room, 0); err != nil {
		return c, fmt.Errorf("%w: Room: %w", ErrConfig, err)
	}
	return c, nil
}

// MaxKeepSeat is the maximum of Config.Room.KeepSeat.
const MaxKeepSeat = 24 * time.Hour

func (c *Config) reconnectLife() time.Duration { return c.Room.KeepSeat + reconnectLife }

func (c *Config) emptyRoom() time.Duration { return max(emptyRoom, c.Room.KeepSeat+emptyRoom/2) }

func (c *Config) maxClients() int {
	return min(c.MaxRooms*c.Room.MaxPeers, max(mostClients, c.Room.MaxPeers))
}

// public returns the addresses that tokens may contain.
func (c *Config) public(socket endpoint) ([]netip.AddrPort, error) {
	if len(c.Public) > 0 {
		return c.Public, nil
	}
	at, err := netip.ParseAddrPort(socket.LocalAddr().String())
	if err != nil || at.Addr().IsUnspecified() {
		return nil, fmt.Errorf("%w: Public is empty and the server listens on %v: name the address under which clients reach it",
			ErrConfig, socket.LocalAddr())
	}
	return []netip.AddrPort{at}, nil
}

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
	var reading, working, rooms, saving sync.WaitGroup
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
	rooms.Add(len(s.workers))
	for _, w := range s.workers {
		w.queue.call(func(w *worker) { w.stop(rooms.Done) })
	}
	go func() {
		rooms.Wait()
		close(closed)
	}()
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
