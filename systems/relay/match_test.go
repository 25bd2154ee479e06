package relay

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/systems"
)

// match plays the two halves against each other over the message floor, without a session: an image is handed over
// after the way down, and the peer is opened after the way up.
type match struct {
	t        testing.TB
	net      *simnet.Network
	game     *ecs.Game
	server   *Server
	node     simnet.NodeID
	clients  []*player
	sums     map[ecs.Tick]image.Checksum
	events   map[ecs.Tick][]image.EventKey
	altered  map[ecs.Tick]ecs.PlayerSet
	orders   []stampedOrder              // as they were executed
	used     map[ecs.Tick]ecs.InputBytes // of player 0
	reliable bool                        // everything goes over the reliable channel
	refused  int                         // messages that a half refused; an error of the test unless hostile
	hostile  bool
	hitch    bool // the server does not run: its ticks wait
	owed     []systems.Time
	down     int         // bytes sent to clients
	phase    simnet.Time // of the clients' frames
}

// player is a client and what the test saw of it.
type player struct {
	*Client
	id       systems.Peer
	node     simnet.NodeID
	play     func(c *player, f int) pad
	path     simnet.Profile
	world    *ecs.World
	image    []byte
	frames   int
	checked  int
	next     ecs.Tick // next confirmed tick to compare
	ws       []int    // W after each frame, once live
	effects  []systems.Effect
	loads    int
	found    []image.Difference // by CompareWith, before a resync
	flagged  int
	off      bool
	faulty   bool    // its state was spoilt and not replaced yet
	forced   int     // ticks to go back in each frame, for a sync test
	cost     float64 // of a step, in ticks of time
	busy     simnet.Time
	episodes int  // of stalls
	stalling bool // in one
	lastIn   pad
	copies   int // of each message, besides the first
	onFrame  func(p *player, before, after ecs.Tick)
	onNews   func(p *player, received ecs.Tick)
}

type outbox struct {
	send func(to systems.Peer, ch systems.Channel, m []byte)
}

func (o *outbox) Send(to systems.Peer, ch systems.Channel, m []byte) { o.send(to, ch, m) }

func newMatch(t testing.TB, game *ecs.Game, seed uint64) *match {
	m := &match{t: t, game: game, net: simnet.New(simnet.Config{Seed: seed, ReliableQueue: 1 << 16}),
		sums: map[ecs.Tick]image.Checksum{}, events: map[ecs.Tick][]image.EventKey{}, altered: map[ecs.Tick]ecs.PlayerSet{}, used: map[ecs.Tick]ecs.InputBytes{}}
	half, err := NewServer(systems.ServerConfig{World: newWorld(t, game, seed), Peers: 8, Taken: m.taken, States: true})
	if err != nil {
		t.Fatal(err)
	}
	m.server = half.(*Server)
	m.node = m.net.AddNode(simnet.Clock{})
	m.net.OnMessage(m.node, func(from simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
		m.note(m.server.Receive(m.peerOf(from).id, channelOf(ch, payload), payload, systems.Time(now), &outbox{m.fromServer}))
	})
	out := &outbox{m.fromServer}
	m.net.Every(m.node, 0, game.TickRate, func(k int64, now simnet.Time) {
		if k == 0 {
			return
		}
		if m.owed = append(m.owed, systems.Time(now)); m.hitch {
			return
		}
		for _, due := range m.owed {
			m.server.Tick(due)
		}
		m.owed = m.owed[:0]
		m.server.Send(systems.Time(now), out)
		m.server.Desynced(m.resync)
	})
	return m
}

