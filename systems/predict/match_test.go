package predict

import (
	"os"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/interp"
)

// match plays the two halves against each other over the message floor, without a session: an image is handed over after
// the way down, and the peer is opened after the way up.
type match struct {
	t        testing.TB
	net      *simnet.Network
	game     *ecs.Game
	strategy systems.Strategy
	server   *Server
	node     simnet.NodeID
	clients  []*player
	states   *rollback.Snapshots
	events   map[image.EventKey]bool
	views    int    // orders that say what a player saw
	used     [4]int // presses of Step that were used, by player
	refused  int
	blind    bool // clients are told of no round trip when they load a state
	hostile  bool
	ticked   func(ecs.Tick)
}

// player is a client and what the test saw of it.
type player struct {
	*Client
	id       systems.Peer
	node     simnet.NodeID
	play     func(c *player, f int) pad
	path     simnet.Profile
	world    *ecs.World
	view     *ecs.View
	frames   int
	loads    int
	compared int
	next     ecs.Tick
	news     map[image.EventKey][]ecs.EffectStatus
	off      bool
	onFrame  func(p *player)
	lateShow int // frames in which what was sampled was not shown after the input delay
	shown    interp.Vec
	seen     bool
	worst    float64 // largest step from frame to frame beyond what speed and fading allow
	back     int
	lastIn   pad
}

type outbox struct {
	send func(to systems.Peer, ch systems.Channel, m []byte)
}

func (o *outbox) Send(to systems.Peer, ch systems.Channel, m []byte) { o.send(to, ch, m) }

func newMatch(t testing.TB, game *ecs.Game, seed uint64, c Config) *match {
	m := &match{t: t, game: game, net: simnet.New(simnet.Config{Seed: seed, ReliableQueue: 1 << 16}), strategy: New(c),
		states: rollback.NewSnapshots(1024), events: map[image.EventKey]bool{}}
	half, err := m.strategy.NewServer(systems.ServerConfig{World: newWorld(t, game), Peers: 8, Taken: m.taken})
	if err != nil {
		t.Fatal(err)
	}
	m.server = half.(*Server)
	m.node = m.net.AddNode(simnet.Clock{})
	m.net.OnMessage(m.node, func(from simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
		m.note(m.server.Receive(m.peerOf(from).id, channelOf(ch), payload, systems.Time(now), &outbox{m.fromServer}))
	})
	out := &outbox{m.fromServer}
	m.net.Every(m.node, 0, game.TickRate, func(k int64, now simnet.Time) {
		if k == 0 {
			return
		}
		m.server.Tick(systems.Time(now))
		m.server.Send(systems.Time(now), out)
		m.server.Desynced(func(id systems.Peer) { m.hand(m.clients[id], func() {}) })
		if m.ticked != nil {
			m.ticked(m.server.Done())
		}
	})
	return m
}

