package relay

import (
	"fmt"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/simnet"
	"tendon/systems"
)

// The test game: each player has a ship that moves and shoots; shots are entities that die after a while or when they
// meet a ship, which then is sent back to its start.
type (
	pad struct {
		DX, DY int8
		Fire   bool `tendon:"press"`
	}
	body struct{ Pos, Vel fixed.Vec2 }
	shot struct {
		Left int32
		By   ecs.Player
	}
	fired struct{ By ecs.Player }
)

var (
	padInput  = ecs.NewInput[pad]()
	bodyComp  = ecs.NewComponent[body]("body")
	seatComp  = ecs.NewComponent[ecs.Seat]("seat")
	shotComp  = ecs.NewComponent[shot]("shot")
	firedNews = ecs.NewEvent[fired]("fired")
	hitNews   = ecs.NewIrreversibleEvent[fired]("hit")
	ships     = ecs.NewQuery2(ecs.Write(bodyComp), ecs.Read(seatComp))
	shots     = ecs.NewQuery2(ecs.Write(bodyComp), ecs.Write(shotComp))
)

func steer(w *ecs.World) {
	for e := range ships.All(w) {
		in := padInput.Of(w, e.B.Player)
		e.A.Vel = fixed.Vec2{X: fixed.FromInt(int(in.DX)).Div(fixed.FromInt(8)), Y: fixed.FromInt(int(in.DY)).Div(fixed.FromInt(8))}
		e.A.Pos = e.A.Pos.Add(e.A.Vel)
		if in.Fire {
			firedNews.Emit(w, e.Entity(), fired{e.B.Player})
			s := w.Spawn(ecs.OwnedBy(e.B.Player), bodyComp, shotComp)
			angle := fixed.FromRatio(int64(w.Rand().IntN(1000)), 159)
			bodyComp.Put(w, s, body{Pos: e.A.Pos, Vel: fixed.FromAngle(angle, fixed.One)})
			shotComp.Put(w, s, shot{Left: 40, By: e.B.Player})
		}
	}
}

func fly(w *ecs.World) {
	for e := range shots.All(w) {
		e.A.Pos = e.A.Pos.Add(e.A.Vel)
		if e.B.Left--; e.B.Left <= 0 {
			w.Despawn(e.Entity())
			continue
		}
		for s := range ships.All(w) {
			if s.B.Player != e.B.By && s.A.Pos.Dist(e.A.Pos) < fixed.FromInt(2) {
				s.A.Pos = fixed.Vec2{}
				hitNews.Emit(w, s.Entity(), fired{e.B.By})
				w.Despawn(e.Entity())
				break
			}
		}
	}
}

func testGame(rate int) *ecs.Game {
	return &ecs.Game{Name: "ships", TickRate: rate, MaxPlayers: 4, Input: padInput,
		Components: ecs.Components(bodyComp, seatComp, shotComp), Events: ecs.Events(firedNews, hitNews),
		Systems: ecs.Systems(steer, fly),
		Join: func(w *ecs.World, p ecs.Player) {
			e := w.Spawn(ecs.OwnedBy(p), bodyComp, seatComp)
			seatComp.Put(w, e, ecs.Seat{Player: p})
			bodyComp.Put(w, e, body{Pos: fixed.Vec2{X: fixed.FromInt(int(p) * 5)}})
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range ships.All(w) {
				if e.B.Player == p {
					w.Despawn(e.Entity())
				}
			}
		},
	}
}

// match plays the two halves against each other over the message floor, without a session: a client's first image is
// handed to it half a round trip after it was made.
type match struct {
	t       testing.TB
	net     *simnet.Network
	game    *ecs.Game
	server  *Server
	node    simnet.NodeID
	clients []*player
	sums    map[ecs.Tick]ecs.Checksum
	frames  int
}

type player struct {
	*Client
	id      systems.Peer
	node    simnet.NodeID
	play    func(c *player, f int) pad
	checked int
	next    ecs.Tick // next confirmed tick to compare
	maxW    int
	frames  int
	ws      []int
	state   ecs.Snapshot
	effects []systems.Effect
	off     bool
}

type outbox struct {
	send func(to systems.Peer, ch systems.Channel, m []byte)
}

func (o outbox) Send(to systems.Peer, ch systems.Channel, m []byte) { o.send(to, ch, m) }

func newMatch(t testing.TB, rate int, seed uint64) *match {
	m := &match{t: t, game: testGame(rate), net: simnet.New(simnet.Config{Seed: seed}), sums: map[ecs.Tick]ecs.Checksum{}}
	w, err := ecs.NewWorld(m.game, seed)
	if err != nil {
		t.Fatal(err)
	}
	half, err := NewServer(systems.ServerConfig{World: w, Peers: 8, Taken: func(f systems.FinalTick) { m.sums[f.Tick] = f.State.Checksum() }})
	if err != nil {
		t.Fatal(err)
	}
	m.server = half.(*Server)
	m.node = m.net.AddNode(simnet.Clock{})
	out := outbox{m.fromServer}
	m.net.OnMessage(m.node, func(from simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
		if err := m.server.Receive(m.peerOf(from).id, channelOf(ch), payload, systems.Time(now)); err != nil {
			t.Errorf("server refused a message: %v", err)
		}
	})
	m.net.Every(m.node, 0, rate, func(k int64, now simnet.Time) {
		if k == 0 {
			return
		}
		m.server.Tick(systems.Time(now))
		m.server.Send(systems.Time(now), out)
	})
	return m
}

