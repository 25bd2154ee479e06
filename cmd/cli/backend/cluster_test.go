package backend

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"tendon/cmd/cli/backend/api"
	"tendon/cmd/cli/backend/queue"
	"tendon/net/cluster"
	"tendon/net/cluster/jetstream"
	"tendon/net/cluster/jetstream/embedded"
	"tendon/net/netcode"
)

// member is a backend of a cluster.
type member struct {
	*Service
	*api.Client
	end func()
}

// enroll adds a backend to a cluster.
func enroll(t *testing.T, store cluster.Store, name string) *member {
	t.Helper()
	node, err := cluster.New(cluster.Config{Store: store, Server: cluster.Server{Name: name}, Lease: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Game: "crumbs", Key: netcode.Key{1}, Queues: pair(), Directory: node, Interval: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	announced, ran := make(chan struct{}), make(chan error, 1)
	go func() { node.Run(ctx); close(announced) }()
	go func() { ran <- s.RunInCluster(ctx, node, nil, nil) }()
	h := httptest.NewServer(s.Handler())
	ended := false
	m := &member{Service: s, Client: &api.Client{URL: h.URL, HTTP: h.Client(), Retry: time.Millisecond}, end: func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		<-announced
		h.Close()
	}}
	t.Cleanup(m.end)
	return m
}

// storeWithServer runs NATS in this process with a game server in the cluster.
func storeWithServer(t *testing.T) cluster.Store {
	t.Helper()
	nats, err := embedded.Start(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nats.Close() })
	store, err := jetstream.Open(t.Context(), jetstream.Config{Connection: nats.Connection})
	if err != nil {
		t.Fatal(err)
	}
	announce(t, cluster.Config{Store: store, Lease: time.Second, Server: cluster.Server{Name: "game", Addresses: []string{"127.0.0.1:7001"}, MaxRooms: 8}})
	return store
}

// announce adds a server to a cluster until the end of the test.
func announce(t *testing.T, c cluster.Config) *cluster.Node {
	t.Helper()
	node, err := cluster.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(context.Background())
	left := make(chan struct{})
	go func() { node.Run(ctx); close(left) }()
	t.Cleanup(func() { leave(); <-left })
	return node
}

// One backend of a cluster decides, and the other one refuses requests with a sentence until it takes over. It then has the tickets and
// seats of the first one.
func TestTheSecondBackendTakesOver(t *testing.T) {
	store := storeWithServer(t)
	first := enroll(t, store, "first")
	a, err := first.matchOf(t, "ann", "bob")
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := first.Submit(t.Context(), api.TicketRequest{Player: "eve", Queue: "duel"}, "")
	if err != nil {
		t.Fatal(err)
	}
	second := enroll(t, store, "second")
	if _, err := second.Get(t.Context(), a.ID, 0); !errors.Is(err, api.ErrUnavailable) || second.Active() {
		t.Fatal(err)
	}
	first.end()
	b, err := again(t, second, a.ID)
	if err != nil || b.Match.Room != a.Match.Room || b.Match.Seat != a.Match.Seat || b.Match.ClientID != a.Match.ClientID {
		t.Errorf("%+v\n%+v, %v", a.Match, b.Match, err)
	}
	c, err := again(t, second, waiting.ID)
	if err != nil || c.State != queue.Queued {
		t.Errorf("%+v, %v", c, err)
	}
	d, err := second.Client.Wait(t.Context(), api.TicketRequest{Player: "dan", Queue: "duel"}, func(api.Ticket) {})
	if err != nil || d.Match.Room == a.Match.Room {
		t.Errorf("%+v, %v", d.Match, err)
	}
}

// matchOf makes a match of two players and returns the ticket of the second one.
func (m *member) matchOf(t *testing.T, first, second string) (api.Ticket, error) {
	t.Helper()
	r := api.TicketRequest{Player: first, Queue: "duel"}
	for {
		_, err := m.Submit(t.Context(), r, "")
		if err == nil {
			break
		}
		if !errors.Is(err, api.ErrUnavailable) {
			return api.Ticket{}, err
		}
		time.Sleep(time.Millisecond)
	}
	r.Player = second
	return m.Client.Wait(t.Context(), r, func(api.Ticket) {})
}

// again reads a ticket until the backend answers, and for a match until it has observed a server.
func again(t *testing.T, m *member, id string) (api.Ticket, error) {
	t.Helper()
	for {
		x, err := m.Get(t.Context(), id, 0)
		if !errors.Is(err, api.ErrUnavailable) && (err != nil || x.State != queue.Matched || x.Match != nil) {
			return x, err
		}
		time.Sleep(time.Millisecond)
	}
}