func newWorld(t testing.TB, game *ecs.Game, seed uint64) *ecs.World {
	w, err := ecs.NewWorld(game, seed)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (m *match) taken(f systems.FinalTick) {
	m.sums[f.Tick] = f.State.Checksum()
	m.used[f.Tick] = f.Inputs[0]
	if f.Late != 0 {
		m.altered[f.Tick] = f.Late
	}
	for _, o := range f.Orders {
		m.orders = append(m.orders, stampedOrder{tick: f.Tick, order: o})
	}
	for _, e := range f.World.Events() {
		m.events[f.Tick] = append(m.events[f.Tick], e.Key)
	}
}

func (m *match) note(err error) {
	if err == nil {
		return
	}
	if m.refused++; !m.hostile {
		m.t.Errorf("at %v: a message was refused: %v", m.net.Now(), err)
	}
}

// channelOf says on which channel a half is told that a message came. Where all goes over the reliable one, that is
// what it is told.
func channelOf(ch simnet.Channel, _ []byte) systems.Channel {
	if ch == simnet.Reliable {
		return systems.Reliable
	}
	return systems.Datagram
}

func (m *match) channel(ch systems.Channel) simnet.Channel {
	if ch == systems.Reliable || m.reliable {
		return simnet.Reliable
	}
	return simnet.Datagram
}

func (m *match) fromServer(to systems.Peer, ch systems.Channel, message []byte) {
	m.down += len(message)
	if err := m.net.Send(m.node, m.clients[to].node, m.channel(ch), message); err != nil && (err != simnet.ErrFull || ch == systems.Reliable) {
		m.t.Errorf("send: %v", err)
	}
}

func (m *match) fromClient(p *player) systems.Outbox {
	return &outbox{func(_ systems.Peer, ch systems.Channel, message []byte) {
		for range 1 + p.copies {
			if err := m.net.Send(p.node, m.node, m.channel(ch), message); err != nil {
				m.t.Errorf("client %d: %v", p.id, err)
			}
		}
	}}
}

func (m *match) peerOf(n simnet.NodeID) *player {
	for _, c := range m.clients {
		if c.node == n {
			return c
		}
	}
	panic("unknown node")
}

// join adds a client whose frames come at hz; seat −1 is a spectator.
func (m *match) join(path simnet.Profile, clock simnet.Clock, c systems.ClientConfig, hz int, play func(*player, int) pad) *player {
	c.World = newWorld(m.t, m.game, 99)
	half, err := NewClient(c)
	if err != nil {
		m.t.Fatal(err)
	}
	p := &player{Client: half.(*Client), id: systems.Peer(len(m.clients)), node: m.net.AddNode(clock), play: play, path: path, world: c.World}
	m.clients = append(m.clients, p)
	if err := m.net.Connect(p.node, m.node, path); err != nil {
		m.t.Fatal(err)
	}
	m.net.OnMessage(p.node, func(_ simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
		received := p.timeline.Received()
		m.note(p.Receive(channelOf(ch, payload), payload, systems.Time(now)))
		if p.onNews != nil && p.timeline.Received() > received {
			p.onNews(p, p.timeline.Received())
		}
	})
	m.hand(p, func() {
		if c.Seat >= 0 {
			m.server.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(c.Seat)}, &outbox{m.fromServer})
		}
		m.net.Every(p.node, m.net.LocalNow(p.node)+m.phase, hz, func(_ int64, now simnet.Time) { m.frame(p, systems.Time(now)) })
	})
	return p
}

// hand gives a client an image of now, after the way down, and opens its peer then.
func (m *match) hand(p *player, then func()) {
	var encoded image.Snapshot
	m.server.World().Image().Save(&encoded)
	p.image = encoded.AppendImage(nil)
	encoded.Release()
	have := m.server.World().Tick()
	travel := p.path.Down.Delay
	if p.loads > 0 {
		travel += 100 * time.Millisecond // an image is not one datagram
	}
	m.net.At(m.net.Now()+travel, func() {
		if d, ok := new(rollback.Comparison).With(m.game, p.image, p.Kept); ok && p.loads > 0 {
			p.found = append(p.found, d)
		}
		if err := p.world.Image().Load(p.image); err != nil {
			m.t.Fatal(err)
		}
		p.Load(systems.Time(m.net.LocalNow(p.node)), have, systems.Time(p.path.Up.Delay+p.path.Down.Delay))
		p.next = have
		p.loads++
		p.faulty = false
		m.net.At(m.net.Now()+p.path.Up.Delay, func() {
			m.server.Open(p.id, p.Config.Seat, have, systems.Time(m.net.Now()), &outbox{m.fromServer})
			then()
		})
	})
}

