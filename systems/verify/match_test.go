package verify

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/systems"
)

const ms = time.Millisecond

// modes are the two ways in which the strategy travels; every claim holds for both.
var modes = []struct {
	name   string
	config Config
}{{"datagram", Config{}}, {"reliable", Config{Reliable: true}}}

func inBothModes(t *testing.T, f func(t *testing.T, c Config)) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) { f(t, mode.config) })
	}
}

// match plays the two halves against each other over the message floor, with just as much of a session as they rely on:
// an image is handed over after the way down; the client's Ready opens the peer; messages carry the run they belong to,
// and those of another are dropped.
type match struct {
	t        testing.TB
	net      *simnet.Network
	game     *ecs.Game
	limits   Config
	server   *Server
	node     simnet.NodeID
	clients  []*player
	sums     map[ecs.Tick]image.Checksum
	events   []image.EventKey // of all ticks, in order
	inputs   map[ecs.Tick][]ecs.InputBytes
	orders   []image.Order // the game's, as they were executed
	reliable bool          // even what the strategy gives as a datagram goes over the reliable channel
	refused  int           // messages that a half refused; an error of the test unless hostile
	hostile  bool
	down     int // bytes sent to clients
	largest  int // of them
	streamed int // sent on the reliable channel
}

// player is a client and what the test saw of it.
type player struct {
	*Client
	id      systems.Peer
	node    simnet.NodeID
	play    func(c *player, f int) pad
	path    simnet.Profile
	run     byte // of the client's session
	served  byte // the run that the server's half is open for; 0: it is closed
	frames  int
	shown   ecs.Tick // last tick shown
	checked int      // states shown
	skipped int      // ticks that were passed over
	effects []systems.Effect
	values  []bought // of effects
	since   ecs.Tick // the image's tick: effects follow it
	answers []Answer
	loads   int
	images  int // that were sent for, or given up
	flagged int
	found   []image.Difference
	off     bool
	copies  int // of each message, besides the first
	onFrame func(p *player, current *image.Snapshot, now systems.Time)
}

type outbox struct {
	send func(to systems.Peer, ch systems.Channel, m []byte)
}

func (o *outbox) Send(to systems.Peer, ch systems.Channel, m []byte) { o.send(to, ch, m) }

// ready is the kind of the message that opens a peer.
const ready = 255

func newMatch(t testing.TB, game *ecs.Game, limits Config, seed uint64) *match {
	m := &match{t: t, game: game, limits: limits, net: simnet.New(simnet.Config{Seed: seed, ReliableQueue: 1 << 16}),
		sums: map[ecs.Tick]image.Checksum{}, inputs: map[ecs.Tick][]ecs.InputBytes{}}
	m.server = m.newServer(newWorld(t, game, seed))
	m.node = m.net.AddNode(simnet.Clock{})
	out := &outbox{m.fromServer}
	m.net.OnMessage(m.node, func(from simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
		p := m.peerOf(from)
		switch run, body := payload[0], payload[1:]; {
		case len(body) > 0 && body[0] == ready:
			m.open(p, run, ecs.Tick(body[1])|ecs.Tick(body[2])<<8|ecs.Tick(body[3])<<16)
		case run == p.served && run != 0:
			m.note(m.server.Receive(p.id, systems.Channel(ch), body, systems.Time(now), out))
		}
	})
	m.net.Every(m.node, 0, game.TickRate, func(k int64, now simnet.Time) {
		if k == 0 {
			return
		}
		m.server.Tick(systems.Time(now))
		m.server.Send(systems.Time(now), out)
		m.server.Desynced(func(id systems.Peer) {
			m.clients[id].flagged++
			m.hand(m.clients[id], 100*ms)
		})
	})
	return m
}

