package host

import (
	"cmp"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/journals"
	"tendon/net/cluster"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/net/session"
)

// Cluster is the membership of a host in a cluster of servers.
type Cluster struct {
	node     *cluster.Node
	app      *app.App
	config   ClusterConfig
	own      cluster.Server
	exact    bool // the game has floats, so only servers of the same build can continue a match
	host     atomic.Pointer[Host]
	draining atomic.Bool
	drain    sync.Mutex // held while rooms are drained
	handing  sync.Mutex // held while a room moves
	all      sync.WaitGroup
	member   context.Context // done after leave
	leave    context.CancelFunc
}

// ClusterConfig describes a membership.
type ClusterConfig struct {
	Store  cluster.Store
	Tokens cluster.TokenStore
	// Connected reports whether there is a connection to the store. Optional: there always is one.
	Connected func() bool
	// Ask asks another server whether it observes that this one drains, and how many clients wait there for a room. Optional: it does,
	// and all clients wait.
	Ask func(ctx context.Context, server, room string) (draining bool, waiting int, err error)
	// Addresses are those of this server in connect tokens. At least one.
	Addresses []netip.AddrPort
	// Web and Admin are those of cluster.Server. Optional.
	Web, Admin string
	Journals   journals.Config
	KeyDir     string // contains the key if the Config has none
}

const (
	// askLimit bounds one question to another server, and askPause is the time between two.
	askLimit = 500 * time.Millisecond
	askPause = 20 * time.Millisecond
	// offerLimit bounds the time in which the clients of a room connect to another server. Then the room moves without the others.
	offerLimit = 4 * time.Second
	// moveLimit bounds the rest of a move.
	moveLimit = 5 * time.Second
	// movesTogether is the number of rooms whose clients connect to other servers at a time. The rooms then move one after the other.
	movesTogether = 4
	// cutLimit is the time without a connection and without a lease after which the rooms are suspended.
	cutLimit = time.Second
)

// ErrNoTarget is the error of Drain if no other server can accept a room.
var ErrNoTarget = errors.New("no other server of the cluster is compatible and has space for a room")

// JoinCluster sets Journals, UsedTokens, Others and the key, so that the rooms of the host are in a cluster. The host announces itself
// from Start on, until Leave.
func (c *Config) JoinCluster(a *app.App, cc ClusterConfig) (err error) {
	m := &Cluster{app: a, config: cc, exact: a.Game.Schema().HasFloats()}
	m.member, m.leave = context.WithCancel(context.Background())
	if cc.Connected == nil {
		m.config.Connected = func() bool { return true }
	}
	m.own = cluster.Server{Name: cc.Addresses[0].String(), Build: app.Build(), Protocol: a.Game.Fingerprint(), MaxRooms: c.MaxRooms, Web: cc.Web, Admin: cc.Admin}
	for _, addr := range cc.Addresses {
		m.own.Addresses = append(m.own.Addresses, addr.String())
	}
	if m.node, err = cluster.New(cluster.Config{Store: cc.Store, Server: m.own, Load: m.load, Report: m.report}); err != nil {
		return err
	}
	m.own.ID = m.node.ID()
	if len(c.Keys) == 0 {
		if err := c.storedKey(a, cc.KeyDir); err != nil {
			return err
		}
	}
	j := cc.Journals
	if j.Sync != journals.Always {
		if c.historyKey, err = hkdf.Key(sha256.New, c.Keys[0][:], nil, "tendon final ticks", sha256.Size); err != nil {
			return err
		}
	}
	j.Build, j.Game, j.Strategy, j.Params, j.Flags = m.own.Build, a.Game, c.Strategy.Name, c.Strategy.Params, c.Flags.CommandLine()
	j.Cluster, j.Report, j.Settled = m.node, m.journal, m.settled
	if c.Journals, err = journals.Open(j); err != nil {
		return err
	}
	c.UsedTokens, c.Others, c.Cluster = cluster.NewTokens(cc.Tokens, m.own.ID), m.others, m
	return nil
}

// ID returns the cluster.Server.ID of the host.
func (m *Cluster) ID() string { return m.own.ID }

// start announces the host.
func (m *Cluster) start(h *Host) {
	m.host.Store(h)
	m.all.Go(func() { m.node.Run(m.member) })
	m.all.Go(m.watch)
}

// Leave withdraws the announcement. The host must have stopped, and its journals must be closed.
func (m *Cluster) Leave() {
	m.leave()
	m.all.Wait()
}

// load sets the load of an announcement.
func (m *Cluster) load(s *cluster.Server) {
	if h := m.host.Load(); h != nil {
		s.Rooms, s.Players = len(h.names()), h.Stats().Clients
	}
}