func (m *match) resync(id systems.Peer) {
	m.clients[id].flagged++
	m.hand(m.clients[id], func() {})
}

func (m *match) frame(p *player, now systems.Time) {
	if p.off || m.net.Now() < p.busy {
		return
	}
	p.lastIn = p.play(p, p.frames)
	p.SetInput(padInput.Pack(p.lastIn))
	p.frames++
	if p.forced > 0 {
		p.timeline.RewindTo(max(p.timeline.Present(), ecs.Tick(p.forced)) - ecs.Tick(p.forced))
	}
	before, stalls, steps := p.timeline.Present(), p.Stats().Stalls, p.timeline.Stats()
	p.Frame(now)
	p.Send(now, m.fromClient(p))
	p.Effects(func(e systems.Effect) { p.effects = append(p.effects, e) })
	stalled := p.Stats().Stalls > stalls
	if stalled && !p.stalling {
		p.episodes++
	}
	p.stalling = stalled
	after := p.timeline.Stats()
	work := after.Steps + after.Resimulated - steps.Steps - steps.Resimulated
	p.busy = m.net.Now() + simnet.Time(float64(work)*p.cost*1e9/float64(m.game.TickRate)) - 1
	if p.Live() {
		p.ws = append(p.ws, int(p.timeline.Present())-int(p.timeline.Confirmed()))
	}
	m.compare(p)
	if p.onFrame != nil {
		p.onFrame(p, before, p.timeline.Present())
	}
}

// compare holds every tick that a client has confirmed against the server's.
func (m *match) compare(p *player) {
	for ; p.next <= p.timeline.Confirmed(); p.next++ {
		s, ok := p.timeline.Snapshot(p.next)
		if !ok {
			continue
		}
		if want, known := m.sums[p.next]; known {
			p.checked++
			if s.Checksum() != want && !p.faulty {
				m.t.Fatalf("client %d: tick %d: checksum %x, the server has %x", p.id, p.next, s.Checksum(), want)
			}
		}
	}
}

func profile(t testing.TB, name string) simnet.Profile {
	p, ok := simnet.ByName(name)
	if !ok {
		t.Fatalf("no profile %s", name)
	}
	return p
}

// sound asserts what must hold at the end of every run: many ticks compared, no checksum that differed, nobody flagged.
func (m *match) sound(least int) {
	m.t.Helper()
	for _, c := range m.clients {
		if c.checked < least {
			m.t.Errorf("client %d compared only %d ticks", c.id, c.checked)
		}
		if st := m.server.PeerStats(c.id); st.Desyncs > 0 || st.Checked == 0 || c.flagged > 0 {
			m.t.Errorf("client %d: flagged %d times, %+v", c.id, c.flagged, st)
		}
	}
	different := map[image.Checksum]bool{}
	for _, sum := range m.sums {
		different[sum] = true
	}
	if len(different) < len(m.sums)*9/10 {
		m.t.Errorf("the run proves nothing: %d checksums in %d ticks", len(different), len(m.sums))
	}
}

// percentile returns the value that q of all are not above.
func percentile(values []int, q float64) int {
	counts := map[int]int{}
	top := 0
	for _, v := range values {
		counts[v]++
		top = max(top, v)
	}
	above := int(float64(len(values)) * (1 - q))
	for v := top; ; v-- {
		if above -= counts[v]; above < 0 || v < -200 {
			return v
		}
	}
}
