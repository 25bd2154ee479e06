package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Config describes a Node.
type Config struct {
	// Store is shared by all servers. Required.
	Store Store
	// Server is announced. Its ID and Beat are set by New.
	Server Server
	// Lease is the time without an announcement after which a server is regarded as dead. It must be the same for all servers.
	// At least 40 ms; 0: 1 s.
	Lease time.Duration
	// Load sets Rooms, Players and WebHashes of each announcement. Optional.
	Load func(s *Server)
	// Report receives events, on any goroutine. Optional.
	Report func(Event)
}

// Event is a change of the cluster, as this server observes it.
type Event struct {
	Kind   EventKind
	Server Server // for Joined and Died
	Err    error  // for StoreLost
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds.
const (
	Joined    EventKind = iota // a server announces itself
	Died                       // a server announced nothing for a lease, or left the cluster
	StoreLost                  // the store accepted no announcement for a lease: rooms cannot be claimed, and journals wait
	StoreBack                  // the store accepts announcements again
)

// Node is a server of a cluster. Its methods may be called on any goroutine.
type Node struct {
	config Config
	body   int // MaxBody; less in tests
	trim   int // trimAfter; less in tests

	mu      sync.Mutex
	self    Server
	claims  uint64               // number of attempts to claim a room
	servers map[string]*observed // the other servers, by ID
	sent    [16]time.Time        // times at which the newest announcements were sent, by Beat
	lost    bool                 // StoreLost was reported

	// The lease.
	taken time.Time // time at which the newest accepted announcement was sent
	since time.Time // start of the present sequence of accepted announcements, less than half a lease apart

	// The observation.
	beat   uint64             // Beat of the newest own announcement that was observed
	echoed time.Time          // time at which that announcement was sent; zero: it was observed before Store.Watch was called again
	base   time.Time          // start of the observation: no announcement counts as older
	late   uint               // number of successive calls of checkWatch in which the observation was interrupted
	cancel context.CancelFunc // ends Store.Watch. It is nil before the first call
}

// observed is a server with the time of its newest announcement, by the clock of the observer.
type observed struct {
	Server
	at   time.Time
	left bool // it has withdrawn its announcement
	dead bool // Died was reported
}

var (
	// ErrConfig is wrapped by every error about a Config.
	ErrConfig = errors.New("cluster: bad Config")
	// ErrLost is wrapped by the errors of a Room that another server owns now.
	ErrLost = errors.New("cluster: another server owns the room")
	// ErrJournal is wrapped by the error about a log from which entries are missing.
	ErrJournal = errors.New("cluster: the log of the room is incomplete")
)

// New returns a server of the cluster. It joins the cluster in Run.
func New(c Config) (*Node, error) {
	c.Lease = cmp.Or(c.Lease, time.Second)
	if c.Store == nil {
		return nil, fmt.Errorf("%w: Store is nil", ErrConfig)
	}
	if c.Lease < 40*time.Millisecond {
		return nil, fmt.Errorf("%w: Lease is %v, want at least 40ms", ErrConfig, c.Lease)
	}
	if c.Report == nil {
		c.Report = func(Event) {}
	}
	self := c.Server
	self.ID, self.Beat = rand.Text(), 0
	return &Node{config: c, body: MaxBody, trim: trimAfter, self: self, servers: map[string]*observed{}}, nil
}

// ID returns the Server.ID of this process.
func (n *Node) ID() string { return n.self.ID }

// Run announces the server and observes the others until ctx is done. Then it leaves the cluster. Its rooms must be
// released before, or must neither append nor confirm ticks any more.
func (n *Node) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { n.watch(ctx) })
	timer := time.NewTicker(n.config.Lease / 4)
	defer timer.Stop()
	for accepted := n.announce(ctx); ; {
		select {
		case <-ctx.Done():
			all.Wait()
			leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.config.Lease)
			defer cancel()
			n.announce(leave) // the last load
			n.mu.Lock()
			n.taken = time.Time{} // the lease ends
			n.mu.Unlock()
			_ = n.config.Store.Withdraw(leave, n.self.ID) // otherwise other servers wait for a lease
			return
		case <-timer.C:
			if accepted {
				n.checkWatch()
			}
			accepted = n.announce(ctx)
			for _, s := range n.removeDead() {
				all.Go(func() {
					within, cancel := context.WithTimeout(ctx, n.config.Lease)
					defer cancel()
					_ = n.config.Store.Expire(within, s) // otherwise a process that starts now waits for a lease
				})
			}
		}
	}
}

