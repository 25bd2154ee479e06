package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/journals"
	"tendon/net/cluster"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/net/session"
	"tendon/net/web"
	"tendon/rollback/record"
	"tendon/systems/relay"
)

// members is a cluster of hosts in this process.
type members struct {
	t       *testing.T
	store   cluster.Memory
	key     netcode.Key
	mu      sync.Mutex
	records map[string]bool     // of decided matches, by their end
	hosts   map[string]*Host    // by ID
	stops   map[*Host]func()    // end the hosts
	servers [2][]netip.AddrPort // of the newest tokens of the clients of dial
	web     *web.Certificates   // of listeners for browsers. Optional: without it there are none
	// ask changes the reply of the server with an ID. It may be nil.
	ask func(id string, reply cluster.MoveStatus) (cluster.MoveStatus, error)
}

// answer is ClusterConfig.Ask.
func (m *members) answer(_ context.Context, server, from, room string) (cluster.MoveStatus, error) {
	m.mu.Lock()
	h := m.hosts[server]
	m.mu.Unlock()
	reply := h.MoveStatus(from, room)
	if m.ask == nil {
		return reply, nil
	}
	return m.ask(server, reply)
}

// Add is that of matches.Stream.
func (m *members) Add(_ context.Context, _, end string, _ []byte) (added bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	added, m.records[end] = !m.records[end], true
	return added, nil
}

func (m *members) Newest(context.Context, string, func(uint64, []byte) bool) error { return nil }

func (m *members) Since() time.Time { return time.Time{} }

func (m *members) Take(context.Context, string, string, time.Time) (bool, error) { return true, nil }

// join starts a host.
func (m *members) join(rooms int) *Host {
	m.t.Helper()
	a := app.New(m.t.Context(), crumbs.Game(), io.Discard, io.Discard)
	flags := &Flags{Flags: syncflags.Flags{Sync: "relay"}}
	c := Config{Config: server.Config{Address: "127.0.0.1:0", MaxRooms: rooms, Workers: 1, OnStop: server.Keep, Keys: []netcode.Key{m.key}}, Flags: flags, Strategy: relay.Strategy, Stream: m}
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		m.t.Fatal(err)
	}
	c.Socket, c.Address = socket, ""
	addr := socket.LocalAddr().(*net.UDPAddr).AddrPort()
	cc := ClusterConfig{Store: &m.store, Tokens: m, Addresses: []netip.AddrPort{addr}, Ask: m.answer}
	if m.web != nil {
		l, err := web.Listen(web.Config{Address: "127.0.0.1:0", Certificates: m.web})
		if err != nil {
			m.t.Fatal(err)
		}
		c.Web, cc.Web, cc.WebHashes = l, l.LocalAddr().String(), m.web.Hashes
	}
	if err := c.JoinCluster(a, cc); err != nil {
		m.t.Fatal(err)
	}
	h, err := Start(a, c)
	if err != nil {
		m.t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		if err := errors.Join(h.Stop(), c.Journals.Close()); err != nil {
			m.t.Error(err)
		}
		c.Cluster.Leave()
	})
	m.t.Cleanup(stop)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hosts == nil {
		m.hosts, m.stops = map[string]*Host{}, map[*Host]func(){}
	}
	m.hosts[c.Cluster.ID()], m.stops[h] = h, stop
	return h
}

// open opens a room as the server does, and returns the address to which its clients are sent.
func open(h *Host, name string) (elsewhere string, err error) {
	c := room.Config{Game: h.app.Game, Strategy: h.config.Strategy, Match: 7}
	err = h.openRoom(name, &c)
	if other := (*server.Elsewhere)(nil); errors.As(err, &other) {
		return other.Addresses[0].String(), nil
	}
	return "", err
}

