package relay

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
)

type pad = halves.Pad

var (
	padInput = halves.PadInput
	bodyComp = halves.Bodies
	steered  = halves.Steered
	zigzag   = halves.Zigzag
	profile  = halves.Profile
	newWorld = halves.NewWorld
)

func testGame() *ecs.Game {
	g := halves.Dots()
	g.MaxPlayers = 4
	return g
}

// wander plays at random, by a seed.
func wander(seed uint64) func(*player, int) pad {
	next := halves.Wander(seed)
	return func(*player, int) pad { return next() }
}

// idle does nothing.
func idle(*player, int) pad { return pad{} }

// match is a match of relay's halves.
type match struct {
	*halves.Match
	server  *Server
	clients []*player
	phase   time.Duration // of the clients' frames
}

// player is a client with its measurements.
type player struct {
	*Client
	peer     *halves.Peer
	match    *match
	checked  int
	next     ecs.Tick // next confirmed tick to compare
	ws       []int    // W after each frame, once live
	forced   int      // ticks to rewind in each frame, for a sync test
	cost     float64  // of a step, in ticks of time
	busy     time.Duration
	episodes int // of stalls
	stalling bool
	lastIn   pad
	before   frameStart
	onFrame  func(p *player, before, after ecs.Tick)
	onNews   func(p *player, received ecs.Tick)
}

// frameStart is the state of a client before a frame.
type frameStart struct {
	present ecs.Tick
	stalls  uint64
	steps   uint64 // ticks computed so far
}

func newMatch(t testing.TB, game *ecs.Game, seed uint64) *match {
	m := &match{Match: halves.New(t, halves.Config{Game: game, Strategy: Strategy, Seed: seed,
		Change: func(c *systems.ServerConfig) { c.States = true }})}
	m.server = m.Server.Server.(*Server)
	return m
}

// join adds a client whose frames come at hz. Seat −1 is a spectator.
func (m *match) join(path simnet.Profile, clock simnet.Clock, c systems.ClientConfig, hz int, play func(*player, int) pad) *player {
	p := &player{match: m}
	p.peer = m.Match.Join(halves.Plan{Path: path, Clock: clock, Config: c, Hz: hz, Phase: m.phase, FromOpen: true,
		Input:   func(f int) ecs.InputBytes { p.lastIn = play(p, f); return padInput.Pack(p.lastIn) },
		Display: p.display,
		Receive: p.receive})
	p.Client = p.peer.Half.(*Client)
	m.clients = append(m.clients, p)
	return p
}

func (p *player) receive(ch systems.Channel, message []byte, now time.Duration) error {
	received := p.timeline.Received()
	err := p.Receive(ch, message, now)
	if p.onNews != nil && p.timeline.Received() > received {
		p.onNews(p, p.timeline.Received())
	}
	return err
}

func (p *player) display(now time.Duration) {
	if p.match.Net.Now() < p.busy {
		return
	}
	if p.forced > 0 {
		p.timeline.Rewind(max(p.timeline.Present(), ecs.Tick(p.forced)) - ecs.Tick(p.forced))
	}
	p.before = frameStart{p.timeline.Present(), p.Stats().Stalls, p.steps()}
	p.peer.Frame(now)
	p.afterFrame()
}

// steps returns the number of ticks that the client has computed.
func (p *player) steps() uint64 {
	s := p.timeline.Stats
	return s.Steps + s.Resimulated
}

func (p *player) afterFrame() {
	stalled := p.Stats().Stalls > p.before.stalls
	if stalled && !p.stalling {
		p.episodes++
	}
	p.stalling = stalled
	m := p.match
	p.busy = m.Net.Now() + time.Duration(float64(p.steps()-p.before.steps)*p.cost*1e9/float64(m.Game.TickRate)) - 1
	if p.Live() {
		p.ws = append(p.ws, int(p.timeline.Present())-int(p.timeline.Confirmed()))
	}
	m.compare(p)
	if p.onFrame != nil {
		p.onFrame(p, p.before.present, p.timeline.Present())
	}
}

// compare compares every tick that a client has confirmed with the server's.
func (m *match) compare(p *player) {
	for ; p.next <= p.timeline.Confirmed(); p.next++ {
		s, ok := p.timeline.Snapshot(p.next)
		if !ok {
			continue
		}
		if want, known := m.Tick(p.next); known {
			p.checked++
			if s.Checksum() != want.Sum && !p.peer.Faulty {
				m.T.Fatalf("client %d: tick %d: checksum %x, the server has %x", p.peer.ID, p.next, s.Checksum(), want.Sum)
			}
		}
	}
}

// orders returns the orders that were executed, with their ticks.
func (m *match) orders() (list []stampedOrder) {
	for f := range m.Ticks {
		for _, o := range m.Ticks[f].Orders {
			list = append(list, stampedOrder{tick: ecs.Tick(f), order: o})
		}
	}
	return list
}

// wantSound fails the test unless many ticks were compared, no checksum differed and no client was flagged.
func (m *match) wantSound(least int) {
	m.T.Helper()
	for _, c := range m.clients {
		if c.checked < least {
			m.T.Errorf("client %d compared only %d ticks", c.peer.ID, c.checked)
		}
		if st := m.server.PeerStats(c.peer.ID); st.Desyncs > 0 || st.Checked == 0 || len(c.peer.Flagged) > 0 {
			m.T.Errorf("client %d: flagged at %v, %+v", c.peer.ID, c.peer.Flagged, st)
		}
	}
	m.WantChange()
}

// percentile returns the value that a share q of all do not exceed.
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

// loop is a Loop of relay's halves.
type loop struct {
	*halves.Loop
	server  *Server
	clients []*Client
}

// newLoop returns a loop of players with a delay of way ticks in each direction.
func newLoop(t testing.TB, game *ecs.Game, players, way int, input func(seat, tick int) pad) *loop {
	t.Helper()
	l := &loop{Loop: halves.NewLoop(t, halves.Config{Game: game, Strategy: Strategy, Seed: 1}, way, way)}
	l.server = l.Server.Server.(*Server)
	l.AddPlayers(players, func(seat, tick int) ecs.InputBytes { return padInput.Pack(input(seat, tick)) })
	for _, p := range l.Peers {
		l.clients = append(l.clients, p.Half.(*Client))
	}
	return l
}