// Drain announces that the server accepts no further rooms.
func (n *Node) Drain(ctx context.Context) {
	n.mu.Lock()
	n.self.Draining = true
	n.mu.Unlock()
	n.announce(ctx)
}

// Accept announces that the server accepts rooms again, after Drain.
func (n *Node) Accept(ctx context.Context) {
	n.mu.Lock()
	n.self.Draining = false
	n.mu.Unlock()
	n.announce(ctx)
}

// announce announces the server once. It reports whether Store.Announce succeeded.
func (n *Node) announce(ctx context.Context) (accepted bool) {
	n.mu.Lock()
	s := n.self
	n.mu.Unlock()
	if n.config.Load != nil {
		n.config.Load(&s)
	}
	n.mu.Lock()
	n.self.Rooms, n.self.Players, n.self.WebHashes = s.Rooms, s.Players, s.WebHashes
	n.self.Beat++
	s, sent := n.self, time.Now()
	n.sent[s.Beat%uint64(len(n.sent))] = sent
	n.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, n.config.Lease)
	err := n.config.Store.Announce(within, s)
	cancel()
	n.mu.Lock()
	if err == nil {
		n.accepted(sent)
	}
	lost := !n.reached() && ctx.Err() == nil
	changed := lost != n.lost
	n.lost = lost
	n.mu.Unlock()
	switch {
	case changed && lost:
		n.config.Report(Event{Kind: StoreLost, Err: err})
	case changed:
		n.config.Report(Event{Kind: StoreBack})
	}
	return err == nil
}

// checkWatch cancels Store.Watch while the observation is interrupted, because Store.Watch may stop without an error, or fall behind. It cancels
// in the 4th, 8th, 16th and 32nd successive call with an interruption, and in each 64th. Run calls it before each announcement that follows an
// accepted one.
func (n *Node) checkWatch() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.interrupted(time.Now()) {
		n.late = 0
		return
	}
	if n.late++; n.late >= 4 && (n.late&(n.late-1) == 0 || n.late%64 == 0) && n.cancel != nil {
		n.cancel()
	}
}

// accepted records that the store accepted an announcement. The caller holds the lock.
func (n *Node) accepted(sent time.Time) {
	now := time.Now()
	if now.Sub(n.taken) > n.config.Lease/2 {
		n.since = now
	}
	if sent.After(n.taken) {
		n.taken = sent
	}
}

// watch observes announcements until ctx is done.
func (n *Node) watch(ctx context.Context) {
	for ctx.Err() == nil {
		within, cancel := context.WithCancel(ctx)
		n.mu.Lock()
		n.cancel, n.echoed = cancel, time.Time{} // announcements that are replaced meanwhile are not observed
		for _, o := range n.servers {
			o.left = false // Watch yields it again
		}
		n.mu.Unlock()
		for s, err := range n.config.Store.Watch(within) {
			if err != nil {
				break
			}
			n.observe(s)
		}
		cancel()
		pause(ctx, n.config.Lease/8)
	}
}

func (n *Node) observe(s Server) {
	n.mu.Lock()
	if s.ID == n.self.ID {
		n.observeSelf(s.Beat)
		n.mu.Unlock()
		return
	}
	now, joined := time.Now(), false
	o := n.servers[s.ID]
	switch {
	case s.Beat == 0:
		n.servers[s.ID] = &observed{Server: s, at: now, left: true, dead: true}
	case o == nil || s.Beat > o.Beat:
		joined = o == nil || o.dead
		n.servers[s.ID] = &observed{Server: s, at: now}
	}
	n.mu.Unlock()
	switch {
	case joined:
		n.config.Report(Event{Kind: Joined, Server: s})
	case s.Beat == 0 && o != nil && !o.dead:
		n.config.Report(Event{Kind: Died, Server: o.Server})
	}
}

