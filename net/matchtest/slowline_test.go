package matchtest

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/ecs/raworder"
	"tendon/net/client"
	netlink "tendon/net/link"
	"tendon/net/matchsim"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// line is one direction of a connection whose bandwidth is used without loss or retransmission. Datagrams go first, as those
// of a link do, and are dropped where too many wait. Reliable messages queue up to the bound of a link.
type line struct {
	rate      int // bytes per second; 0: unlimited
	delay     time.Duration
	datagrams [][]byte
	reliable  [][]byte
	queued    int     // bytes of reliable
	credit    float64 // bytes that may be sent; below 0 while a message takes longer
	sent      int     // bytes
	blocked   bool    // nothing passes
	onWay     []arrival
}

type arrival struct {
	at      time.Duration
	ch      systems.Channel
	message []byte
}

// mostDatagrams is the rate for each datagram that may wait: a fifth of a second of the largest.
const mostDatagrams = 5 * systems.MaxDatagram

var errFull = errors.New("the queue is full")

func (l *line) Send(ch systems.Channel, message []byte) error {
	if ch == systems.Datagram {
		if l.rate == 0 || len(l.datagrams) < l.rate/mostDatagrams {
			l.datagrams = append(l.datagrams, bytes.Clone(message))
		}
		return nil
	}
	if l.queued+len(message) > netlink.QueueBytes {
		return errFull
	}
	l.queued += len(message)
	l.reliable = append(l.reliable, bytes.Clone(message))
	return nil
}

// Ready reports whether no datagram waits.
func (l *line) Ready() bool      { return len(l.datagrams) == 0 }
func (l *line) PacketLimit() int { return wire.PacketLimit }
func (l *line) LimitPackets(int) {}

// Room is 0 while a quarter of a second of reliable messages waits, as that of a link.
func (l *line) Room() int {
	if l.rate > 0 && l.queued > l.rate/4 {
		return 0
	}
	return netlink.QueueBytes - l.queued
}

// pass passes what the bandwidth allows in a step that ends now, and calls receive for the messages that have arrived.
func (l *line) pass(now, step time.Duration, receive func(systems.Channel, []byte)) {
	l.credit = max(min(l.credit+float64(l.rate)*step.Seconds(), float64(l.rate)/10+1), -netlink.MaxMessage)
	for !l.blocked && (l.rate == 0 || l.credit > 0) {
		queue, ch := &l.datagrams, systems.Datagram
		if len(*queue) == 0 {
			if queue, ch = &l.reliable, systems.Reliable; len(*queue) == 0 {
				break
			}
			l.queued -= len((*queue)[0])
		}
		l.credit -= float64(len((*queue)[0]))
		l.sent += len((*queue)[0])
		l.onWay = append(l.onWay, arrival{now + l.delay, ch, (*queue)[0]})
		*queue = (*queue)[1:]
	}
	for len(l.onWay) > 0 && l.onWay[0].at <= now {
		a := l.onWay[0]
		l.onWay = l.onWay[1:]
		receive(a.ch, a.message)
	}
}

// lineClient is a client with a connection of its own.
type lineClient struct {
	*client.Core
	up, down *line
	images   int // bytes of image pieces that the server has sent
	heads    int // images that were begun
	entered  bool
	peer     systems.Peer
}

// lineMatch is a room with clients on lines.
type lineMatch struct {
	t       *testing.T
	game    *ecs.Game
	room    *room.Room
	now     time.Duration
	s       systems.Strategy
	timeout time.Duration // of clients; 0: the default
	clients []*lineClient
}