// report shows a change of the cluster to the operator.
func (m *Cluster) report(e cluster.Event) {
	f := app.Fields{"name": e.Server.Name, "id": e.Server.ID}
	switch e.Kind {
	case cluster.Joined:
		m.app.Logf("server %s is in the cluster, with build %s and space for %s", e.Server.Name, e.Server.Build, app.Counted(e.Server.MaxRooms, "room", "rooms"))
		m.app.Emit("cluster_joined", f)
	case cluster.Died:
		m.app.Logf("server %s has left the cluster; another server continues its rooms", e.Server.Name)
		m.app.Emit("cluster_left", f)
	case cluster.StoreLost:
		m.app.Logf("the cluster does not answer: rooms wait, and no room can be opened, until it does (%v)", e.Err)
		m.app.Emit("cluster_lost", app.Fields{"error": fmt.Sprint(e.Err)})
	case cluster.StoreBack:
		m.app.Logf("the cluster answers again")
		m.app.Emit("cluster_back", app.Fields{})
	}
}

// journal shows an event of a journal to the operator, and suspends a room that another server continues.
func (m *Cluster) journal(e journals.Event) {
	reportJournal(m.app, e)
	if e.Kind == journals.Lost && m.host.Load() != nil {
		m.suspend(e.Room)
	}
}

// settled reports whether all decided matches are stored.
func (m *Cluster) settled() bool {
	h := m.host.Load()
	return h == nil || h.Results == nil || h.Results.Settled()
}

// watch suspends all rooms while this server has neither a lease nor a connection: another server may continue them.
func (m *Cluster) watch() {
	ticker := time.NewTicker(cutLimit / 4)
	defer ticker.Stop()
	suspended := map[string]bool{} // since the connection was lost
	for cut := 0; ; {
		select {
		case <-m.member.Done():
			return
		case <-ticker.C:
		}
		if cut++; m.config.Connected() || m.node.Leased() {
			cut = 0
			clear(suspended)
		}
		if h := m.host.Load(); cut > 4 {
			for _, name := range h.names() {
				if !suspended[name] {
					suspended[name] = true
					m.suspend(name)
				}
			}
		}
	}
}

// suspend gives a room up, without waiting for it. Its clients try the servers of their tokens.
func (m *Cluster) suspend(room string) {
	m.all.Go(func() { _ = m.host.Load().Move(m.member, room) }) // it fails if the room is closed or the server leaves
}

// names returns the open rooms in order.
func (h *Host) names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.rooms))
}

// OpenRooms returns the number of open rooms.
func (h *Host) OpenRooms() int { return len(h.names()) }

// addresses returns the addresses of a server in connect tokens.
func addresses(s *cluster.Server) (list []netip.AddrPort) {
	for _, text := range s.Addresses {
		if addr, err := netip.ParseAddrPort(text); err == nil {
			list = append(list, addr)
		}
	}
	return list[:min(len(list), netcode.MaxServers)]
}

// compatible returns the other live servers that can continue a match of this one, and accept rooms.
func (m *Cluster) compatible() []cluster.Server {
	return slices.DeleteFunc(m.node.Servers(), func(s cluster.Server) bool {
		return s.ID == m.own.ID || s.Draining || s.Protocol != m.own.Protocol || m.exact && s.Build != m.own.Build || len(addresses(&s)) == 0
	})
}

// others is server.Config.Others.
func (m *Cluster) others(string) (list []netip.AddrPort) {
	for _, s := range m.compatible() {
		list = append(list, addresses(&s)...)
	}
	return list
}

// emptiest returns the compatible server with the most space. moving has the numbers of rooms that are about to move, by server.
func (m *Cluster) emptiest(moving map[string]int) (best cluster.Server, ok bool) {
	space := func(s *cluster.Server) int { return s.MaxRooms - s.Rooms - moving[s.ID] }
	for _, s := range m.compatible() {
		if space(&s) > 0 && (!ok || space(&s) > space(&best)) {
			best, ok = s, true
		}
	}
	return best, ok
}

// elsewhere returns the server on which a room is opened while this one drains, or nil if it does not drain.
func (m *Cluster) elsewhere(room string) error {
	if !m.draining.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), moveLimit)
	defer cancel()
	owner, owned, err := m.node.Owner(ctx, room)
	if err != nil || !owned || owner.ID == m.own.ID {
		if owner, owned = m.emptiest(nil); !owned {
			return fmt.Errorf("host: the server drains: %w", ErrNoTarget)
		}
	}
	return &server.Elsewhere{Addresses: addresses(&owner)}
}