func (m *match) taken(f systems.FinalTick) {
	m.states.Save(f.World)
	for _, o := range f.Orders {
		if o.Kind == image.OrderView {
			m.views++
		}
	}
	for _, e := range f.World.Events() {
		m.events[e.Key] = true
	}
	for p := range f.Inputs {
		if padInput.Unpack(f.Inputs[p]).Step {
			m.used[p]++
		}
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

func channelOf(ch simnet.Channel) systems.Channel {
	if ch == simnet.Reliable {
		return systems.Reliable
	}
	return systems.Datagram
}

func floorOf(ch systems.Channel) simnet.Channel {
	if ch == systems.Reliable {
		return simnet.Reliable
	}
	return simnet.Datagram
}

func (m *match) fromServer(to systems.Peer, ch systems.Channel, message []byte) {
	if err := m.net.Send(m.node, m.clients[to].node, floorOf(ch), message); err != nil && (err != simnet.ErrFull || ch == systems.Reliable) {
		m.t.Errorf("send: %v", err)
	}
}

func (m *match) fromClient(p *player) systems.Outbox {
	return &outbox{func(_ systems.Peer, ch systems.Channel, message []byte) {
		if err := m.net.Send(p.node, m.node, floorOf(ch), message); err != nil {
			m.t.Errorf("client %d: %v", p.id, err)
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
	c.World, c.Params = newWorld(m.t, m.game), m.strategy.Params
	half, err := m.strategy.NewClient(c)
	if err != nil {
		m.t.Fatal(err)
	}
	view, err := ecs.NewView(m.game)
	if err != nil {
		m.t.Fatal(err)
	}
	p := &player{Client: half.(*Client), id: systems.Peer(len(m.clients)), node: m.net.AddNode(clock), play: play, path: path,
		world: c.World, view: view, news: map[image.EventKey][]ecs.EffectStatus{}}
	m.clients = append(m.clients, p)
	if err := m.net.Connect(p.node, m.node, path); err != nil {
		m.t.Fatal(err)
	}
	m.net.OnMessage(p.node, func(_ simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
		if p.loads > 0 {
			m.note(p.Receive(channelOf(ch), payload, systems.Time(now)))
		}
	})
	m.hand(p, func() {
		if c.Seat >= 0 {
			m.server.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(c.Seat)}, &outbox{m.fromServer})
		}
		m.net.Every(p.node, m.net.LocalNow(p.node), hz, func(_ int64, now simnet.Time) { m.frame(p, systems.Time(now)) })
	})
	return p
}

// hand gives a client an image of now, after the way down, and opens its peer then.
func (m *match) hand(p *player, then func()) {
	var state image.Snapshot
	m.server.World().Image().Save(&state)
	encoded := state.AppendImage(nil)
	state.Release()
	have := m.server.World().Tick()
	m.net.At(m.net.Now()+p.path.Down.Delay, func() {
		if err := p.World().Image().Load(encoded); err != nil {
			m.t.Fatal(err)
		}
		rtt := systems.Time(p.path.Up.Delay + p.path.Down.Delay)
		if m.blind {
			rtt = 0
		}
		p.Load(systems.Time(m.net.LocalNow(p.node)), have, rtt)
		p.next, p.seen = have, false
		p.loads++
		m.net.At(m.net.Now()+p.path.Up.Delay, func() {
			m.server.Open(p.id, p.Config.Seat, have, systems.Time(m.net.Now()), &outbox{m.fromServer})
			then()
		})
	})
}

func (m *match) frame(p *player, now systems.Time) {
	if p.off {
		return
	}
	p.lastIn = p.play(p, p.frames)
	p.SetInput(padInput.Pack(p.lastIn))
	p.frames++
	p.Frame(now)
	p.Send(now, m.fromClient(p))
	p.Effects(func(e systems.Effect) { p.news[e.Event.Key] = append(p.news[e.Event.Key], e.Status) })
	if p.Live() && p.Counted.Stalled == systems.NotStalled && int(p.present)+p.line.Delay.Ticks() < int(p.line.Pacer.Position()) {
		p.lateShow++
	}
	p.Present(p.view, now)
	m.compare(p)
	if p.onFrame != nil {
		p.onFrame(p)
	}
}

// compare holds what a client was told against the server's state of that tick: all of it, or what came with it.
func (m *match) compare(p *player) {
	s, complete := p.Replica()
	if s.Empty() || s.Tick() < p.next {
		return
	}
	p.next = s.Tick() + 1
	want, ok := m.states.At(s.Tick())
	if !ok {
		return
	}
	p.compared++
	count := 0
	for e := range s.Entities {
		count++
		if complete || p.LastUpdate(e) == s.Tick() {
			here, set, values := s.AppendScalars(nil, e.Row)
			there, set2, values2 := want.AppendScalars(nil, e.Row)
			if here != there || set != set2 || len(values) != len(values2) {
				m.t.Fatalf("client %d, tick %d: entity %v differs", p.id, s.Tick(), e)
			}
			for i := range values {
				if values[i] != values2[i] {
					m.t.Fatalf("client %d, tick %d: entity %v differs in scalar %d: %d, the server has %d", p.id, s.Tick(), e, i, values[i], values2[i])
				}
			}
		}
	}
	for range want.Entities {
		count--
	}
	if complete && count != 0 {
		m.t.Fatalf("client %d, tick %d: %d entities too many", p.id, s.Tick(), count)
	}
}

// own returns where a client shows its player's figure.
func (p *player) own() (at interp.Vec, ok bool) {
	e := figure(p.view.Sim, ecs.Player(p.Config.Seat))
	for shown, m := range p.view.Sim.Image().Motions {
		if shown == e {
			return interp.VecOf(m.Pos), true
		}
	}
	return at, false
}

func profile(t testing.TB, name string) simnet.Profile {
	p, ok := simnet.ByName(name)
	if !ok {
		t.Fatalf("no profile %s", name)
	}
	return p
}

// wander presses at random but the same for a seed.
func wander(seed uint64) func(*player, int) pad {
	r := image.NewRand(seed)
	var now pad
	return func(*player, int) pad {
		if r.Chance(1, 12) {
			now.DX, now.DY = int8(r.IntN(3)-1), int8(r.IntN(3)-1)
		}
		now.Fire, now.Step = r.Chance(1, 40), r.Chance(1, 50)
		return now
	}
}

func idle(*player, int) pad { return pad{} }

// soakTime is how long the soaks run in virtual time: ten minutes where somebody asks for it.
func soakTime() time.Duration {
	switch {
	case os.Getenv("TENDON_SOAK") != "":
		return 10 * time.Minute
	case raceDetector || testing.Short():
		return 5 * time.Second
	}
	return 15 * time.Second
}

// slow makes figures that walk as people do: 6 units a second.
func slow(r *rules) *rules {
	r.speed = fixed.FromRatio(1, 10)
	return r
}

// several plays clients that wander, with clocks that differ.
func several(t *testing.T, players int, path simnet.Profile, seed uint64, c Config, cc systems.ClientConfig) *match {
	m := newMatch(t, slow(newRules(exactBody)).game(60), seed, c)
	for s := range players {
		cc.Seat = s
		m.join(path, simnet.Clock{Offset: time.Duration(s) * time.Second, DriftPPM: int64(s*100 - 100)}, cc, 60, wander(seed*10+uint64(s)))
	}
	return m
}

func (m *match) log() {
	for _, c := range m.clients {
		s, st := c.Stats(), m.server.PeerStats(c.id)
		m.t.Logf("client %d: compared %d, present %d confirmed %d, stalls %d, delay %d, replays %d of %d ticks, deepest %d, %+v, substituted %d late %d margin %.2f target %.2f rtt %v playback %.1f±%.1f",
			c.id, c.compared, s.Present, s.Confirmed, s.Stalls, s.InputDelay, s.Rollbacks, s.Resimulated, s.Deepest, c.counts,
			st.Substituted, st.Late, st.Margin, c.line.Lead.Target(), time.Duration(s.RTT), c.show.playback.Delay(), c.show.playback.Drift())
	}
}

// CP-07, CP-08 and more: on every profile what a client was told is the server's, what its player does shows at once or
// after the input delay, and no snapshot costs more than the prediction window.
func TestCP07CP08OnEveryProfileInputsShowAtOnceAndReplaysAreBounded(t *testing.T) {
	for i := range 10 {
		if raceDetector && i != 3 && i != 5 && i != 7 {
			continue // too slow; the others take the same ways through the code
		}
		name := [...]string{"P0", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9"}[i]
		t.Run(name, func(t *testing.T) {
			m := several(t, 3, profile(t, name), uint64(i)+1, Config{}, systems.ClientConfig{})
			m.net.RunUntil(5*time.Second + soakTime())
			m.log()
			for _, c := range m.clients {
				s := c.Stats()
				if !c.Live() && i != 7 || c.compared < 30 || c.loads != 1 { // the round trip of P7 grows by 9 ticks a second
					t.Errorf("client %d: live %v, %d states compared, %d images", c.id, c.Live(), c.compared, c.loads)
				}
				if c.lateShow*200 > max(c.frames, 1200) || c.lateShow > 0 && i < 7 { // a delay that grows shows for a few frames
					t.Errorf("client %d: in %d frames the input was not shown", c.id, c.lateShow)
				}
				if s.Deepest > DefaultPrediction || c.counts.Refused > 0 && i < 5 {
					t.Errorf("client %d: %d ticks computed again at once, %d snapshots refused", c.id, s.Deepest, c.counts.Refused)
				}
				if i < 7 && s.InputDelay > 0 {
					t.Errorf("client %d: an input delay of %d ticks", c.id, s.InputDelay)
				}
			}
			if m.views < 100 {
				t.Errorf("only %d views were entered", m.views)
			}
		})
	}
}

var simnetClock simnet.Clock

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
