package host

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/cluster"
	"tendon/net/netcode"
	"tendon/net/server"
)

// A move waits until the other server is ready, at most for offerLimit. It asks again while the server does not answer.
func TestAMoveWaitsForTheOtherServer(t *testing.T) {
	silent := errors.New("no answer")
	for _, test := range []struct {
		name    string
		replies int   // before the other server is ready
		err     error // of those
		fails   bool
	}{{"ready", 0, nil, false}, {"ready later", 10, nil, false}, {"answers later", 10, silent, false}, {"never ready", 1e9, nil, true}, {"never answers", 1e9, silent, true}} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			m := &Cluster{own: cluster.Server{ID: "own"}, config: ClusterConfig{Ask: func(_ context.Context, server, from, room string) (s cluster.MoveStatus, err error) {
				if asked++; server != "other" || from != "own" || room != "duel" {
					t.Errorf("%s: %s asks %s about %s", test.name, from, server, room)
				}
				if asked <= test.replies {
					return cluster.MoveStatus{Waiting: 1}, test.err
				}
				return cluster.MoveStatus{Waiting: 2}, nil
			}}}
			began := time.Now()
			last, err := m.await(t.Context(), &cluster.Server{ID: "other"}, "duel", func(s cluster.MoveStatus) bool { return s.Waiting == 2 })
			took := time.Since(began)
			if (err != nil) != test.fails || test.err != nil && test.fails && !errors.Is(err, test.err) {
				t.Errorf("%s: %v", test.name, err)
			}
			if test.fails && took != offerLimit || !test.fails && (last.Waiting != 2 || took != time.Duration(test.replies)*askPause) {
				t.Errorf("%s: %+v after %v", test.name, last, took)
			}
		})
	}
}

// While the cluster does not answer, no room is handed over.
func TestNoRoomIsHandedOverWithoutTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := cluster.New(cluster.Config{Store: &cluster.Memory{}})
		if err != nil {
			t.Fatal(err)
		}
		m := &Cluster{node: n, config: ClusterConfig{Ask: func(context.Context, string, string, string) (s cluster.MoveStatus, err error) {
			t.Error("the other server is asked")
			return s, err
		}}}
		h := &Host{config: Config{Cluster: m}}
		ctx, cancel := context.WithTimeout(t.Context(), 2*moveLimit)
		defer cancel()
		if err := h.hand(ctx, "duel", &cluster.Server{ID: "other"}, 0); !errors.Is(err, errUnreached) {
			t.Errorf("%v", err)
		}
	})
}

// dial returns two clients that play in a room of a host.
func (m *members) dial(h *Host, room string) (list [2]*client.Client) {
	m.t.Helper()
	for i := range list {
		token, err := h.Token(h.PublicAddr, server.Pass{Room: room, Seat: i})
		if err != nil {
			m.t.Fatal(err)
		}
		store := func(tokens [][]byte) {
			if len(tokens) > 0 {
				newest, err := netcode.ParseConnectToken(tokens[0])
				if err != nil {
					m.t.Error(err)
				}
				m.servers[i] = newest.Servers()
			}
		}
		c, err := client.Dial(client.DialConfig{Token: token, StoreTokens: store, Config: client.Config{Name: "bot", Game: h.app.Game, Strategies: syncflags.All}})
		if err != nil {
			m.t.Fatal(err)
		}
		m.t.Cleanup(c.Close)
		list[i] = c
	}
	return list
}

// live reports whether both clients play.
func live(list [2]*client.Client) bool {
	return list[0].State() == client.Live && list[1].State() == client.Live
}

// play advances clients until a condition holds.
func (m *members) play(list [2]*client.Client, what string, holds func() bool) {
	m.await(what, func() bool {
		for _, c := range list {
			c.Frame(time.Now())
		}
		return holds()
	})
}

// drain drains a host while clients play.
func (m *members) drain(h *Host, list [2]*client.Client) {
	m.t.Helper()
	drained := make(chan error, 1)
	go func() { drained <- h.Drain(m.t.Context(), 0) }()
	m.play(list, "the room has moved", func() bool { return len(drained) > 0 })
	if err := <-drained; err != nil {
		m.t.Fatal(err)
	}
}

