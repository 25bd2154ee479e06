package lockstep

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/systems"
)

const ms = time.Millisecond

// match plays the two halves against each other over the message floor, without a session: an image is handed over
// after the way down, and the peer is opened after the way up.
type match struct {
	t         testing.TB
	net       *simnet.Network
	game      *ecs.Game
	config    Config
	server    *Server
	node      simnet.NodeID
	clients   []*player
	sums      map[ecs.Tick]image.Checksum // of the server's states, where it computes them
	frames    map[ecs.Tick]entered        // the server's log, as Taken was told of it
	closed    map[ecs.Tick]simnet.Time    // when a frame ended
	decisions []systems.Decision
	refused   int  // messages that a half refused; an error of the test unless hostile
	hostile   bool // refused messages are no error
	hitch     bool // the server does not run: its ticks wait
	owed      []systems.Time
	held      int // times that a tick which was due had to wait
	down, up  int // bytes sent to clients, and by them
	// onDown and onUp are called with every message when it arrives.
	onDown func(p *player, ch systems.Channel, message []byte, now simnet.Time)
	onUp   func(p *player, ch systems.Channel, message []byte, now simnet.Time)
	waited simnet.Time // by which Hold has moved the server's grid
}

// entered is what entered a frame.
type entered struct {
	inputs []ecs.InputBytes
	orders []image.Order
}

func (e entered) String() string {
	text := ""
	for _, in := range e.inputs {
		text += fmt.Sprintf("%x ", in[:4])
	}
	for _, o := range e.orders {
		text += fmt.Sprintf("order %d of %d: %x ", o.Kind, o.Player, o.Payload)
	}
	return text
}

func enteredOf(f systems.FinalTick) entered {
	e := entered{inputs: slices.Clone(f.Inputs)}
	for _, o := range f.Orders {
		o.Payload = slices.Clone(o.Payload)
		e.orders = append(e.orders, o)
	}
	return e
}

// stall is a time in which a client could not compute frame c + 1, which was due: it lasted ticks of its grid.
type stall struct {
	c     ecs.Tick
	since simnet.Time // when the first of the ticks was due
	until simnet.Time // when frame c + 1 was computed
	ticks int
	why   systems.StallReason
}

// player is a client and what the test saw of it.
type player struct {
	*Client
	id       systems.Peer
	node     simnet.NodeID
	play     func(c *player, f int) pad
	path     simnet.Profile
	clientID int
	image    []byte
	frames   int                      // Frames of the display
	executed []executed               // since the last Load
	lags     []simnet.Time            // while live: start of each frame less its time on the server's grid
	starts   map[ecs.Tick]simnet.Time // when each frame was computed
	stalls   []stall
	effects  []systems.Effect
	checked  int // frames compared with the server's
	loads    int
	flagged  int
	found    []image.Difference
	off      bool // its display does not run
	faulty   bool // its state was spoilt and not replaced yet
	copies   int  // of each message, besides the first
	due      int  // ticks due since it was live
	orders   []string
	onFrame  func(p *player, before, after ecs.Tick)
}

// executed is a frame that a client has executed.
type executed struct {
	tick ecs.Tick
	entered
}

type outbox struct {
	send func(to systems.Peer, ch systems.Channel, m []byte)
}

func (o *outbox) Send(to systems.Peer, ch systems.Channel, m []byte) { o.send(to, ch, m) }