func newLineMatch(t *testing.T, game *ecs.Game, s systems.Strategy, change func(*room.Config)) *lineMatch {
	t.Helper()
	c := room.Config{Game: game, Strategy: s, Seed: 1, Match: 1}
	if change != nil {
		change(&c)
	}
	r, err := room.New(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &lineMatch{t: t, game: game, room: r, s: s}
}

// metered counts the images on a line.
type metered struct {
	*line
	c *lineClient
}

// The kinds of messages of an image: section 4 of STANDARD.md.
const (
	imageHead  = 4
	imagePiece = 5
)

func (m metered) Send(ch systems.Channel, message []byte) error {
	if ch == systems.Reliable && message[0] == imageHead {
		m.c.heads++
	}
	if ch == systems.Reliable && message[0] == imagePiece {
		m.c.images += len(message)
	}
	return m.line.Send(ch, message)
}

// join adds a client whose line from the server has a rate in bytes per second; 0: unlimited.
func (m *lineMatch) join(rate int) *lineClient {
	id := room.Identity{Seat: room.AnySeat, ClientID: uint64(len(m.clients) + 1)}
	c := &lineClient{up: &line{delay: 20 * time.Millisecond}, down: &line{rate: rate, delay: 20 * time.Millisecond}}
	core, err := client.NewCore(client.Config{Game: m.game, Strategies: []systems.Strategy{m.s}, Bot: true, BotSeed: uint64(len(m.clients) + 1), GiveUp: -1, Timeout: m.timeout,
		Dial: func() (session.Transport, error) {
			peer, err := m.room.Enter(metered{c.down, c}, id, m.now)
			c.peer, c.entered = peer, true
			return c.up, err
		}})
	if err != nil {
		m.t.Fatal(err)
	}
	c.Core = core
	m.clients = append(m.clients, c)
	return c
}

// joinFast adds a client on an unlimited line, and waits until it is live.
func (m *lineMatch) joinFast() *lineClient {
	m.t.Helper()
	c := m.join(0)
	m.until("the first client is live", time.Minute, func() bool { return c.State() == client.Live })
	return c
}

// step runs one tick.
func (m *lineMatch) step() {
	step := time.Second / time.Duration(m.game.TickRate)
	m.now += step
	for _, c := range m.clients {
		c.up.pass(m.now, step, func(ch systems.Channel, b []byte) { m.room.Receive(c.peer, ch, b, m.now) })
	}
	m.room.Frame(m.now)
	m.room.Gone(func(systems.Peer, error) {})
	for _, c := range m.clients {
		c.down.pass(m.now, step, func(ch systems.Channel, b []byte) { c.Receive(ch, b, m.now) })
		_ = c.Frame(m.now)
		c.Effects(func(systems.Effect) {})
	}
}

func (m *lineMatch) run(d time.Duration) {
	for until := m.now + d; m.now < until; {
		m.step()
	}
}

// until runs until done returns true, and returns the time that passed. It fails after a time.
func (m *lineMatch) until(what string, within time.Duration, done func() bool) time.Duration {
	m.t.Helper()
	from := m.now
	for !done() {
		if m.now-from > within {
			for i, c := range m.clients {
				m.t.Logf("client %d: %v %v, progress %.2f, %d images of %d bytes, %d bytes sent, %+v", i, c.State(), c.Err(), c.Progress(), c.heads, c.images, c.down.sent, c.Stats().Strategy)
			}
			m.t.Fatalf("%s: %s: not after %v", m.s.Name, what, m.now-from)
		}
		m.step()
	}
	return m.now - from
}

// dustGame returns halves.Dots with entities of random data, of which those whose number is a multiple of moving change in
// every tick; 0: none.
func dustGame(count, moving int) *ecs.Game {
	g := dustyGame(count)
	if moving > 0 {
		g.Systems = append(g.Systems, ecs.Systems(func(w *ecs.World) {
			i := 0
			for e := range dustQuery.All(w) {
				if i++; i%moving == 0 {
					e.A.B++
				}
			}
		})...)
	}
	return g
}

// fullScale reports whether a strategy is tested with 100,000 entities. With TENDON_LONG these are relay and predict; with TENDON_SOAK too,
// all.
func fullScale(s systems.Strategy) bool {
	return soaks || race.Long && (s.Name == relay.Strategy.Name || s.Name == predict.Strategy.Name)
}

// scale returns the number of entities, and the rate of a line in bytes per second on which their image takes more than 1024
// ticks.
func scale(s systems.Strategy) (entities, rate int) {
	if fullScale(s) {
		return 100_000, 62_500
	}
	return 6000, 10_000
}

// movements returns the values of moving for dustGame.
func movements() []int {
	if soaks {
		return []int{0, 300}
	}
	return []int{300}
}

// A client joins a world whose image takes longer than 1024 ticks. It is sent the image once, and plays as soon as the line
// allows. Another player is not disturbed.
func TestAClientJoinsALargeWorldOverASlowLine(t *testing.T) {
	inEveryStrategy(t, func(t *testing.T, s systems.Strategy) {
		entities, rate := scale(s)
		for _, moving := range movements() {
			m := newLineMatch(t, dustGame(entities, moving), s, nil)
			fast := m.joinFast()
			m.run(2 * time.Second)
			before := fast.Stats().Strategy
			c := m.join(rate)
			took := m.until("the client is live", 20*time.Minute, func() bool { return c.State() == client.Live })
			least := time.Duration(float64(c.images) / float64(c.heads) / float64(rate) * float64(time.Second))
			now := fast.Stats().Strategy
			t.Logf("1 in %d moves: %v, %v at least, %d images, %d bytes packed, %d sent", moving, took, least, c.heads, c.images/c.heads, c.down.sent)
			if least < 1024*time.Second/60 {
				t.Errorf("the image takes only %v", least)
			}
			if took > least*13/10 || c.heads != 1 || float64(c.down.sent) > 1.3*float64(c.images) {
				t.Errorf("1 in %d moves: %v, want %v; %d images, %d bytes packed, %d sent", moving, took, least*13/10, c.heads, c.images, c.down.sent)
			}
			if now.Stalls > before.Stalls+2 || fast.Stats().Resyncs > 0 {
				t.Errorf("the other player stalled %d ticks", now.Stalls-before.Stalls)
			}
			m.run(5 * time.Second)
			if c.State() != client.Live || c.Stats().Resyncs > 0 || c.Stats().Reconnects > 0 {
				t.Errorf("after 5 s the client is %v, with %d resyncs", c.State(), c.Stats().Resyncs)
			}
		}
	})
}

// Every entity changes in every tick, so a State takes as long as seconds of the line. The client is in the match after the
// image and one State, and stays there: each State starts from one that it has, however old.
func TestVerifyJoinsAWorldThatChangesFasterThanTheLine(t *testing.T) {
	m := newLineMatch(t, dustGame(3000, 1), verify.Strategy, nil)
	m.run(time.Second)
	c := m.join(2000)
	m.until("the client is live", 3*time.Minute, func() bool { return c.State() == client.Live })
	m.run(2 * time.Minute)
	if c.State() != client.Live || c.heads != 1 || c.Stats().Resyncs > 0 {
		t.Errorf("the client is %v, %d images, %d resyncs", c.State(), c.heads, c.Stats().Resyncs)
	}
}

// Each State is larger than a datagram, and the line carries fewer than one per tick. The client is behind by the queue of a
// quarter of a second and the time of two States, 0.1 s each: one on the line and one before it.
func TestVerifyIsBehindByAShortQueueOnASlowLine(t *testing.T) {
	m := newLineMatch(t, dustGame(600, 1), verify.Strategy, nil)
	c := m.join(0)
	m.until("the client is live", 10*time.Second, func() bool { return c.State() == client.Live })
	c.down.rate = 20_000
	m.run(2 * time.Second)
	most := ecs.Tick(0)
	for range 300 {
		m.step()
		most = max(most, m.room.Tick()-c.Stats().Strategy.Confirmed)
	}
	if most > 30 || c.down.sent < 100_000 {
		t.Errorf("the client was up to %d ticks behind, %d bytes sent", most, c.down.sent)
	}
}

// So it is over net/link, on P10: behind by that queue, two States and a round trip, of which the line's own queue is a part.
func TestVerifyIsBehindByAShortQueueOverALink(t *testing.T) {
	m, err := matchsim.New(matchsim.Config{Game: dustGame(600, 1), Strategy: verify.Strategy, Seed: 4, Links: true})
	if err != nil {
		t.Fatal(err)
	}
	slow, _ := simnet.ByName("P10")
	c := m.Join(matchsim.Plan{Profile: slow})
	m.RunUntil(8 * time.Second)
	most := ecs.Tick(0)
	for range 300 {
		m.Run(time.Second / 60)
		most = max(most, m.Room.Tick()-c.Core.Stats().Strategy.Confirmed)
	}
	if most > 45 || !c.Live() || c.Sent().Reliable < 100 {
		t.Errorf("the client is %v and was up to %d ticks behind", c.Core.State(), most)
	}
}

// A client joins while players give orders, of which more are stamped than the queue of a connection holds. It receives all.
func TestAClientJoinsWhilePlayersGiveOrders(t *testing.T) {
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy} {
		m := newLineMatch(t, dustGame(10_000, 0), s, nil)
		players := []*lineClient{m.join(0), m.join(0), m.join(0), m.join(0)}
		live := func() bool {
			return !slices.ContainsFunc(players, func(c *lineClient) bool { return c.State() != client.Live })
		}
		m.until("the first clients are live", time.Minute, live)
		c, order := m.join(15_000), raworder.Bytes(400)
		ordered := 0
		m.until("the client is live", 10*time.Minute, func() bool {
			for _, p := range players {
				if m.room.Tick()%60 != 0 {
					continue
				}
				if _, err := p.Order(ecs.Entity{}, order); err == nil {
					ordered += len(order)
				}
			}
			return c.State() == client.Live
		})
		m.run(5 * time.Second)
		if st := c.Stats(); c.heads != 1 || c.State() != client.Live || st.Resyncs+st.Reconnects > 0 || ordered < 24<<10 {
			t.Errorf("%s: %d bytes of orders, %d images, the client is %v, %d resyncs, %d reconnects", s.Name, ordered, c.heads, c.State(), st.Resyncs, st.Reconnects)
		}
	}
}