// A room moves only when all its clients wait on the other server, and they play on there in their seats. A server that does not answer
// is left out.
func TestARoomMovesWhenItsClientsWaitOnTheOtherServer(t *testing.T) {
	m := &members{t: t, records: map[string]bool{}}
	one, silent, two := m.join(4), m.join(8), m.join(4) // the silent one has the most space
	m.observes(one, 2)
	m.observes(two, 2)
	var early, waited int
	m.ask = func(id string, reply cluster.MoveStatus) (cluster.MoveStatus, error) {
		switch {
		case id == silent.config.Cluster.ID():
			return reply, errors.New("no answer")
		case reply.Waiting == 2:
			waited++
		case waited == 0 && !reply.Open && one.OpenRooms() == 0: // afterwards, a reply of a busy server may have no clients
			early++
		}
		return reply, nil
	}
	list := m.dial(one, "duel")
	m.play(list, "both clients play", func() bool { return live(list) })
	m.drain(one, list)
	at := list[0].Stats().Strategy.Confirmed
	m.play(list, "the match continues", func() bool { return live(list) && list[0].Stats().Strategy.Confirmed > at+60 })
	if early > 0 || waited == 0 || one.OpenRooms() != 0 || two.OpenRooms() != 1 || list[0].Seat() != 0 || list[1].Seat() != 1 {
		t.Errorf("moved %d times too early, %d replies with both clients; %d and %d rooms; seats %d and %d", early, waited, one.OpenRooms(), two.OpenRooms(), list[0].Seat(), list[1].Seat())
	}
	moves := 0
	for e, err := range m.store.Read(t.Context(), "duel", 0, math.MaxUint64) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Kind == cluster.KindMove && e.Next == two.config.Cluster.ID():
			moves++
		case e.Kind == cluster.KindClaim && moves > 0:
			t.Error("the next owner has claimed the room")
		}
	}
	if moves != 1 {
		t.Errorf("the log has %d moves", moves)
	}
}

// A drain of one room leaves the other one, and the server accepts rooms again.
func TestOneRoomOfTwoMoves(t *testing.T) {
	m := &members{t: t, records: map[string]bool{}}
	one, two := m.join(4), m.join(4)
	m.observes(one, 1)
	m.observes(two, 1)
	duel, trio := m.dial(one, "duel"), m.dial(one, "trio")
	both := func(holds func() bool) func() bool {
		return func() bool {
			for _, c := range trio {
				c.Frame(time.Now())
			}
			return holds()
		}
	}
	playing := func() bool { return live(duel) && live(trio) }
	m.play(duel, "four clients play", both(playing))
	drained := make(chan error, 1)
	go func() { drained <- one.Drain(t.Context(), 1) }()
	m.play(duel, "a room has moved", both(func() bool { return len(drained) > 0 }))
	if err := <-drained; err != nil || one.OpenRooms() != 1 || two.OpenRooms() != 1 {
		t.Errorf("%d and %d rooms: %v", one.OpenRooms(), two.OpenRooms(), err)
	}
	m.play(duel, "four clients play on", both(playing))
	if to, err := open(one, "new"); to != "" || err != nil {
		t.Errorf("a new room is opened on %q: %v", to, err)
	}
	one.closeRoom("new", nil)
}

// The clients of a moved room receive tokens for its former server when the drain of that server ends, long before their next tokens are due.
// If the new owner ends, the former server continues the room.
func TestTheClientsOfAMovedRoomReturnToItsFormerServer(t *testing.T) {
	m := &members{t: t, records: map[string]bool{}}
	one, two := m.join(4), m.join(4)
	m.observes(one, 1)
	m.observes(two, 1)
	list := m.dial(one, "duel")
	m.play(list, "both clients play", func() bool { return live(list) })
	m.drain(one, list)
	has := func(h *Host) bool {
		return slices.Contains(m.servers[0], h.PublicAddr) && slices.Contains(m.servers[1], h.PublicAddr)
	}
	at := list[0].Stats().Strategy.Confirmed
	m.play(list, "play goes on", func() bool { return live(list) && list[0].Stats().Strategy.Confirmed > at+60 })
	if has(one) || !has(two) {
		t.Errorf("the clients have tokens for %v", m.servers)
	}
	if err := one.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	moved := list[0].Stats().Strategy.Confirmed
	m.play(list, "both clients have new tokens", func() bool { return has(one) })
	if played := list[0].Stats().Strategy.Confirmed - moved; played > 20*ecs.Tick(crumbs.Game().TickRate) {
		t.Errorf("the clients have new tokens after %d ticks", played)
	}
	m.stops[two]()
	m.play(list, "the match continues on the first server", func() bool { return live(list) && one.OpenRooms() == 1 })
}