func newWorld(t testing.TB, game *ecs.Game, seed uint64) *ecs.World {
	w, err := ecs.NewWorld(game, seed)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// newMatch starts a server whose frame f ends at f/TickRate. change, if any, changes what the half is made of.
func newMatch(t testing.TB, game *ecs.Game, seed uint64, c Config, change ...func(*systems.ServerConfig)) *match {
	m := &match{t: t, game: game, config: c, net: simnet.New(simnet.Config{Seed: seed, ReliableQueue: 1 << 16}),
		sums: map[ecs.Tick]image.Checksum{}, frames: map[ecs.Tick]entered{}, closed: map[ecs.Tick]simnet.Time{}}
	sc := systems.ServerConfig{World: newWorld(t, game, seed), Peers: 16, Taken: m.taken, States: c.Simulate == Always, Decided: m.decided}
	for _, f := range change {
		f(&sc)
	}
	half, err := New(c).NewServer(sc)
	if err != nil {
		t.Fatal(err)
	}
	m.server = half.(*Server)
	m.node = m.net.AddNode(simnet.Clock{})
	m.net.OnMessage(m.node, func(from simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
		p := m.playerAt(from)
		if m.onUp != nil {
			m.onUp(p, channelOf(ch), payload, now)
		}
		m.note("server", m.server.Receive(p.id, channelOf(ch), payload, systems.Time(now), m.out()))
	})
	m.net.Every(m.node, 0, game.TickRate, func(k int64, now simnet.Time) {
		if k > 0 {
			m.serve(systems.Time(now))
		}
	})
	return m
}

func (m *match) serve(now systems.Time) {
	if m.owed = append(m.owed, now); m.hitch {
		return
	}
	ticks := 0
	for _, due := range m.owed {
		if m.server.Hold(now) {
			m.held++
			m.waited += simnet.Time(systems.Second) / simnet.Time(m.game.TickRate)
			break // the grid waits with it
		}
		m.server.Tick(due)
		ticks++
	}
	m.owed = m.owed[:0]
	if ticks > 0 {
		m.server.Desynced(m.resync)
		m.server.Send(now, m.out())
	}
}

func (m *match) taken(f systems.FinalTick) {
	if f.State != nil {
		m.sums[f.Tick] = f.State.Checksum()
	}
	if m.frames != nil {
		m.frames[f.Tick] = enteredOf(f)
	}
	m.closed[f.Tick] = m.net.Now()
}

func (m *match) decided(d systems.Decision) {
	d.Result, d.Votes = slices.Clone(d.Result), slices.Clone(d.Votes)
	m.decisions = append(m.decisions, d)
}

func (m *match) note(who string, err error) {
	if err == nil {
		return
	}
	if m.refused++; !m.hostile {
		m.t.Errorf("at %v: %s refused a message: %v", m.net.Now(), who, err)
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

func (m *match) out() systems.Outbox { return &outbox{m.fromServer} }

func (m *match) fromServer(to systems.Peer, ch systems.Channel, message []byte) {
	m.down += len(message)
	if ch == systems.Datagram && (m.config.Reliable || len(message) > systems.MaxDatagram) {
		m.t.Errorf("a datagram of %d bytes went down", len(message))
	}
	if err := m.net.Send(m.node, m.playerOf(to).node, floorOf(ch), message); err != nil {
		m.t.Errorf("send: %v", err)
	}
}

func (m *match) fromClient(p *player) systems.Outbox {
	return &outbox{func(_ systems.Peer, ch systems.Channel, message []byte) {
		for range 1 + p.copies {
			m.up += len(message)
			if ch == systems.Datagram && (m.config.Reliable || len(message) > systems.MaxDatagram) {
				m.t.Errorf("a datagram of %d bytes went up", len(message))
			}
			if err := m.net.Send(p.node, m.node, floorOf(ch), message); err != nil {
				m.t.Errorf("client %d: %v", p.id, err)
			}
		}
	}}
}

func (m *match) playerAt(n simnet.NodeID) *player {
	for _, c := range m.clients {
		if c.node == n {
			return c
		}
	}
	panic("unknown node")
}

// playerOf returns who has the peer's number now: the last one, where a client came back as another.
func (m *match) playerOf(id systems.Peer) *player {
	for i := len(m.clients) - 1; i >= 0; i-- {
		if m.clients[i].id == id {
			return m.clients[i]
		}
	}
	panic("unknown peer")
}

// join adds a client whose frames come at hz, from when its peer is open; seat −1 is a spectator.
func (m *match) join(path simnet.Profile, clock simnet.Clock, seat, hz int, play func(*player, int) pad) *player {
	p := m.add(path, clock, systems.ClientConfig{Seat: seat}, play)
	m.hand(p, func() {
		if seat >= 0 {
			m.server.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(seat)}, m.out())
		}
		m.run(p, m.net.LocalNow(p.node), hz)
	})
	return p
}

// add makes a client and its link. It holds nothing and its display does not run.
func (m *match) add(path simnet.Profile, clock simnet.Clock, c systems.ClientConfig, play func(*player, int) pad) *player {
	p := &player{id: systems.Peer(len(m.clients)), node: m.net.AddNode(clock), play: play, path: path, starts: map[ecs.Tick]simnet.Time{}}
	c.World = newWorld(m.t, m.game, 99)
	s := New(m.config)
	c.Params = s.Params
	taken := c.Taken
	c.Taken = func(f systems.FinalTick) {
		p.take(m, f)
		if taken != nil {
			taken(f)
		}
	}
	half, err := s.NewClient(c)
	if err != nil {
		m.t.Fatal(err)
	}
	p.Client = half.(*Client)
	m.clients = append(m.clients, p)
	if err := m.net.Connect(p.node, m.node, path); err != nil {
		m.t.Fatal(err)
	}
	m.net.OnMessage(p.node, func(_ simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
		m.note(fmt.Sprint("client ", p.id), p.Receive(channelOf(ch), payload, systems.Time(now)))
		if m.onDown != nil {
			m.onDown(p, channelOf(ch), payload, now)
		}
		m.ordered(p)
	})
	return p
}

// run starts a client's display at a moment of its own clock.
func (m *match) run(p *player, epoch simnet.Time, hz int) {
	m.net.Every(p.node, epoch, hz, func(_ int64, now simnet.Time) { m.frame(p, systems.Time(now)) })
}

// hand gives a client an image of the server's world, after the way down, and opens its peer after the way up.
func (m *match) hand(p *player, then func()) {
	p.image = imageOf(m.server.World())
	have := m.server.World().Tick()
	travel := p.path.Down.Delay
	if p.loads > 0 {
		travel += 100 * ms // an image is not one datagram
	}
	m.net.At(m.net.Now()+travel, func() {
		if d, ok := new(rollback.Comparison).With(m.game, p.image, p.Kept); ok && p.loads > 0 {
			p.found = append(p.found, d)
		}
		if err := p.World().Image().Load(p.image); err != nil {
			m.t.Fatal(err)
		}
		m.load(p)
		m.net.At(m.net.Now()+p.path.Up.Delay, func() {
			m.server.Open(p.id, p.Config.Seat, have, systems.Time(m.net.Now()), m.out())
			then()
		})
	})
}

func imageOf(w *ecs.World) []byte {
	var s image.Snapshot
	w.Image().Save(&s)
	defer s.Release()
	return s.AppendImage(nil)
}

// load lets a client take over the state that its world is in.
func (m *match) load(p *player) {
	p.Load(systems.Time(m.net.LocalNow(p.node)), m.server.Done(), systems.Time(p.path.Up.Delay+p.path.Down.Delay))
	p.executed, p.faulty = p.executed[:0], false
	p.loads++
}

func (m *match) resync(id systems.Peer) {
	p := m.playerOf(id)
	p.flagged++
	m.hand(p, func() {})
}

// take notes a frame that a client executes.
func (p *player) take(m *match, f systems.FinalTick) {
	if n := len(p.executed); n > 0 && f.Tick != p.executed[n-1].tick+1 {
		m.t.Fatalf("client %d executed frame %d after frame %d", p.id, f.Tick, p.executed[n-1].tick)
	}
	p.executed = append(p.executed, executed{f.Tick, enteredOf(f)})
	p.starts[f.Tick] = m.net.Now()
	if p.Live() {
		p.lags = append(p.lags, m.net.Now()-simnet.Time(systems.TickTime(0, f.Tick, m.game.TickRate)))
	}
	if want, known := m.frames[f.Tick]; m.frames != nil && (!known || want.String() != p.executed[len(p.executed)-1].entered.String()) {
		m.t.Fatalf("client %d, frame %d: executes %v, the server has %v (ended: %v)", p.id, f.Tick, p.executed[len(p.executed)-1].entered, want, known)
	}
}

// ordered holds a client to c ≤ S ≤ F.
func (m *match) ordered(p *player) {
	if p.at() > p.log.last || p.log.last > p.announced || p.announced > m.server.Done() {
		m.t.Fatalf("client %d has executed %d, holds %d, was promised %d, and the server is at %d", p.id, p.at(), p.log.last, p.announced, m.server.Done())
	}
}

func (m *match) frame(p *player, now systems.Time) {
	if p.off {
		return
	}
	p.SetInput(padInput.Pack(p.play(p, p.frames)))
	p.frames++
	before, was := p.at(), p.Stats()
	p.Frame(now)
	m.stalled(p, before, was)
	p.Send(now, m.fromClient(p))
	p.Effects(func(e systems.Effect) { p.effects = append(p.effects, e) })
	m.ordered(p)
	m.compare(p)
	if p.onFrame != nil {
		p.onFrame(p, before, p.at())
	}
}

// stalled notes stalls.
func (m *match) stalled(p *player, before ecs.Tick, was systems.ClientStats) {
	now := p.Stats()
	lost := int(now.Stalls - was.Stalls)
	p.due += int(p.at()-before) + lost
	n := len(p.stalls)
	open := n > 0 && p.stalls[n-1].until == 0
	if open && p.at() > p.stalls[n-1].c {
		p.stalls[n-1].until, open = m.net.Now(), false
	}
	switch {
	case lost > 0 && open:
		p.stalls[n-1].ticks += lost
	case lost > 0:
		p.stalls = append(p.stalls, stall{c: p.at(), since: m.net.Now(), ticks: lost, why: now.Stalled})
	}
}

// compare holds the state that a client is in against the server's.
func (m *match) compare(p *player) {
	s, ok := p.ring.At(p.at())
	want, known := m.sums[p.at()]
	if !ok || !known || p.at() == 0 {
		return
	}
	p.checked++
	if got := s.Checksum(); got != want && !p.faulty {
		m.t.Fatalf("client %d: frame %d: checksum %x, the server has %x", p.id, p.at(), got, want)
	}
}

func profile(t testing.TB, name string) simnet.Profile {
	p, ok := simnet.ByName(name)
	if !ok {
		t.Fatalf("no profile %s", name)
	}
	return p
}

// sound asserts what must hold at the end of every run: many frames compared, no checksum that differed, nobody flagged.
func (m *match) sound(least int) {
	m.t.Helper()
	for _, c := range m.clients {
		if c.checked < least {
			m.t.Errorf("client %d compared only %d frames", c.id, c.checked)
		}
		if st := m.server.PeerStats(c.id); !c.off && (st.Desyncs > 0 || st.Checked == 0 || c.flagged > 0) {
			m.t.Errorf("client %d: flagged %d times, %+v", c.id, c.flagged, st)
		}
	}
	different := map[image.Checksum]bool{}
	for _, sum := range m.sums {
		different[sum] = true
	}
	if len(different) < len(m.sums)*9/10 {
		m.t.Errorf("the run proves nothing: %d checksums in %d frames", len(different), len(m.sums))
	}
}

// stallShare returns the share of a client's ticks that it could not compute, since forget, in percent.
func (p *player) stallShare() float64 {
	lost := 0
	for _, s := range p.stalls {
		lost += s.ticks
	}
	return 100 * float64(lost) / float64(max(p.due, 1))
}

// forget begins to measure lag and stalls anew.
func (p *player) forget() { p.lags, p.stalls, p.due = p.lags[:0], p.stalls[:0], 0 }

// percentile returns the value that a share q of all are not above.
func percentile(values []simnet.Time, q float64) simnet.Time {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[min(int(float64(len(sorted))*q), len(sorted)-1)]
}

func mean(values []simnet.Time) simnet.Time {
	sum := simnet.Time(0)
	for _, v := range values {
		sum += v
	}
	return sum / simnet.Time(max(len(values), 1))
}

// four starts a match of four who wander.
func four(t testing.TB, path simnet.Profile, seed uint64, c Config) *match {
	m := newMatch(t, testGame(60), seed, c)
	for s := range 4 {
		m.join(path, simnet.Clock{Offset: time.Duration(s) * time.Second, DriftPPM: int64(40*s - 60)}, s, 60, wander(seed+uint64(s)))
	}
	return m
}

func (m *match) log() {
	for _, c := range m.clients {
		s := c.Stats()
		m.t.Logf("client %d: c %d of %d, stalled %.2f%% in %d episodes, lag mean %v p50 %v p99 %v, margin %v, N %d", c.id, s.Present, m.server.Done(),
			c.stallShare(), len(c.stalls), mean(c.lags).Round(ms), percentile(c.lags, .5).Round(ms), percentile(c.lags, .99).Round(ms), s.Margin, c.interval)
	}
}