// unreached is a store that accepts no announcements while off is set.
type unreached struct {
	cluster.Memory
	off atomic.Bool
}

func (u *unreached) Announce(ctx context.Context, s cluster.Server) error {
	if u.off.Load() {
		return errors.New("no server answers")
	}
	return u.Memory.Announce(ctx, s)
}

// Requests are refused at once while the store does not answer. They are accepted again when the store answers.
func TestRequestsAreRefusedWithoutTheStore(t *testing.T) {
	store := &unreached{}
	m := enroll(t, store, "backend")
	submit := func(player string) error {
		_, err := m.Submit(t.Context(), api.TicketRequest{Player: player, Queue: "duel"}, "")
		return err
	}
	until := func(active bool) {
		t.Helper()
		for m.Active() != active {
			time.Sleep(time.Millisecond)
		}
	}
	until(true)
	if err := submit("ann"); err != nil {
		t.Fatal(err)
	}
	store.off.Store(true)
	until(false)
	if err := submit("bob"); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("without the store: %v", err)
	}
	if r, err := m.HTTP.Get(m.URL + "/readyz"); err != nil || r.StatusCode != 503 {
		t.Errorf("%v, %+v", err, r)
	}
	store.off.Store(false)
	until(true)
	if err := submit("bob"); err != nil {
		t.Error(err)
	}
}

// readOnly is a store that fails a test at each write.
type readOnly struct {
	cluster.Store
	t *testing.T
}

func (r readOnly) Append(context.Context, string, *cluster.Entry) (uint64, error) {
	r.t.Error("an entry was appended")
	return 0, cluster.ErrConflict
}

func (r readOnly) Trim(context.Context, string, uint64) error {
	r.t.Error("entries were removed")
	return nil
}

func (r readOnly) Announce(context.Context, cluster.Server) error {
	r.t.Error("a server was announced")
	return nil
}

func (r readOnly) Withdraw(context.Context, string) error {
	r.t.Error("an announcement was withdrawn")
	return nil
}

func (r readOnly) Expire(context.Context, cluster.Server) error {
	r.t.Error("an announcement was removed")
	return nil
}

// CheckCluster replays the log of a backend that runs, also after the log has begun anew. It writes nothing, and the backend stays the owner.
func TestTheLogOfARunningBackendIsChecked(t *testing.T) {
	store := storeWithServer(t)
	read := readOnly{store, t}
	check := func(want int) {
		t.Helper()
		if passes, err := CheckCluster(t.Context(), read, pair()); err != nil || passes != want {
			t.Errorf("%d passes, %v: want %d", passes, err, want)
		}
	}
	if _, err := CheckCluster(t.Context(), read, pair()); !errors.Is(err, ErrNoLog) {
		t.Errorf("without a log: %v", err)
	}
	m := enroll(t, store, "backend")
	match := func(first, second string) {
		t.Helper()
		if _, err := m.matchOf(t, first, second); err != nil {
			t.Fatal(err)
		}
	}
	match("ann", "bob")
	before, _, err := store.Last(t.Context(), LogRoom)
	if err != nil {
		t.Fatal(err)
	}
	match("cat", "dan")
	match("eve", "fay")
	check(3)
	alone := pair()
	alone[0].Players = 1
	if _, err := CheckCluster(t.Context(), read, alone); !errors.Is(err, queue.ErrDiffers) {
		t.Errorf("with a queue of one player: %v", err)
	}
	others := pair()
	others[0].Name = "other"
	if _, err := CheckCluster(t.Context(), read, others); !errors.Is(err, queue.ErrQueue) {
		t.Errorf("with another queue: %v", err)
	}

	if err := m.do(t.Context(), func(c *core) { c.began = time.Time{} }); err != nil { // the log begins anew
		t.Fatal(err)
	}
	check(0)
	match("gus", "hal")
	check(1)
	after, _, err := store.Last(t.Context(), LogRoom)
	if err != nil || after.Owner != before.Owner || after.Fence != before.Fence || !m.Active() {
		t.Errorf("the backend lost its log: %+v, then %+v, %v", before, after, err)
	}

	node := announce(t, cluster.Config{Store: store})
	m.end()
	room, err := node.Claim(t.Context(), LogRoom)
	if err == nil {
		err = room.Append(t.Context(), []byte(`{"kind":"pa`), false) // the process is killed in an append of several entries
	}
	if err != nil {
		t.Fatal(err)
	}
	check(1)
}
