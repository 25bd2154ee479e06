package lockstep

import (
	"fmt"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
)

const ms = time.Millisecond

type pad = halves.Pad

var (
	padInput = halves.PadInput
	steered  = halves.Steered
	zigzag   = halves.Zigzag
	profile  = halves.Profile
	newWorld = halves.NewWorld
	imageOf  = halves.Image
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

// match is a match of lockstep's halves.
type match struct {
	*halves.Match
	config  Config
	server  *Server
	clients []*player
	given   bool // the server's log has the inputs as they were given, so they are not compared
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
	t := halves.Clone(f)
	return entered{inputs: t.Inputs, orders: t.Orders}
}

// stall is a time in which a client could not compute frame c + 1, which was due.
type stall struct {
	c     ecs.Tick
	since time.Duration // when the first of the ticks was due
	until time.Duration // when frame c + 1 was computed
	ticks int           // of its grid
	why   systems.StallReason
}

// player is a client with its measurements.
type player struct {
	*Client
	peer     *halves.Peer
	match    *match
	loads    int                        // of the peer, when executed began
	executed []executed                 // since the last Load
	lags     []time.Duration            // while live: start of each frame minus its time on the server's grid
	starts   map[ecs.Tick]time.Duration // when each frame was computed
	stalls   []stall
	checked  int // frames compared with the server's
	due      int // ticks due since forget
	before   ecs.Tick
	counted  systems.ClientStats // before the frame
	onFrame  func(p *player, before, after ecs.Tick)
}

// executed is a frame that a client has executed.
type executed struct {
	tick ecs.Tick
	entered
}

// newMatch starts a server whose frame f ends at f/TickRate. change, if any, changes the server's Config.
func newMatch(t testing.TB, game *ecs.Game, seed uint64, c Config, change ...func(*systems.ServerConfig)) *match {
	m := &match{config: c}
	m.Match = halves.New(t, halves.Config{Game: game, Strategy: New(c), Seed: seed, Change: func(sc *systems.ServerConfig) {
		sc.States = !c.OnDemand
		for _, f := range change {
			f(sc)
		}
	}})
	m.server = m.Server.Server.(*Server)
	return m
}

// join adds a client whose frames come at hz, from when its peer is open. Seat −1 is a spectator.
func (m *match) join(path simnet.Profile, clock simnet.Clock, seat, hz int, play func(*player, int) pad) *player {
	p := m.add(halves.Plan{Path: path, Clock: clock, Config: systems.ClientConfig{Seat: seat}, Hz: hz, FromOpen: true}, play)
	p.peer.SendImage(0)
	return p
}

// add adds a client without a state.
func (m *match) add(plan halves.Plan, play func(*player, int) pad) *player {
	p := &player{match: m, starts: map[ecs.Tick]time.Duration{}}
	taken := plan.Config.Taken
	plan.Config.Taken = func(f systems.FinalTick) {
		p.take(f)
		if taken != nil {
			taken(f)
		}
	}
	plan.Input = func(frame int) ecs.InputBytes { return padInput.Pack(play(p, frame)) }
	plan.Display = p.display
	plan.Receive = func(ch systems.Channel, message []byte, now time.Duration) error {
		err := p.Receive(ch, message, now)
		p.wantOrder()
		return err
	}
	p.peer = m.Match.Add(plan)
	p.Client = p.peer.Half.(*Client)
	m.clients = append(m.clients, p)
	return p
}

// take checks a frame that the client executes: it follows the last one and is the server's.
func (p *player) take(f systems.FinalTick) {
	m := p.match
	if p.loads != p.peer.Loads {
		p.loads, p.executed = p.peer.Loads, p.executed[:0]
	}
	if n := len(p.executed); n > 0 && f.Tick != p.executed[n-1].tick+1 {
		m.T.Fatalf("client %d executed frame %d after frame %d", p.peer.ID, f.Tick, p.executed[n-1].tick)
	}
	e := enteredOf(f)
	p.executed = append(p.executed, executed{f.Tick, e})
	p.starts[f.Tick] = m.Net.Now()
	if p.Live() {
		p.lags = append(p.lags, m.Net.Now()-systems.TickTime(0, f.Tick, m.Game.TickRate))
	}
	if want, known := m.Tick(f.Tick); !m.given && (!known || entered.String(entered{want.Inputs, want.Orders}) != e.String()) {
		m.T.Fatalf("client %d, frame %d: executes %v, the server has %v (ended: %v)", p.peer.ID, f.Tick, e, want, known)
	}
}

// wantOrder checks c ≤ S ≤ F.
func (p *player) wantOrder() {
	if done := p.match.server.Done(); p.at() > p.log.last || p.log.last > p.announced || p.announced > done {
		p.match.T.Fatalf("client %d has executed %d, holds %d, was promised %d, and the server is at %d", p.peer.ID, p.at(), p.log.last, p.announced, done)
	}
}

func (p *player) display(now time.Duration) {
	p.before, p.counted = p.at(), p.Stats()
	p.peer.Frame(now)
	p.countStalls()
	p.wantOrder()
	p.compare()
	if p.onFrame != nil {
		p.onFrame(p, p.before, p.at())
	}
}

func (p *player) countStalls() {
	now := p.Stats()
	lost := int(now.Stalls - p.counted.Stalls)
	p.due += int(p.at()-p.before) + lost
	n := len(p.stalls)
	open := n > 0 && p.stalls[n-1].until == 0
	if open && p.at() > p.stalls[n-1].c {
		p.stalls[n-1].until, open = p.match.Net.Now(), false
	}
	switch {
	case lost > 0 && open:
		p.stalls[n-1].ticks += lost
	case lost > 0:
		p.stalls = append(p.stalls, stall{c: p.at(), since: p.match.Net.Now(), ticks: lost, why: now.Stalled})
	}
}

// compare compares the client's present state with the server's.
func (p *player) compare() {
	s, ok := p.ring.At(p.at())
	want, _ := p.match.Tick(p.at())
	if !ok || want.Sum == 0 {
		return
	}
	p.checked++
	if got := s.Checksum(); got != want.Sum && !p.peer.Faulty {
		p.match.T.Fatalf("client %d: frame %d: checksum %x, the server has %x", p.peer.ID, p.at(), got, want.Sum)
	}
}

// wantSound fails the test unless many frames were compared, no checksum differed and no client was flagged.
func (m *match) wantSound(least int) {
	m.T.Helper()
	for _, c := range m.clients {
		if c.checked < least {
			m.T.Errorf("client %d compared only %d frames", c.peer.ID, c.checked)
		}
		if st := m.server.PeerStats(c.peer.ID); !c.peer.Off && (st.Desyncs > 0 || st.Checked == 0 || len(c.peer.Flagged) > 0) {
			m.T.Errorf("client %d: flagged at %v, %+v", c.peer.ID, c.peer.Flagged, st)
		}
	}
	m.WantChange()
}

// stallShare returns the share of a client's ticks that it could not compute, since forget, in percent.
func (p *player) stallShare() float64 {
	lost := 0
	for _, s := range p.stalls {
		lost += s.ticks
	}
	return 100 * float64(lost) / float64(max(p.due, 1))
}

// forget restarts the measurement of lag and stalls.
func (p *player) forget() { p.lags, p.stalls, p.due = p.lags[:0], p.stalls[:0], 0 }

// four starts a match of four players at random.
func four(t testing.TB, path simnet.Profile, seed uint64, c Config) *match {
	m := newMatch(t, testGame(), seed, c)
	for s := range 4 {
		m.join(path, simnet.Clock{Offset: time.Duration(s) * time.Second, DriftPPM: int64(40*s - 60)}, s, 60, wander(seed+uint64(s)))
	}
	return m
}

// loop is a Loop of lockstep's halves.
type loop struct {
	*halves.Loop
	server  *Server
	clients []*Client
}

// newLoop returns a loop of players with a delay of way ticks in each direction.
func newLoop(t testing.TB, c Config, game *ecs.Game, players, way int, input func(seat, tick int) pad) *loop {
	t.Helper()
	l := &loop{Loop: halves.NewLoop(t, halves.Config{Game: game, Strategy: New(c), Seed: 1}, way, way)}
	l.server = l.Server.Server.(*Server)
	l.AddPlayers(players, func(seat, tick int) ecs.InputBytes { return padInput.Pack(input(seat, tick)) })
	for _, p := range l.Peers {
		l.clients = append(l.clients, p.Half.(*Client))
	}
	return l
}
