package verify

import (
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
	zigzag   = halves.Zigzag
	profile  = halves.Profile
	newWorld = halves.NewWorld
)

// wander plays at random, by a seed.
func wander(seed uint64) func(*player, int) pad {
	next := halves.Wander(seed)
	return func(*player, int) pad { return next() }
}

// idle does nothing.
func idle(*player, int) pad { return pad{} }

// modes are the two channels of the strategy. Every claim holds for both.
var modes = []struct {
	name   string
	config Config
}{{"datagram", Config{}}, {"reliable", Config{Reliable: true}}}

func inBothModes(t *testing.T, f func(t *testing.T, c Config)) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) { f(t, mode.config) })
	}
}

// match is a match of verify's halves.
type match struct {
	*halves.Match
	server  *Server
	clients []*player
}

// player is a client with its measurements.
type player struct {
	*Client
	peer    *halves.Peer
	match   *match
	play    func(c *player, f int) pad
	shown   ecs.Tick // last tick shown
	checked int      // states shown
	heldAt  ecs.Tick // newest state when the effects were last drained
	answers []Answer
	wrong   ecs.Tick // whose state the test has changed
	onFrame func(p *player, current *image.Snapshot, now systems.Time)
}

func newMatch(t testing.TB, game *ecs.Game, limits Config, seed uint64) *match {
	m := &match{Match: halves.New(t, halves.Config{Game: game, Strategy: New(limits), Seed: seed})}
	m.server = m.Server.Server.(*Server)
	return m
}

// join adds a client whose frames come at hz, the first one phase from now. Seat −1 is a spectator.
func (m *match) join(path simnet.Profile, clock simnet.Clock, seat, hz int, phase time.Duration, play func(*player, int) pad) *player {
	p := &player{match: m, play: play}
	p.peer = m.Match.Add(halves.Plan{Path: path, Clock: clock, Config: systems.ClientConfig{Seat: seat}, Hz: hz,
		Phase: m.Net.Now() + clock.Offset + phase, Display: p.display,
		Input: func(f int) ecs.InputBytes { return padInput.Pack(p.play(p, f)) }})
	p.Client = p.peer.Half.(*Client)
	m.clients = append(m.clients, p)
	p.peer.SendImage(0)
	return p
}

// reconnect replaces a client's connection. The client goes on from its state, or begins with an image.
func (p *player) reconnect(image bool) {
	p.peer.Drop()
	if image {
		p.peer.SendImage(0)
	} else {
		p.peer.Reconnect()
	}
}

// restart replaces a client's process.
func (p *player) restart() {
	p.peer.Drop()
	p.peer.Restart()
	p.Client, p.shown = p.peer.Half.(*Client), 0
	p.peer.SendImage(0)
}

// purchases counts the effects of purchases.
func (p *player) purchases() (n int) {
	for _, e := range p.peer.Effects {
		if _, ok := boughtNews.Decode(p.match.Game, e.Event); ok {
			n++
		}
	}
	return n
}

func (p *player) display(now time.Duration) {
	p.peer.Frame(now)
	p.heldAt = p.present
	p.Answers(func(a Answer) {
		a.Command.Order = append([]byte(nil), a.Command.Order...)
		p.answers = append(p.answers, a)
	})
	previous, current, confirmed, alpha := p.View(now)
	if alpha < 0 || alpha >= 1 || confirmed.Tick() != current.Tick() || previous.Tick() > current.Tick() {
		p.match.T.Fatalf("client %d shows %d → %d at %v, confirmed %d", p.peer.ID, previous.Tick(), current.Tick(), alpha, confirmed.Tick())
	}
	p.compare(previous, false)
	p.compare(current, true)
	if p.onFrame != nil {
		p.onFrame(p, current, now)
	}
}