// The progress of a client that joins rises evenly to 1, first with the bytes of the image and then with the ticks.
func TestTheProgressOfASlowJoinRises(t *testing.T) {
	m := newLineMatch(t, dustGame(3000, 0), relay.Strategy, nil)
	c := m.join(10_000)
	state, last, steps := c.State(), 0.0, 0
	m.until("the client is live", time.Minute, func() bool {
		if c.State() != state {
			state, last = c.State(), 0
		}
		p := c.Progress()
		if p < last || p > 1 {
			t.Errorf("the progress of %v went from %.3f to %.3f", state, last, p)
		}
		if p > last && state == client.Loading {
			steps++
		}
		last = p
		return state == client.Live
	})
	if steps < c.images/(20<<10) {
		t.Errorf("the progress rose in %d steps for %d bytes", steps, c.images)
	}
}

// A client that receives nothing more and still sends is removed, and the room keeps nothing for it. Another player is not
// disturbed.
func TestAClientThatStopsReceivingAnImageIsRemoved(t *testing.T) {
	for _, s := range strategies {
		kept := 0
		m := newLineMatch(t, dustGame(6000, 0), keeping(s, &kept), nil)
		fast := m.joinFast()
		m.run(2 * time.Second)
		m.timeout = time.Hour
		before, c := fast.Stats().Strategy, m.join(10_000)
		m.run(3 * time.Second)
		c.down.blocked = true
		if kept == 0 {
			t.Errorf("%s: nothing is kept for the image under way", s.Name)
		}
		m.until("the client is removed", 61*time.Second, func() bool { return m.room.Stats().Peers == 1 })
		m.run(time.Second)
		if kept > 0 {
			t.Errorf("%s: %d states are kept", s.Name, kept)
		}
		now := fast.Stats().Strategy
		if now.Stalls > before.Stalls+2 || fast.State() != client.Live || fast.Stats().Resyncs > 0 {
			t.Errorf("%s: the other client is %v, %d ticks stalled", s.Name, fast.State(), now.Stalls-before.Stalls)
		}
	}
}

