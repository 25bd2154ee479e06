package room_test

import (
	"errors"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/relay"
)

// messages holds messages under way in one buffer.
type messages struct {
	bytes []byte
	ends  []int
	ways  []systems.Channel
}

func (m *messages) Send(ch systems.Channel, message []byte) error {
	m.bytes = append(m.bytes, message...)
	m.ends, m.ways = append(m.ends, len(m.bytes)), append(m.ways, ch)
	return nil
}

func (m *messages) Room() int { return 1 << 20 }

func (m *messages) Ready() bool      { return true }
func (m *messages) PacketLimit() int { return wire.PacketLimit }
func (m *messages) LimitPackets(int) {}

func (m *messages) deliver(to func(systems.Channel, []byte)) {
	from := 0
	for i, end := range m.ends {
		to(m.ways[i], m.bytes[from:end])
		from = end
	}
	m.bytes, m.ends, m.ways = m.bytes[:0], m.ends[:0], m.ways[:0]
}

// testClient is a whole client whose messages arrive at once.
type testClient struct {
	core     *client.Core
	identity room.Identity
	peer     systems.Peer
	in       bool  // from Enter until Gone or Vanish
	refused  error // by Enter
	gone     error // from Gone
	up, down messages
	cut      bool // its connection is cut
	receive  func(systems.Channel, []byte)
	say      func(systems.Channel, []byte)
}

// rig is a room and its clients, played tick by tick.
type rig struct {
	t       testing.TB
	room    *room.Room
	game    *ecs.Game
	now     systems.Time
	frame   ecs.Tick
	clients []*testClient
	ticks   []ecs.Tick    // that the sink received
	orders  []image.Order // in them
	traffic []byte        // everything the room sent, if kept
	keep    bool
	forget  func(systems.Peer, error)
	play    systems.Strategy
	sent    map[byte]int // messages sent to clients, by their first byte
	newest  ecs.Tick     // of the images sent to clients
	fakes   []*fakeClient
}

func newRig(t testing.TB, change func(*room.Config)) *rig {
	t.Helper()
	g := &rig{t: t, game: halves.Dots(), play: relay.Strategy, sent: map[byte]int{}}
	g.open(nil, change)
	g.forget = func(p systems.Peer, why error) {
		for _, v := range g.clients {
			if v.in && v.peer == p {
				v.in, v.gone = false, why
			}
		}
	}
	return g
}

// open makes the room.
func (g *rig) open(resume *room.Resume, change func(*room.Config)) {
	g.t.Helper()
	c := room.Config{Game: g.game, Seed: 1, Strategy: g.play, Match: 1, Resume: resume, Sinks: []room.Sink{{Tick: func(f systems.FinalTick) {
		g.ticks = append(g.ticks, f.Tick)
		g.orders = append(g.orders, f.Orders...)
	}}}}
	if change != nil {
		change(&c)
	}
	r, err := room.New(c, g.now)
	if err != nil {
		g.t.Fatal(err)
	}
	g.game, g.room, g.play = c.Game, r, c.Strategy
}

// enter adds a client that dials once; change changes its Config.
func (g *rig) enter(id room.Identity, change func(*client.Config)) *testClient {
	g.t.Helper()
	v := &testClient{identity: id}
	c := client.Config{Game: g.game, Strategies: []systems.Strategy{g.play}, Bot: id.Role == systems.RolePlayer, GiveUp: -1,
		Dial: func() (session.Transport, error) { return &v.up, nil }}
	if change != nil {
		change(&c)
	}
	core, err := client.NewCore(c)
	if err != nil {
		g.t.Fatal(err)
	}
	v.core = core
	v.receive = func(ch systems.Channel, m []byte) {
		if g.keep {
			g.traffic = append(append(g.traffic, byte(v.peer), byte(ch)), m...)
		}
		g.sent[m[0]]++
		if m[0] == byteHead {
			r := wire.NewReader(m[2:]) // behind the epoch
			g.newest = max(g.newest, ecs.Tick(r.Uvarint()))
		}
		if !v.cut {
			core.Receive(ch, m, g.now)
		}
	}
	v.say = func(ch systems.Channel, m []byte) {
		if v.in && !v.cut {
			g.room.Receive(v.peer, ch, m, g.now)
		}
	}
	v.peer, v.refused = g.room.Enter(&v.down, id, g.now)
	v.in = v.refused == nil
	g.clients = append(g.clients, v)
	core.Frame(g.now)
	return v
}

// step plays the next tick.
func (g *rig) step() {
	g.frame++
	g.now = systems.TickTime(0, g.frame, 60)
	for _, v := range g.clients {
		v.up.deliver(v.say)
	}
	for _, p := range g.fakes {
		p.speak()
	}
	g.room.Frame(g.now)
	g.room.Gone(g.forget)
	for _, v := range g.clients {
		v.down.deliver(v.receive)
		v.core.Frame(g.now)
	}
	for _, p := range g.fakes {
		p.listen()
	}
}

func (g *rig) steps(n int) {
	for range n {
		g.step()
	}
}

// live plays until every client of the room is live.
func (g *rig) live() {
	g.t.Helper()
	for range 300 {
		g.step()
		all := true
		for _, v := range g.clients {
			all = all && (!v.in || v.core.State() == client.Live)
		}
		if all {
			g.steps(5)
			return
		}
	}
	g.t.Fatal("the clients are not live after 300 ticks")
}

func (g *rig) count(kind image.OrderKind) (n int) {
	for _, o := range g.orders {
		if o.Kind == kind {
			n++
		}
	}
	return n
}

// ended fails unless a client has ended with the code and a sentence.
func ended(t *testing.T, v *testClient, code session.Code) *session.Error {
	t.Helper()
	var why *session.Error
	if err := v.core.Err(); !errors.As(err, &why) || why.Code != code || len(why.Error()) < 15 || v.core.State() != client.Ended {
		t.Errorf("the client is %v with %v, want code %d", v.core.State(), v.core.Err(), code)
		return &session.Error{}
	}
	return why
}

func player(id uint64) room.Identity {
	return room.Identity{Seat: room.AnySeat, ClientID: id}
}
