package backend

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tendon/cmd/cli/backend/queue"
	"tendon/net/cluster"
	"tendon/net/netcode"
)

// Config describes a Service.
type Config struct {
	Game      string        // name of the game, for tokens. Required
	Protocol  uint64        // fingerprint of the game. Servers with another one receive no matches
	Key       netcode.Key   // seals the tokens. Servers that do not open them receive no matches. Required
	Queues    []queue.Queue // at least one
	Directory Directory     // Required
	// Life is the lifetime of a token. Default: 45 s.
	Life time.Duration
	// Interval is the time between two passes of the match functions. Default: 250 ms.
	Interval time.Duration
	// Abandon is the time without a request about a ticket that waits, after which it is cancelled. Default: 1 minute.
	Abandon time.Duration
	// Access authenticates requests. May be nil: every request then has full access.
	Access *Access
	// Origins are the origins of pages that may send requests, such as https://example.com. Optional.
	Origins []string
	// Admin is the token of the admin servers, for rooms, kick and ban. Optional.
	Admin string
	// Report receives errors of match functions, at most one every 10 s, and errors that wrap ErrKept. Optional.
	Report func(error)
}

// Directory names the servers. *cluster.Node implements it.
type Directory interface {
	// Servers returns the servers that are alive.
	Servers() []cluster.Server
	// Owner returns the live server that has a room open.
	Owner(ctx context.Context, room string) (cluster.Server, bool, error)
}

// Log stores the events of a queue.
type Log interface {
	// Recovered returns the events that were appended since the newest beginning, with that one. It is empty for a new log.
	Recovered(ctx context.Context) ([]byte, error)
	// Append appends events. begins replaces all events before. When it returns nil, they survive the end of this process.
	Append(ctx context.Context, events []byte, begins bool) error
	// Leased reports whether no other process can append events now. If it returns false, an Append that returns nil shows
	// that no other process has appended before.
	Leased() bool
	// Reached reports whether the log can store events now. Service.do returns ErrInactive while it returns false.
	Reached() bool
}

// LogRoom is the room of a cluster whose journal is the log. No room of a match has capital letters.
const LogRoom = "BACKEND"

// Errors of a Service.
var (
	ErrConfig   = errors.New("backend: bad Config")
	ErrInactive = errors.New("this backend does not decide matches now: another one does, this one starts or ends, or its store does not answer or is full; try again")
)

const (
	keepEnded      = 2 * time.Minute // for which ended tickets are kept
	maxTickets     = 100_000
	maxBatch       = 1024     // requests whose events are stored together
	compactSize    = 16 << 20 // bytes of a log after its newest beginning
	compactAfter   = time.Hour
	ticketsPerPass = 10_000 // that get new rooms in one event
	maxOpen        = 256    // rooms that request players
)

// Service decides matches and serves requests.
type Service struct {
	config  Config
	key     string               // the fingerprint of Config.Key
	term    atomic.Pointer[term] // nil while the service is inactive
	limits  *limits              // of callers
	metrics *metrics
}

// term is a call of Run.
type term struct {
	commands chan *command
	ended    chan struct{} // closed at its end
	log      Log
}

// command is a function that the goroutine of Run calls. done is closed when its events are stored.
type command struct {
	do   func(c *core)
	done chan struct{}
	err  error
}

// New returns a service. It is inactive until Run.
func New(c Config) (*Service, error) {
	c.Life, c.Interval, c.Abandon = cmp.Or(c.Life, 45*time.Second), cmp.Or(c.Interval, 250*time.Millisecond), cmp.Or(c.Abandon, time.Minute)
	if c.Report == nil {
		c.Report = func(error) {}
	}
	switch {
	case c.Directory == nil || c.Game == "" || len(c.Queues) == 0:
		return nil, fmt.Errorf("%w: Directory, Game or Queues is missing", ErrConfig)
	case c.Life < time.Second || c.Interval < time.Millisecond || c.Abandon < time.Second:
		return nil, fmt.Errorf("%w: Life is %v, Interval %v, Abandon %v: want at least 1s, 1ms, 1s", ErrConfig, c.Life, c.Interval, c.Abandon)
	}
	s := &Service{config: c, key: cluster.Fingerprint(c.Key[:]), limits: newLimits()}
	s.metrics = newMetrics(s)
	return s, nil
}