// refusal returns the error of a room that cannot be opened, for its clients.
func (m *Cluster) refusal(err error) error {
	if owned := (*cluster.OwnedError)(nil); errors.As(err, &owned) && len(owned.Server.Addresses) > 0 {
		return &server.Elsewhere{Addresses: addresses(&owned.Server)}
	}
	if !errors.Is(err, journals.ErrOtherBuild) {
		return err
	}
	for _, s := range m.node.Servers() { // one of them may continue the match
		if list := addresses(&s); s.ID != m.own.ID && s.Build != m.own.Build && !s.Draining && len(list) > 0 {
			return &server.Elsewhere{Addresses: list}
		}
	}
	return &session.Error{Code: session.CodeOtherBuild}
}

// Drain moves rooms to other servers of the cluster while they are played. With most 0 it moves all, and the server accepts no further
// ones. Otherwise it moves at most that many, and the server accepts rooms again afterwards. left receives the number of rooms that
// are still to move. The error wraps ErrNoTarget if no server can accept a room.
func (h *Host) Drain(ctx context.Context, most int, left func(rooms int)) error {
	m := h.config.Cluster
	m.drain.Lock()
	defer m.drain.Unlock()
	m.draining.Store(true)
	m.node.Drain(ctx)
	if most > 0 {
		defer func() {
			m.draining.Store(false)
			m.node.Accept(context.WithoutCancel(ctx))
		}()
	}
	keeps := 0 // rooms that stay
	if most > 0 {
		keeps = max(0, len(h.names())-most)
	}
	told := map[string]bool{} // rooms whose failure was shown
	for {
		names := h.names()
		if left(max(0, len(names)-keeps)); len(names) <= keeps {
			return nil
		}
		names = names[:min(len(names)-keeps, movesTogether)]
		moving, failed := map[string]int{}, make([]error, len(names))
		var all sync.WaitGroup
		for i, name := range names {
			to, ok := m.emptiest(moving)
			if !ok {
				break
			}
			moving[to.ID]++
			all.Go(func() { failed[i] = h.move(ctx, name, &to) })
		}
		all.Wait()
		for i, err := range failed {
			if err != nil && ctx.Err() == nil && !told[names[i]] {
				told[names[i]] = true
				h.app.Logf("room %s cannot be moved: %v; it is tried again", names[i], err)
				h.app.Emit("move_failed", app.Fields{"room": names[i], "error": err.Error()})
			}
		}
		if len(moving) == 0 {
			return fmt.Errorf("%w: %s not moved", ErrNoTarget, app.Counted(len(h.names())-keeps, "room is", "rooms are"))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// move moves a room as soon as its clients wait on the other server, and waits until it is gone. It returns nil for a room that is
// being opened or closed.
func (h *Host) move(ctx context.Context, room string, to *cluster.Server) error {
	m := h.config.Cluster
	err := m.until(ctx, to, room, func(draining bool, _ int) bool { return draining }) // otherwise it sends the clients back
	if err != nil {
		return fmt.Errorf("server %s does not observe that this one drains: %w", to.Name, err)
	}
	h.config.Journals.Checkpoint(room)
	clients, err := h.Offer(ctx, room, addresses(to))
	if errors.Is(err, server.ErrNoRoom) {
		time.Sleep(askPause)
		return nil
	}
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)                                                         // its clients have left, or are about to
	_ = m.until(ctx, to, room, func(_ bool, waiting int) bool { return waiting >= clients }) // the others reconnect
	m.handing.Lock()
	defer m.handing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, moveLimit)
	defer cancel()
	if err := h.Move(ctx, room); err != nil && !errors.Is(err, server.ErrNoRoom) {
		return err
	}
	for slices.Contains(h.names(), room) {
		if ctx.Err() != nil {
			return fmt.Errorf("it is still here after %v", moveLimit)
		}
		time.Sleep(askPause)
	}
	h.app.Emit("moved", app.Fields{"room": room, "to": to.Name, "id": to.ID})
	return nil
}

// until asks another server about a room until its answer is ready.
func (m *Cluster) until(ctx context.Context, to *cluster.Server, room string, ready func(draining bool, waiting int) bool) error {
	if m.config.Ask == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, offerLimit)
	defer cancel()
	for {
		within, done := context.WithTimeout(ctx, askLimit)
		draining, waiting, err := m.config.Ask(within, to.ID, room)
		done()
		if err == nil && ready(draining, waiting) {
			return nil
		}
		select {
		case <-ctx.Done():
			return cmp.Or(err, ctx.Err())
		case <-time.After(askPause):
		}
	}
}

// Ready answers the Ask of another server of the cluster, which has the ID from.
func (h *Host) Ready(from, room string) (draining bool, waiting int) {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	waiting, _ = h.Waiting(ctx, room) // 0 before the first client
	return h.config.Cluster.node.Drains(from), waiting
}