// observeSelf observes an own announcement. It ignores one that is not newer than the last, because a new Watch may yield old ones.
// It also ignores one that is 16 or more behind the newest, because its time is not stored any more. The caller holds the lock.
func (n *Node) observeSelf(beat uint64) {
	if beat <= n.beat || n.self.Beat-beat >= uint64(len(n.sent)) {
		return
	}
	if n.echoed.IsZero() {
		n.base = time.Now()
	}
	n.beat, n.echoed = beat, n.sent[beat%uint64(len(n.sent))]
}

// interrupted reports whether the newest observed own announcement was sent more than half a lease ago. Announcements of others may then be missing,
// too.
func (n *Node) interrupted(now time.Time) bool { return now.Sub(n.echoed) > n.config.Lease/2 }

// removeDead reports and returns the servers that died, and removes those that have been dead for a long time.
func (n *Node) removeDead() (died []Server) {
	n.mu.Lock()
	now := time.Now()
	for id, o := range n.servers {
		switch age := n.age(o); {
		case now.Sub(o.at) > 100*n.config.Lease:
			delete(n.servers, id)
		case age >= n.config.Lease && !o.dead:
			o.dead = true
			died = append(died, o.Server)
		}
	}
	n.mu.Unlock()
	for _, s := range died {
		n.config.Report(Event{Kind: Died, Server: s})
	}
	return died
}

// age returns the time since the last announcement of a server. It is zero while the observation is interrupted.
func (n *Node) age(o *observed) time.Duration {
	now := time.Now() // once, because the process may be stopped
	switch {
	case n.interrupted(now):
		return 0
	case o.left:
		return math.MaxInt64
	}
	return min(now.Sub(o.at), now.Sub(n.base))
}

// alive returns the server with an ID and the time since its last announcement. A server that was never observed is dead if
// the observation has lasted for a lease.
func (n *Node) alive(id string) (s Server, age time.Duration, alive bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o := n.servers[id]
	if o == nil {
		o = &observed{Server: Server{ID: id}}
	}
	age = n.age(o)
	return o.Server, age, age < n.config.Lease
}

// Servers returns the servers that are alive, this one included, ordered by ID.
func (n *Node) Servers() []Server {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := []Server{n.self}
	for _, o := range n.servers {
		if !o.dead && n.age(o) < n.config.Lease {
			list = append(list, o.Server)
		}
	}
	slices.SortFunc(list, func(a, b Server) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// Drains reports whether the server with an ID was last observed to drain. Claim then waits for its rooms.
func (n *Node) Drains(id string) bool {
	s, _, alive := n.alive(id)
	return alive && s.Draining
}

// Reached reports whether the store accepted an announcement that was sent less than a lease ago.
func (n *Node) Reached() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reached()
}

func (n *Node) reached() bool { return time.Since(n.taken) < n.config.Lease }

// leased reports whether an entry that was first sent at a time proves the ownership of a room. See Room.Leased.
func (n *Node) leased(sent time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reached() && sent.Sub(n.since) >= n.config.Lease/2
}

// Owner returns the live server that owns a room. It returns false if there is none.
func (n *Node) Owner(ctx context.Context, room string) (Server, bool, error) {
	last, at, err := n.config.Store.Last(ctx, room)
	if err != nil || at == 0 || last.owner() == "" {
		return Server{}, false, err
	}
	n.mu.Lock()
	self := n.self
	n.mu.Unlock()
	if last.owner() == self.ID {
		return self, true, nil
	}
	s, _, alive := n.alive(last.owner())
	return s, alive, nil
}