func (m *match) newServer(w *ecs.World) *Server {
	half, err := New(m.limits).NewServer(systems.ServerConfig{World: w, Peers: 8, Taken: m.taken})
	if err != nil {
		m.t.Fatal(err)
	}
	return half.(*Server)
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
	m.inputs[f.Tick] = append([]ecs.InputBytes(nil), f.Inputs...)
	for _, o := range f.Orders {
		if o.Kind == image.OrderGame {
			o.Payload = append([]byte(nil), o.Payload...)
			m.orders = append(m.orders, o)
		}
	}
	for _, e := range f.World.Events() {
		m.events = append(m.events, e.Key)
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

// The channels have the same numbers here and there.
var _ = [1]int{}[int(systems.Reliable)-int(simnet.Reliable)]

func (m *match) channel(ch systems.Channel) simnet.Channel {
	if m.reliable {
		return simnet.Reliable
	}
	return simnet.Channel(ch)
}

func (m *match) fromServer(to systems.Peer, ch systems.Channel, message []byte) {
	p := m.clients[to]
	m.down += len(message)
	m.largest = max(m.largest, len(message))
	if ch == systems.Reliable {
		m.streamed++
	} else if len(message) > systems.MaxDatagram {
		m.t.Errorf("a datagram of %d bytes", len(message))
	}
	if err := m.net.Send(m.node, p.node, m.channel(ch), append([]byte{p.served}, message...)); err != nil && (err != simnet.ErrFull || ch == systems.Reliable) {
		m.t.Errorf("send: %v", err)
	}
}

func (m *match) fromClient(p *player) systems.Outbox {
	return &outbox{func(_ systems.Peer, ch systems.Channel, message []byte) {
		if ch == systems.Datagram && len(message) > systems.MaxDatagram {
			m.t.Errorf("a datagram of %d bytes", len(message))
		}
		for range 1 + p.copies {
			if err := m.net.Send(p.node, m.node, m.channel(ch), append([]byte{p.run}, message...)); err != nil && err != simnet.ErrFull {
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

func (m *match) newClient(seat int) *Client {
	half, err := New(Config{}).NewClient(systems.ClientConfig{World: newWorld(m.t, m.game, 99), Seat: seat, Params: New(m.limits).Params})
	if err != nil {
		m.t.Fatal(err)
	}
	return half.(*Client)
}

// join adds a client whose frames come at hz, the first one phase from now; seat −1 is a spectator.
func (m *match) join(path simnet.Profile, clock simnet.Clock, seat, hz int, phase simnet.Time, play func(*player, int) pad) *player {
	p := &player{Client: m.newClient(seat), id: systems.Peer(len(m.clients)), node: m.net.AddNode(clock), play: play, path: path}
	m.clients = append(m.clients, p)
	if err := m.net.Connect(p.node, m.node, path); err != nil {
		m.t.Fatal(err)
	}
	m.net.OnMessage(p.node, func(_ simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
		if payload[0] == p.run && p.loads > 0 {
			m.note(p.Receive(systems.Channel(ch), payload[1:], systems.Time(now)))
		}
	})
	m.hand(p, 0)
	m.net.Every(p.node, m.net.LocalNow(p.node)+phase, hz, func(_ int64, now simnet.Time) { m.frame(p, systems.Time(now)) })
	return p
}

// hand gives a client an image of now, after the way down and what more it takes.
func (m *match) hand(p *player, more time.Duration) {
	var state image.Snapshot
	m.server.World().Image().Save(&state)
	encoded := state.AppendImage(nil)
	state.Release()
	p.images++
	number := p.images
	m.net.At(m.net.Now()+p.path.Down.Delay+more, func() {
		if number != p.images {
			return // its connection is gone
		}
		if d, ok := new(rollback.Comparison).With(m.game, encoded, p.Kept); ok {
			p.found = append(p.found, d)
		}
		if err := p.World().Image().Load(encoded); err != nil {
			m.t.Fatal(err)
		}
		p.since = p.World().Tick()
		m.begin(p)
	})
}

// begin lets a client go on from the state of its world, and tells the server.
func (m *match) begin(p *player) {
	p.run++
	p.loads++
	have := p.World().Tick()
	p.Load(systems.Time(m.net.LocalNow(p.node)), have, systems.Time(p.path.Up.Delay+p.path.Down.Delay))
	if err := m.net.Send(p.node, m.node, simnet.Reliable, []byte{p.run, ready, byte(have), byte(have >> 8), byte(have >> 16)}); err != nil {
		m.t.Error(err)
	}
}

// open opens a client's peer, unless the state it holds is too old by now.
func (m *match) open(p *player, run byte, have ecs.Tick) {
	if have < m.server.OldestServable() {
		m.hand(p, 0)
		return
	}
	out := &outbox{m.fromServer}
	p.served = run
	m.server.Open(p.id, p.Config.Seat, have, systems.Time(m.net.Now()), out)
	if seat := p.Config.Seat; seat >= 0 && !m.server.World().Players().Has(ecs.Player(seat)) {
		m.server.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(seat)}, out)
	}
}

// reconnect breaks a client's connection and makes another one, which goes on from the client's state or begins with an
// image; what was under way is lost.
func (m *match) reconnect(p *player, encoded bool) {
	m.net.Reconnect(p.node, m.node)
	m.server.Close(p.id)
	p.served = 0
	p.images++
	if encoded || p.World().Tick() < m.server.OldestServable() {
		m.hand(p, 0)
		return
	}
	m.begin(p)
}

// restart makes a client a new process.
func (m *match) restart(p *player) {
	m.net.Reconnect(p.node, m.node)
	m.server.Close(p.id)
	p.served, p.loads, p.shown = 0, 0, 0
	p.Client = m.newClient(p.Config.Seat)
	m.hand(p, 0)
}

func (m *match) frame(p *player, now systems.Time) {
	if p.off || p.loads == 0 {
		return
	}
	p.SetInput(padInput.Pack(p.play(p, p.frames)))
	p.frames++
	p.Frame(now)
	p.Send(now, m.fromClient(p))
	p.Effects(func(e systems.Effect) {
		p.effects = append(p.effects, e)
		if b, ok := boughtNews.Decode(m.game, e.Event); ok {
			p.values = append(p.values, b)
		}
	})
	p.Answers(func(a Answer) {
		a.Command.Order = append([]byte(nil), a.Command.Order...)
		p.answers = append(p.answers, a)
	})
	previous, current, confirmed, alpha := p.View(now)
	if alpha < 0 || alpha >= 1 || confirmed.Tick() != current.Tick() || previous.Tick() > current.Tick() {
		m.t.Fatalf("client %d shows %d → %d at %v, confirmed %d", p.id, previous.Tick(), current.Tick(), alpha, confirmed.Tick())
	}
	m.compare(p, previous, false)
	m.compare(p, current, true)
	if p.onFrame != nil {
		p.onFrame(p, current, now)
	}
}

// compare holds what a client shows against the server's state of that tick.
func (m *match) compare(p *player, s *image.Snapshot, current bool) {
	f := s.Tick()
	if want, known := m.sums[f]; known && s.Checksum() != want {
		m.t.Fatalf("client %d shows tick %d with checksum %x, the server has %x", p.id, f, s.Checksum(), want)
	}
	if !current || f == p.shown {
		return
	}
	if f < p.shown {
		m.t.Fatalf("client %d shows tick %d after tick %d", p.id, f, p.shown)
	}
	p.checked++
	if p.shown > 0 {
		p.skipped += int(f - p.shown - 1)
	}
	p.shown = f
}

func profile(t testing.TB, name string) simnet.Profile {
	p, ok := simnet.ByName(name)
	if !ok {
		t.Fatalf("no profile %s", name)
	}
	return p
}

func round(rtt time.Duration) simnet.Profile {
	return simnet.Symmetric("round", "round", simnet.Path{Delay: rtt / 2})
}

// four adds four wandering players.
func (m *match) four(path simnet.Profile) {
	for s := range 4 {
		m.join(path, simnet.Clock{Offset: time.Duration(s) * time.Second, DriftPPM: int64(s*40 - 60)}, s, 60, time.Duration(s)*3*ms, wander(uint64(s)+1))
	}
}

// sound asserts what must hold at the end of every run: many states shown, each of them the server's; no corrections, no
// snaps, nobody flagged, nothing refused; and a match in which something happened.
func (m *match) sound(least int) {
	m.t.Helper()
	for _, c := range m.clients {
		s := c.Stats()
		if c.checked < least {
			m.t.Errorf("client %d has shown only %d states: %+v", c.id, c.checked, s)
		}
		if s.Corrections+s.Snaps+s.Rollbacks+c.Refused() > 0 || c.flagged > 0 || m.server.PeerStats(c.id).Desyncs > 0 {
			m.t.Errorf("client %d: flagged %d times, %d refused, %+v", c.id, c.flagged, c.Refused(), s)
		}
	}
	m.happens()
}

// happens asserts that the run proves something: the state kept changing.
func (m *match) happens() {
	m.t.Helper()
	different := map[image.Checksum]bool{}
	for _, sum := range m.sums {
		different[sum] = true
	}
	if len(different) < len(m.sums)*9/10 {
		m.t.Errorf("the run proves nothing: %d checksums in %d ticks", len(different), len(m.sums))
	}
}

// heard asserts that a client heard of every event since its image, once and in the server's order.
func (m *match) heard(p *player, least int) {
	m.t.Helper()
	var want []image.EventKey
	got := p.effects
	for len(got) > 0 && p.loads > 1 && got[0].Event.Key.Tick <= p.since {
		got = got[1:]
	}
	for _, key := range m.events {
		if key.Tick > p.since && key.Tick <= p.shown {
			want = append(want, key)
		}
	}
	if len(got) != len(want) || len(want) < least {
		m.t.Errorf("client %d heard of %d events of %d", p.id, len(got), len(want))
		return
	}
	for i, e := range got {
		if e.Event.Key != want[i] || e.Status != ecs.EffectConfirmed || !e.First {
			m.t.Errorf("client %d: event %d is %+v, want %+v", p.id, i, e, want[i])
			return
		}
	}
}