// Active reports whether the service decides matches. In a cluster, it also requires Node.Reached. With a File, it also requires
// File.Reached. A request is still refused if another process has appended.
func (s *Service) Active() bool {
	now := s.term.Load()
	return now != nil && now.log.Reached()
}

// Run decides matches until ctx is done, or the log fails. It reads the log first. No other goroutine may use the log meanwhile.
func (s *Service) Run(ctx context.Context, log Log) error {
	c, err := s.load(ctx, log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	now := &term{make(chan *command, maxBatch), make(chan struct{}), log}
	s.term.Store(now)
	others.Go(func() { s.confirm(ctx) })
	others.Go(func() { s.sendBans(ctx) })
	err = c.run(ctx, log, now.commands)
	s.term.Store(nil)
	close(now.ended)
	cancel()
	others.Wait()
	return err
}

// load reads the log, and begins it again.
func (s *Service) load(ctx context.Context, log Log) (*core, error) {
	content, err := log.Recovered(ctx)
	if err != nil {
		return nil, err
	}
	state, err := queue.Load(queue.Config{Queues: s.config.Queues, MaxTickets: maxTickets, Keep: keepEnded.Milliseconds(),
		Prefix: "m" + strings.ToLower(rand.Text()[:10])}, whole(content)) // no reply depended on a line that is not whole
	if err != nil {
		return nil, err
	}
	now := time.Now()
	c := &core{service: s, state: state, swept: now, seen: map[string]time.Time{}, waits: map[string]chan struct{}{}, short: map[string]string{}}
	if err := state.Resume(now.UnixMilli()); err != nil {
		return nil, err
	}
	for _, t := range state.All() {
		switch t.State {
		case queue.Queued:
			c.seen[t.Ticket.ID] = now
		case queue.Matched:
			if t.Seat == queue.AnySeat {
				continue // the room was open
			}
			c.places.add(t.Room, t.Server, time.UnixMilli(t.Ended))
		}
	}
	return c, c.compact(ctx, log)
}

// reachInterval is the time between two checks of Active while a request waits for the log.
const reachInterval = 250 * time.Millisecond

// do calls a function on the goroutine of Run, and waits until its events are stored. After ErrInactive, the function may still be called.
func (s *Service) do(ctx context.Context, f func(c *core)) error {
	now := s.term.Load()
	if now == nil || !now.log.Reached() {
		return ErrInactive
	}
	cmd, commands := &command{do: f, done: make(chan struct{})}, now.commands
	timer := time.NewTicker(reachInterval)
	defer timer.Stop()
	for {
		select {
		case commands <- cmd:
			commands = nil
		case <-cmd.done:
			return cmd.err
		case <-now.ended:
			select {
			case <-cmd.done: // before the end
				return cmd.err
			default:
				return ErrInactive
			}
		case <-ctx.Done():
			return ErrInactive
		case <-timer.C:
			if !now.log.Reached() {
				return ErrInactive
			}
		}
	}
}

// every calls f at once, and again after each interval, until ctx is done.
func every(ctx context.Context, interval time.Duration, f func()) {
	timer := time.NewTicker(interval)
	defer timer.Stop()
	for ctx.Err() == nil {
		f()
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
}

// confirm finds out which rooms are open, so that they do not count twice.
func (s *Service) confirm(ctx context.Context) {
	const most = 64 // rooms at a time
	every(ctx, 500*time.Millisecond, func() {
		var rooms, opened []string
		if s.do(ctx, func(c *core) { rooms = c.places.unopened(most) }) != nil {
			return // it is repeated
		}
		for _, room := range rooms {
			if _, ok, err := s.config.Directory.Owner(ctx, room); ok && err == nil {
				opened = append(opened, room)
			}
		}
		_ = s.do(ctx, func(c *core) { c.places.open(opened, time.Now()) })
	})
}