// compare compares a state that the client shows with the server's state of that tick.
func (p *player) compare(s *image.Snapshot, current bool) {
	m, f := p.match, s.Tick()
	if want, known := m.Tick(f); known && f != p.wrong && s.Checksum() != want.Sum {
		m.T.Fatalf("client %d shows tick %d with checksum %x, the server has %x", p.peer.ID, f, s.Checksum(), want.Sum)
	}
	if !current || f == p.shown {
		return
	}
	if f < p.shown {
		m.T.Fatalf("client %d shows tick %d after tick %d", p.peer.ID, f, p.shown)
	}
	p.checked++
	p.shown = f
}

// orders returns the game's orders, as they were executed.
func (m *match) orders() (list []image.Order) {
	for _, t := range m.Ticks {
		for _, o := range t.Orders {
			if o.Kind == image.OrderGame {
				list = append(list, o)
			}
		}
	}
	return list
}

// events returns the events of all ticks, in order.
func (m *match) events() (list []image.EventKey) {
	for _, t := range m.Ticks {
		list = append(list, t.Events...)
	}
	return list
}

func round(rtt time.Duration) simnet.Profile {
	return simnet.Symmetric("round", "round", simnet.Path{Delay: rtt / 2})
}

// four adds four players at random.
func (m *match) four(path simnet.Profile) {
	for s := range 4 {
		m.join(path, simnet.Clock{Offset: time.Duration(s) * time.Second, DriftPPM: int64(s*40 - 60)}, s, 60, time.Duration(s)*3*ms, wander(uint64(s)+1))
	}
}

// wantSound fails the test unless many states were shown, each of them the server's, without corrections, snaps, resyncs
// and refused messages, and the state kept changing.
func (m *match) wantSound(least int) {
	m.T.Helper()
	for _, c := range m.clients {
		s := c.Stats()
		if c.checked < least {
			m.T.Errorf("client %d has shown only %d states: %+v", c.peer.ID, c.checked, s)
		}
		if s.Corrections+s.Snaps+s.Rollbacks+c.refused > 0 || len(c.peer.Flagged) > 0 || m.server.PeerStats(c.peer.ID).Desyncs > 0 {
			m.T.Errorf("client %d: flagged at %v, %d refused, %+v", c.peer.ID, c.peer.Flagged, c.refused, s)
		}
	}
	m.WantChange()
}

// wantEvents fails the test unless a client received every event since its image, once and in the server's order.
func (p *player) wantEvents(least int) {
	m := p.match
	m.T.Helper()
	var want []image.EventKey
	got := p.peer.Effects
	for len(got) > 0 && p.peer.Loads > 1 && got[0].Event.Key.Tick <= p.peer.Image {
		got = got[1:]
	}
	for _, key := range m.events() {
		if key.Tick > p.peer.Image && key.Tick <= p.heldAt {
			want = append(want, key)
		}
	}
	if len(got) != len(want) || len(want) < least {
		m.T.Errorf("client %d received %d events of %d", p.peer.ID, len(got), len(want))
		return
	}
	for i, e := range got {
		if e.Event.Key != want[i] || e.Status != ecs.EffectConfirmed || !e.First {
			m.T.Errorf("client %d: event %d is %+v, want %+v", p.peer.ID, i, e, want[i])
			return
		}
	}
}

// loop is a Loop of verify's halves.
type loop struct {
	*halves.Loop
	server  *Server
	clients []*Client
}

// newLoop returns a loop of players with a delay of way ticks in each direction.
func newLoop(t testing.TB, game *ecs.Game, limits Config, players, way int, input func(seat, tick int) pad) *loop {
	t.Helper()
	l := &loop{Loop: halves.NewLoop(t, halves.Config{Game: game, Strategy: New(limits), Seed: 1}, way, way)}
	l.server = l.Server.Server.(*Server)
	l.AddPlayers(players, func(seat, tick int) ecs.InputBytes { return padInput.Pack(input(seat, tick)) })
	for _, p := range l.Peers {
		c := p.Half.(*Client)
		l.clients = append(l.clients, c)
		p.Display = func(now time.Duration) {
			p.Frame(now)
			c.View(now)
			c.Answers(ignoreAnswer)
		}
	}
	return l
}

func ignoreAnswer(Answer) {}