func channelOf(ch simnet.Channel) systems.Channel {
	if ch == simnet.Reliable {
		return systems.Reliable
	}
	return systems.Datagram
}

func (m *match) fromServer(to systems.Peer, ch systems.Channel, message []byte) {
	c := simnet.Datagram
	if ch == systems.Reliable {
		c = simnet.Reliable
	}
	if err := m.net.Send(m.node, m.clients[to].node, c, message); err != nil && err != simnet.ErrFull {
		m.t.Errorf("send: %v", err)
	}
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
func (m *match) join(profile simnet.Profile, clock simnet.Clock, c systems.ClientConfig, hz int, play func(*player, int) pad) *player {
	w, err := ecs.NewWorld(m.game, 99)
	if err != nil {
		m.t.Fatal(err)
	}
	c.World = w
	half, err := NewClient(c)
	if err != nil {
		m.t.Fatal(err)
	}
	p := &player{Client: half.(*Client), id: systems.Peer(len(m.clients)), node: m.net.AddNode(clock), play: play}
	m.clients = append(m.clients, p)
	if err := m.net.Connect(p.node, m.node, profile); err != nil {
		m.t.Fatal(err)
	}
	m.net.OnMessage(p.node, func(_ simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
		if err := p.Receive(channelOf(ch), payload, systems.Time(now)); err != nil {
			m.t.Errorf("client %d refused a message: %v", p.id, err)
		}
	})
	rtt := profile.Up.Delay + profile.Down.Delay
	var image ecs.Snapshot
	m.server.World().Save(&image)
	bytes := image.AppendImage(nil)
	image.Release()
	have := m.server.World().Tick()
	m.net.At(m.net.Now()+profile.Down.Delay, func() {
		if err := w.LoadImage(bytes); err != nil {
			m.t.Fatal(err)
		}
		p.Load(systems.Time(m.net.LocalNow(p.node)), have, systems.Time(rtt))
		m.server.Open(p.id, c.Seat, have, systems.Time(m.net.Now()), outbox{m.fromServer})
		if c.Seat >= 0 {
			m.server.Stamp(ecs.Order{Kind: ecs.OrderJoin, Player: ecs.Player(c.Seat)}, outbox{m.fromServer})
		}
		m.net.Every(p.node, m.net.LocalNow(p.node), hz, func(_ int64, now simnet.Time) { m.frame(p, systems.Time(now)) })
	})
	return p
}

func (m *match) frame(p *player, now systems.Time) {
	if p.off {
		return
	}
	if p.play != nil {
		p.SetInput(padInput.Pack(p.play(p, p.frames)))
	}
	p.frames++
	p.Frame(now)
	p.Send(now, outbox{func(_ systems.Peer, ch systems.Channel, message []byte) {
		c := simnet.Datagram
		if ch == systems.Reliable {
			c = simnet.Reliable
		}
		_ = m.net.Send(p.node, m.node, c, message)
	}})
	p.Effects(func(e systems.Effect) { p.effects = append(p.effects, e) })
	w := int(p.timeline.Present() - p.timeline.Confirmed())
	p.ws = append(p.ws, w)
	p.maxW = max(p.maxW, w)
	for ; p.next <= p.timeline.Confirmed(); p.next++ {
		f := p.next
		s, ok := p.timeline.Snapshot(f)
		if !ok {
			continue
		}
		p.checked++
		if want, known := m.sums[f]; known && s.Checksum() != want {
			m.t.Fatalf("client %d: tick %d: checksum %x, the server has %x", p.id, f, s.Checksum(), want)
		}
	}
}

// wander presses at random but the same for a seed.
func wander(seed uint64) func(*player, int) pad {
	r := ecs.NewRand(seed)
	var now pad
	return func(*player, int) pad {
		if r.Chance(1, 12) {
			now.DX, now.DY = int8(r.IntN(3)-1), int8(r.IntN(3)-1)
		}
		now.Fire = r.Chance(1, 15)
		return now
	}
}

func profile(t testing.TB, name string) simnet.Profile {
	p, ok := simnet.ByName(name)
	if !ok {
		t.Fatalf("no profile %s", name)
	}
	return p
}

// RB-01: at every tick that a client has confirmed its state is the server's, on every profile, and the run saw
// rollbacks, shots inside predicted windows and hits.
func TestEveryConfirmedTickEqualsTheServersOnEveryProfile(t *testing.T) {
	for i := range 10 {
		name := fmt.Sprintf("P%d", i)
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 60, uint64(i+1))
			for s := range 4 {
				m.join(profile(t, name), simnet.Clock{Offset: time.Duration(s) * time.Second, DriftPPM: int64(s*100 - 200)}, systems.ClientConfig{Seat: s}, 60, wander(uint64(s+1)))
			}
			m.net.RunUntil(30 * time.Second)
			for _, c := range m.clients {
				s := c.Stats()
				t.Logf("client %d: checked %d, W max %d, %+v; timeline %+v", c.id, c.checked, c.maxW, s, c.timeline.Stats())
				if c.checked < 1000 {
					t.Errorf("client %d compared only %d ticks", c.id, c.checked)
				}
				if i >= 1 && s.Rollbacks == 0 {
					t.Errorf("client %d saw no rollback", c.id)
				}
				if st := m.server.PeerStats(c.id); st.Desyncs > 0 || st.Checked == 0 {
					t.Errorf("server: %+v", st)
				}
			}
		})
	}
}