// A client whose state differs plays on while its image is under way, and is sent the image once. It is in step again as soon
// as the line allows.
func TestAResyncOfALargeWorldOverASlowLine(t *testing.T) {
	for _, s := range strategies {
		var accused systems.Peer
		accusing := s
		accusing.NewServer = func(c systems.ServerConfig) (systems.Server, error) {
			server, err := s.NewServer(c)
			return &accuser{systems.Full(server), &accused}, err
		}
		m := newLineMatch(t, dustGame(12_000, 0), accusing, nil)
		fast, c := m.join(0), m.join(0)
		m.until("both clients are live", time.Minute, func() bool { return fast.State() == client.Live && c.State() == client.Live })
		m.run(2 * time.Second)
		before := fast.Stats().Strategy
		c.down.rate, c.down.credit, c.images, c.down.sent = 20_000, 0, 0, 0
		accused = c.peer
		m.step()
		accused = 0
		took := m.until("the client is in step again", 10*time.Minute, func() bool { return c.Stats().Resyncs == 1 && c.State() == client.Live })
		least := time.Duration(float64(c.images) / 20_000 * float64(time.Second))
		now := fast.Stats().Strategy
		t.Logf("%s: %v, %v at least, %d bytes packed, %d sent", s.Name, took, least, c.images, c.down.sent)
		if took > least*13/10 || c.heads != 2 || float64(c.down.sent) > 1.3*float64(c.images) {
			t.Errorf("%s: %v, want %v; %d images, %d bytes packed, %d sent", s.Name, took, least*13/10, c.heads-1, c.images, c.down.sent)
		}
		if now.Stalls > before.Stalls+2 || fast.Stats().Resyncs > 0 {
			t.Errorf("%s: the other player stalled %d ticks", s.Name, now.Stalls-before.Stalls)
		}
		m.run(5 * time.Second)
		if c.State() != client.Live || c.Stats().Resyncs != 1 || c.Stats().Reconnects > 0 {
			t.Errorf("%s: after 5 s the client is %v, with %d resyncs", s.Name, c.State(), c.Stats().Resyncs)
		}
	}
}

// accuser is a server half that reports one peer to differ; 0: none.
type accuser struct {
	systems.FullServer
	peer *systems.Peer
}

func (h *accuser) Desynced(f func(systems.Peer)) {
	if h.FullServer.Desynced(f); *h.peer > 0 {
		f(*h.peer)
	}
}

// keeping returns a strategy whose server half counts the states that it keeps for peers.
func keeping(s systems.Strategy, kept *int) systems.Strategy {
	create := s.NewServer
	s.NewServer = func(c systems.ServerConfig) (systems.Server, error) {
		server, err := create(c)
		return &keeper{systems.Full(server), kept}, err
	}
	return s
}

type keeper struct {
	systems.FullServer
	kept *int
}

func (h *keeper) Keep(states []ecs.Tick) {
	*h.kept = len(states)
	h.FullServer.Keep(states)
}
