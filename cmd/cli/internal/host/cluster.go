package host

import (
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
	"tendon/net/web"
)

// Cluster is the membership of a host in a cluster of servers.
type Cluster struct {
	node       *cluster.Node
	app        *app.App
	config     ClusterConfig
	own        cluster.Server
	exact      bool // the game has floats, so only servers of the same build can continue a match
	host       atomic.Pointer[Host]
	draining   atomic.Bool
	drains     chan struct{} // has an element while rooms are drained
	handing    sync.Mutex    // held while a room moves
	suspending sync.Map      // names of rooms that are about to be suspended
	all        sync.WaitGroup
	member     context.Context // done after leave
	leave      context.CancelFunc
}

// ClusterConfig describes a membership.
type ClusterConfig struct {
	Store  cluster.Store
	Tokens cluster.TokenStore
	// Connected reports whether there is a connection to the store. Optional: there always is one.
	Connected func() bool
	// Ask asks the server with an ID for its cluster.MoveStatus about a room of the server from.
	Ask func(ctx context.Context, server, from, room string) (cluster.MoveStatus, error)
	// Addresses are those of this server in connect tokens. At least one.
	Addresses []netip.AddrPort
	// Web and Admin are those of cluster.Server. Optional.
	Web, Admin string
	// WebHashes returns the hashes of the self-signed certificates of Web. Optional.
	WebHashes func() []web.Hash
	Journals  journals.Config
	KeyDir    string // contains the key if the Config has none
}

const (
	// cutLimit is the time without a connection and without an accepted announcement after which the rooms are suspended.
	cutLimit = time.Second
	// ownerLimit is the timeout of the question which server owns a room.
	ownerLimit = 5 * time.Second
	// releaseLimit is the time after which the release of a room counts as failed.
	releaseLimit = time.Second
)