// await waits until a condition holds. The test fails at its timeout.
func (m *members) await(what string, holds func() bool) {
	for !holds() {
		if m.t.Context().Err() != nil {
			m.t.Fatal(what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// observes waits until a host observes a number of other hosts.
func (m *members) observes(h *Host, others int) {
	m.await(fmt.Sprintf("%d servers", others), func() bool { return len(h.config.Cluster.others("")) == others })
}

// The rooms of a dead server go to all other servers. The clients of a room try these in one order, whichever server made their tokens.
func TestTheRoomsOfADeadServerAreSpread(t *testing.T) {
	m := &members{t: t, records: map[string]bool{}}
	one, two, three, four := m.join(4), m.join(4), m.join(4), m.join(4)
	for _, h := range []*Host{one, two, three, four} {
		m.observes(h, 3)
	}
	first := map[netip.AddrPort]int{}
	for i := range 400 {
		room := fmt.Sprintf("room-%d", i)
		list := one.config.Cluster.others(room)
		if first[list[0]]++; !slices.Equal(list, one.config.Cluster.others(room)) {
			t.Errorf("%s has several orders", room)
		}
		before := func(h *Host) bool { // whether h and one return the other servers in the same order
			all := slices.DeleteFunc(h.config.Cluster.others(room), func(a netip.AddrPort) bool { return a == one.PublicAddr })
			return slices.Equal(all, slices.DeleteFunc(slices.Clone(list), func(a netip.AddrPort) bool { return a == h.PublicAddr }))
		}
		if !before(two) || !before(three) || !before(four) {
			t.Errorf("%s: the servers name different orders", room)
		}
	}
	if len(first) != 3 || first[two.PublicAddr] < 60 || first[three.PublicAddr] < 60 || first[four.PublicAddr] < 60 {
		t.Errorf("of 400 rooms, the servers are first for %v", first)
	}
}

// The clients of a room are sent to its owner. A server that drains sends them to another one, and opens no room.
func TestTheClientsOfARoomAreSentToItsServer(t *testing.T) {
	m := &members{t: t, records: map[string]bool{}}
	one, two := m.join(4), m.join(4)
	m.observes(one, 1)
	m.observes(two, 1)
	if to, err := open(one, "duel"); to != "" || err != nil {
		t.Fatalf("%q, %v", to, err)
	}
	if to, err := open(two, "duel"); to != one.config.Cluster.own.Name || err != nil {
		t.Errorf("the clients are sent to %q, not to the owner: %v", to, err)
	}
	if err := two.Drain(t.Context(), 0); err != nil { // it has no room
		t.Fatal(err)
	}
	if to, err := open(two, "new"); to != one.config.Cluster.own.Name || err != nil {
		t.Errorf("a server that drains sends the clients of a new room to %q: %v", to, err)
	}
	m.await("the other server observes that it drains", func() bool { return len(one.config.Cluster.others("")) == 0 })
	if err := one.Drain(t.Context(), 0); !errors.Is(err, ErrNoTarget) {
		t.Errorf("the only server with a room is drained: %v", err)
	}
	one.closeRoom("duel", nil)
}

// A server that drains opens a room whose release has failed: the log still names this server, so the other ones send the clients to it.
func TestARoomWhoseReleaseFailedOpensAgain(t *testing.T) {
	m := &members{t: t, records: map[string]bool{}}
	one, two := m.join(4), m.join(4)
	m.observes(one, 1)
	m.observes(two, 1)
	if err := one.Drain(t.Context(), 0); err != nil { // it has no room
		t.Fatal(err)
	}
	if _, err := one.config.Cluster.node.Claim(t.Context(), "duel"); err != nil {
		t.Fatal(err)
	}
	if to, err := open(one, "duel"); to != "" || err != nil {
		t.Fatalf("the clients are sent to %q, %v", to, err)
	}
	one.closeRoom("duel", nil)
}

// A room moves to the compatible server with the most space. Servers without space, and servers of other games, receive none.
func TestRoomsMoveToTheServerWithTheMostSpace(t *testing.T) {
	m := &members{t: t, records: map[string]bool{}}
	one := m.join(8)
	m.join(2)
	large := m.join(6)
	m.join(64)
	m.observes(one, 3)
	most, ok := one.config.Cluster.emptiest(nil, nil)
	if !ok || most.MaxRooms != 64 {
		t.Fatalf("%+v, %v", most, ok)
	}
	moving := map[string]int{most.ID: 64}
	if s, ok := one.config.Cluster.emptiest(moving, nil); !ok || s.ID != large.config.Cluster.ID() {
		t.Errorf("the next room moves to %+v, %v", s, ok)
	}
	one.config.Cluster.own.Protocol++
	if s, ok := one.config.Cluster.emptiest(nil, nil); ok {
		t.Errorf("a room moves to a server of another game: %+v", s)
	}
}

// No room moves to a server that does not open the tokens of this one, and no client is sent there.
func TestAServerWithAnotherKeyReceivesNoRooms(t *testing.T) {
	m := &members{t: t, records: map[string]bool{}}
	one := m.join(8)
	m.key[0]++
	other := m.join(8)
	for _, h := range []*Host{one, other} {
		m.await("both servers are in the cluster", func() bool { return len(h.config.Cluster.node.Servers()) == 2 })
		if list := h.config.Cluster.others(""); len(list) > 0 {
			t.Fatalf("clients are sent to %v", list)
		}
	}
	if to, err := open(one, "duel"); to != "" || err != nil {
		t.Fatalf("%q, %v", to, err)
	}
	if to, err := open(other, "duel"); !errors.As(err, new(*cluster.OwnedError)) {
		t.Errorf("the clients of a room of the other server are sent to %q: %v", to, err)
	}
	if err := other.Drain(t.Context(), 0); err != nil { // it has no room
		t.Fatal(err)
	}
	if to, err := open(other, "duel"); !errors.As(err, new(*cluster.OwnedError)) {
		t.Errorf("a server that drains sends the clients of a room of the other server to %q: %v", to, err)
	}
	if err := one.Drain(t.Context(), 0); !errors.Is(err, ErrNoTarget) {
		t.Errorf("the server is drained: %v", err)
	}
	one.closeRoom("duel", nil)
}

// A server warns about one that does not open its tokens. A server that still opens those of a previous key is compatible.
func TestAServerWithAnotherKeyIsReported(t *testing.T) {
	var note strings.Builder
	m := &Cluster{app: app.New(t.Context(), crumbs.Game(), io.Discard, &note), own: cluster.Server{Name: "one", Keys: []string{"new", "old"}}}
	for i, keys := range [][]string{{"old"}, {"old", "new"}, {"new"}, nil} {
		note.Reset()
		m.report(cluster.Event{Kind: cluster.Joined, Server: cluster.Server{Name: "two", Addresses: []string{"127.0.0.1:1"}, Keys: keys}})
		if warned := strings.Contains(note.String(), "server two has another key, so no room moves to it"); warned != (i == 0) {
			t.Errorf("%v: %s", keys, note.String())
		}
	}
}

// A match that this build cannot continue is refused, unless a server of another build is in the cluster.
func TestAMatchOfAnotherBuildIsSentToAServerOfThatBuild(t *testing.T) {
	m := &members{t: t, records: map[string]bool{}}
	one := m.join(8)
	c := one.config.Cluster
	err := fmt.Errorf("%w: test", journals.ErrOtherBuild)
	if why := (*session.Error)(nil); !errors.As(c.refusal(err), &why) || why.Code != session.CodeOtherBuild {
		t.Errorf("%v", c.refusal(err))
	}
	m.key[0]++
	m.join(8) // its build is another one too, but it does not open the tokens of this server
	m.await("a server with another key", func() bool { return len(c.node.Servers()) == 2 })
	own := c.own.Build
	c.own.Build += " of another commit"
	if why := (*session.Error)(nil); !errors.As(c.refusal(err), &why) || why.Code != session.CodeOtherBuild {
		t.Errorf("a server with another key: %v", c.refusal(err))
	}
	m.key[0]--
	c.own.Build = own
	two := m.join(8)
	m.observes(one, 1)
	c.own.Build += " of another commit"
	if other := (*server.Elsewhere)(nil); !errors.As(c.refusal(err), &other) || other.Addresses[0].String() != two.config.Cluster.own.Name {
		t.Errorf("%v", c.refusal(err))
	}
}

// The server that continues a match records the results in its journal: the server before may have died before it recorded them.
func TestTheNextServerRecordsTheResultsOfADeadOne(t *testing.T) {
	m := &members{t: t, records: map[string]bool{}}
	dead, err := cluster.New(cluster.Config{Store: &m.store})
	if err != nil {
		t.Fatal(err)
	}
	r, err := dead.Claim(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	game := crumbs.Game()
	h := record.HeaderOf(game, 5, app.Build())
	h.Room, h.Match, h.Strategy, h.Params = "main", 99, relay.Strategy.Name, relay.Strategy.Params
	if err := r.Append(t.Context(), playedMatch(t, game, h, 300), true); err != nil {
		t.Fatal(err)
	}
	one := m.join(4)
	m.await("the room continues", func() bool { // once the dead server counts as dead
		_, err := open(one, "main")
		return err == nil
	})
	m.await("both results are recorded", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.records["99-120"] && m.records["99-240"]
	})
	m.await("the last result of the match is known", func() bool {
		last, ok := one.decidedLast(99)
		return ok && last == 240
	})
	one.closeRoom("main", nil)
	if _, ok := one.decidedLast(99); ok {
		t.Error("the last result of a match that this server left is kept")
	}
}