// JoinCluster sets Journals, UsedTokens, Others and the key, so that the rooms of the host are in a cluster. The host announces itself
// from Start on, until Leave.
func (c *Config) JoinCluster(a *app.App, cc ClusterConfig) (err error) {
	m := &Cluster{app: a, config: cc, drains: make(chan struct{}, 1), exact: a.Game.Schema().HasFloats()}
	m.member, m.leave = context.WithCancel(context.Background())
	if cc.Connected == nil {
		m.config.Connected = func() bool { return true }
	}
	m.own = cluster.Server{Name: cc.Addresses[0].String(), Build: app.Build(), Protocol: a.Game.Fingerprint(), MaxRooms: c.MaxRooms, Web: cc.Web, Admin: cc.Admin}
	for _, addr := range cc.Addresses {
		m.own.Addresses = append(m.own.Addresses, addr.String())
	}
	if len(c.Keys) == 0 {
		if err := c.storedKey(a, cc.KeyDir); err != nil {
			return err
		}
	}
	for i := range c.Keys {
		m.own.Keys = append(m.own.Keys, cluster.Fingerprint(c.Keys[i][:]))
	}
	if m.node, err = cluster.New(cluster.Config{Store: cc.Store, Server: m.own, Load: m.load, Report: m.report}); err != nil {
		return err
	}
	m.own.ID = m.node.ID()
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
	c.StoodStill = m.checkOwnership
	if cc.Web != "" {
		c.Endpoints = m.endpoints
	}
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

// load sets the load and the present hashes of certificates of an announcement.
func (m *Cluster) load(s *cluster.Server) {
	if m.config.WebHashes != nil {
		s.WebHashes = web.HashBytes(m.config.WebHashes())
	}
	if h := m.host.Load(); h != nil {
		stats := h.Stats()
		s.Rooms, s.Players = stats.Rooms, stats.Clients // also rooms that are being opened
	}
}

// report shows a change of the cluster to the operator.
func (m *Cluster) report(e cluster.Event) {
	f := app.Fields{"name": e.Server.Name, "id": e.Server.ID}
	if (e.Kind == cluster.Joined || e.Kind == cluster.Died) && (len(e.Server.Addresses) == 0 || e.Server.Name == m.own.Name) {
		return // a backend, or another process of this server
	}
	switch e.Kind {
	case cluster.Joined:
		m.app.Logf("server %s is in the cluster, with build %s and space for %s", e.Server.Name, e.Server.Build, app.Counted(e.Server.MaxRooms, "room", "rooms"))
		other := !e.Server.Opens(m.own.Keys[0])
		f["other_key"] = other
		if other {
			m.app.Logf("server %s has another key, so no room moves to it: start all servers of the cluster with the same --key-file", e.Server.Name)
		}
		m.app.Emit("cluster_joined", f)
	case cluster.Died:
		m.app.Logf("server %s has left the cluster", e.Server.Name)
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
	reportJournal(m.app, e, "cluster")
	if e.Kind == journals.Lost && m.host.Load() != nil {
		m.suspend(e.Room)
	}
}

// settled is journals.Config.Settled.
func (m *Cluster) settled(room string) bool {
	h := m.host.Load()
	if h == nil || h.Results == nil {
		return true
	}
	h.mu.Lock()
	r := h.rooms[room]
	h.mu.Unlock()
	return r != nil && !r.replays.Load() && h.Results.Settled() && !r.decisions.open()
}

// checkOwnership is server.Config.StoodStill. It waits for the reply of the cluster for each open room, or until ctx is done. Then it suspends the rooms
// that another server owns.
func (m *Cluster) checkOwnership(ctx context.Context) {
	h := m.host.Load()
	owned, lost := h.config.Journals.CheckOwnership(ctx)
	for _, room := range lost {
		_ = h.Move(ctx, room) // it fails if the room is not open any more, or if the server stops
	}
	if len(lost) > 0 {
		m.app.Logf("the server stood still: other servers have claimed %s of %d", app.Counted(len(lost), "room", "rooms"), owned+len(lost))
	}
	m.app.Emit("cluster_checked", app.Fields{"rooms": owned, "lost": lost})
}

// watch suspends all rooms while this server has no connection and the store accepts no announcement. Another server may continue them.
func (m *Cluster) watch() {
	ticker := time.NewTicker(cutLimit / 4)
	defer ticker.Stop()
	for cut := 0; ; {
		select {
		case <-m.member.Done():
			return
		case <-ticker.C:
		}
		if cut++; m.config.Connected() || m.node.Reached() {
			cut = 0
		}
		if h := m.host.Load(); cut > 4 {
			for _, name := range h.names() {
				m.suspend(name)
			}
		}
	}
}

// suspend suspends a room, without waiting for it. Its clients try the servers of their tokens.
func (m *Cluster) suspend(room string) {
	if _, suspending := m.suspending.LoadOrStore(room, true); suspending {
		return
	}
	m.all.Go(func() {
		defer m.suspending.Delete(room)
		_ = m.host.Load().Move(m.member, room) // it fails if the room is not open, or if the server leaves the cluster
	})
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

// compatible returns the other live servers that open the tokens of this one, can continue its matches, and accept rooms.
func (m *Cluster) compatible() []cluster.Server {
	return slices.DeleteFunc(m.node.Servers(), func(s cluster.Server) bool {
		return s.ID == m.own.ID || s.Draining || s.Protocol != m.own.Protocol || m.exact && s.Build != m.own.Build || len(addresses(&s)) == 0 || !s.Opens(m.own.Keys[0])
	})
}

// others is server.Config.Others: the compatible servers, spread by the room.
func (m *Cluster) others(room string) (list []netip.AddrPort) {
	for _, s := range cluster.Spread(m.compatible(), room) {
		list = append(list, addresses(&s)...)
	}
	return list
}

// endpoints is server.Config.Endpoints.
func (m *Cluster) endpoints(servers []netip.AddrPort) []byte {
	var list []web.Endpoint
	for _, s := range m.node.Servers() {
		for _, addr := range addresses(&s) {
			if s.Web == "" || !slices.Contains(servers, addr) || slices.ContainsFunc(list, func(e web.Endpoint) bool { return e.Address == addr }) {
				continue
			}
			list = append(list, web.Endpoint{Address: addr, Web: s.Web, Hashes: web.ParseHashes(s.WebHashes)})
		}
	}
	if len(list) == 0 {
		return nil
	}
	return web.AppendEndpoints(nil, list)
}

// elsewhere returns the server on which a room is opened while this one drains, or nil if it does not drain. It is also nil for a room that
// this server still owns after releaseLimit: the other servers send its clients to this one.
func (m *Cluster) elsewhere(room string) error {
	if !m.draining.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), ownerLimit)
	defer cancel()
	owner, owned, err := m.node.Owner(ctx, room)
	for began := time.Now(); err == nil && owned && owner.ID == m.own.ID; owner, owned, err = m.node.Owner(ctx, room) {
		if time.Since(began) >= releaseLimit {
			return nil
		}
		time.Sleep(askPause)
	}
	if err == nil && owned {
		return m.refusal(&cluster.OwnedError{Room: room, Server: owner})
	}
	target, ok := m.emptiest(nil, nil)
	if !ok {
		return fmt.Errorf("host: the server drains: %w", ErrNoTarget)
	}
	return &server.Elsewhere{Addresses: addresses(&target)}
}

// refusal returns the error of a room that cannot be opened, for its clients.
func (m *Cluster) refusal(err error) error {
	if owned := (*cluster.OwnedError)(nil); errors.As(err, &owned) && len(owned.Server.Addresses) > 0 && owned.Server.Opens(m.own.Keys[0]) {
		return &server.Elsewhere{Addresses: addresses(&owned.Server)}
	}
	if !errors.Is(err, journals.ErrOtherBuild) {
		return err
	}
	for _, s := range m.node.Servers() { // one of them may continue the match
		if list := addresses(&s); s.ID != m.own.ID && s.Build != m.own.Build && !s.Draining && len(list) > 0 && s.Opens(m.own.Keys[0]) {
			return &server.Elsewhere{Addresses: list}
		}
	}
	return &session.Error{Code: session.CodeOtherBuild}
}
