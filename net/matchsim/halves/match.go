package halves

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/link"
	"tendon/net/matchsim"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/systems"
)

// Match is a server half and client halves on a simulated network. It fails its test where a half refuses a message or a
// datagram is too large. It belongs to one goroutine.
type Match struct {
	T      testing.TB
	Net    *simnet.Network
	Server systems.FullServer
	Node   simnet.NodeID // of the server
	Peers  []*Peer
	Config

	Ticks     []Tick // from tick 0, which is empty
	Decisions []systems.Decision
	Held      int // frames in which a tick that was due had to wait
	Up, Down  matchsim.Sent
	Hooks
	Conditions

	members  image.PlayerSet // players whose join was stamped
	owed     []time.Duration // due times of ticks that wait for the end of a hitch
	byHand   bool            // the match is a Loop's
	kept     []ecs.Tick      // scratch
	scratch  []byte          // a message with the number of its connection
	desynced func(systems.Peer)
}

// Hooks are functions of a test, each optional.
type Hooks struct {
	// OnDown and OnUp receive each message when it is sent down, and when it arrives at the server.
	OnDown, OnUp func(p *Peer, ch systems.Channel, message []byte)
	// OnTick receives each final tick.
	OnTick func(systems.FinalTick)
	// Lost reports whether a message is not sent.
	Lost func(toClient bool, seat int, ch systems.Channel, message []byte) bool
}

// Conditions of a match may change while it runs.
type Conditions struct {
	Hostile  bool // refused messages do not fail the test
	Hitch    bool // the server does not run; its ticks wait
	Reliable bool // datagrams too are carried by the reliable channel
	NoRTT    bool // clients load without a measured round trip
}

// Tick is one final tick of the server.
type Tick struct {
	rollback.FinalTick
	Sum    image.Checksum   // 0 where the server did not save the state
	Events []image.EventKey // where the server computed the tick
}

// Config describes a Match.
type Config struct {
	Game     *ecs.Game
	Strategy systems.Strategy
	Seed     uint64
	// Lead is how many ticks later than they run the server's ticks are due.
	Lead int
	// Change changes the server's Config before the half is made. Optional.
	Change func(*systems.ServerConfig)
}

// New returns a match without clients. Tick f of the server is due at f/TickRate.
func New(t testing.TB, c Config) *Match {
	t.Helper()
	m := newMatch(t, c, false)
	m.Net.Every(m.Node, 0, c.Game.TickRate, func(k int64, now time.Duration) {
		if k > 0 {
			m.serve(now)
		}
	})
	return m
}

func newMatch(t testing.TB, c Config, byHand bool) *Match {
	m := &Match{T: t, Config: c, Net: simnet.New(simnet.Config{Seed: c.Seed, ReliableQueue: 1 << 16}), Ticks: make([]Tick, 1), byHand: byHand}
	sc := systems.ServerConfig{World: NewWorld(t, c.Game, c.Seed), Peers: 16, Decided: func(d systems.Decision) {
		d.Result, d.Votes = slices.Clone(d.Result), slices.Clone(d.Votes)
		m.Decisions = append(m.Decisions, d)
	}}
	if !byHand {
		sc.Taken = m.record
	}
	if c.Change != nil {
		c.Change(&sc)
	}
	m.Server = systems.Full(Must(c.Strategy.NewServer(sc)))
	m.Node = m.Net.AddNode(simnet.Clock{})
	m.Net.OnMessage(m.Node, m.atServer)
	m.desynced = m.resync
	return m
}

// NewWorld returns a world of a game, or fails the test.
func NewWorld(t testing.TB, game *ecs.Game, seed uint64) *ecs.World {
	t.Helper()
	w, err := ecs.NewWorld(game, seed)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Must returns v. It panics if err is not nil.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Image returns the encoded image of a world.
func Image(w *ecs.World) []byte {
	var s image.Snapshot
	w.Image().Save(&s)
	defer s.Release()
	return s.AppendImage(nil)
}

// Profile returns a standard network profile, or fails the test.
func Profile(t testing.TB, name string) simnet.Profile {
	t.Helper()
	p, ok := simnet.ByName(name)
	if !ok {
		t.Fatalf("no profile %s", name)
	}
	return p
}

// serve runs the ticks that are due.
func (m *Match) serve(now time.Duration) {
	m.owed = append(m.owed, now)
	if m.Hitch {
		return
	}
	for _, due := range m.owed {
		if m.Server.Hold(now) {
			m.Held++
			break // the grid waits too
		}
		m.keepStates()
		m.Server.Tick(due + m.ticks(m.Lead))
	}
	m.owed = m.owed[:0]
	m.Server.Desynced(m.desynced)
	m.Server.Send(now, m)
}

// keepStates passes the server the ticks of the states with which peers will be opened, as a room does.
func (m *Match) keepStates() {
	m.kept = m.kept[:0]
	for _, p := range m.Peers {
		if p.keeps != nil {
			m.kept = append(m.kept, *p.keeps)
		}
	}
	m.Server.Keep(m.kept)
}

// ticks returns the length of n ticks.
func (m *Match) ticks(n int) time.Duration {
	return time.Duration(n) * (time.Second / time.Duration(m.Game.TickRate))
}

// Seat stamps the join of a player who has not joined yet.
func (m *Match) Seat(p ecs.Player) {
	if !m.members.Has(p) {
		m.members |= 1 << p
		m.Server.Stamp(image.Order{Kind: image.OrderJoin, Player: p}, m)
	}
}

// Clone returns a copy of a final tick, which stays valid.
func Clone(f systems.FinalTick) rollback.FinalTick {
	t := rollback.FinalTick{Tick: f.Tick, Inputs: slices.Clone(f.Inputs), Late: f.Late}
	for _, o := range f.Orders {
		o.Payload = slices.Clone(o.Payload)
		t.Orders = append(t.Orders, o)
	}
	return t
}

func (m *Match) record(f systems.FinalTick) {
	t := Tick{FinalTick: Clone(f)}
	if f.State != nil && f.State.Tick() == f.Tick {
		t.Sum = f.State.Checksum()
	}
	if f.World != nil && f.World.Tick() == f.Tick {
		for _, e := range f.World.Events() {
			t.Events = append(t.Events, e.Key)
		}
	}
	if int(f.Tick) != len(m.Ticks) {
		m.T.Fatalf("tick %d is final after tick %d", f.Tick, len(m.Ticks)-1)
	}
	m.Ticks = append(m.Ticks, t)
	if m.OnTick != nil {
		m.OnTick(f)
	}
}

// Tick returns what was recorded of a tick. ok is false for a tick that is not final yet.
func (m *Match) Tick(f ecs.Tick) (t *Tick, ok bool) {
	if ok = f > 0 && int(f) < len(m.Ticks); !ok {
		f = 0
	}
	return &m.Ticks[f], ok
}

// WantChange fails the test unless the state changed in nearly every tick: a run in which it does not proves nothing.
func (m *Match) WantChange() {
	m.T.Helper()
	different, known := map[image.Checksum]bool{}, 0
	for _, t := range m.Ticks[1:] {
		if t.Sum != 0 {
			different[t.Sum] = true
			known++
		}
	}
	if len(different) < known*9/10 {
		m.T.Errorf("the run proves nothing: %d checksums in %d ticks", len(different), known)
	}
}

// Outbox sends messages with a function.
type Outbox func(to systems.Peer, ch systems.Channel, message []byte)

// Send calls the function.
func (o Outbox) Send(to systems.Peer, ch systems.Channel, message []byte) { o(to, ch, message) }

// Ready reports true.
func (o Outbox) Ready(systems.Peer) bool { return true }

// Room returns that of an idle link.
func (o Outbox) Room(systems.Peer) int { return link.QueueBytes }

// Discard is an outbox that drops every message.
var Discard Outbox = func(systems.Peer, systems.Channel, []byte) {}

// Ready reports true: the simulated network has no congestion control.
func (m *Match) Ready(systems.Peer) bool { return true }

// Room returns that of an idle link.
func (m *Match) Room(systems.Peer) int { return link.QueueBytes }

// Send makes the match the server's outbox.
func (m *Match) Send(to systems.Peer, ch systems.Channel, message []byte) {
	p := m.Peers[to]
	m.Down.Add(m.Net.Now(), ch, message)
	if m.OnDown != nil {
		m.OnDown(p, ch, message)
	}
	m.send(p, true, ch, message)
}

// send sends a message with the number of its connection.
func (m *Match) send(p *Peer, toClient bool, ch systems.Channel, message []byte) {
	if ch == systems.Datagram && len(message) > systems.MaxDatagram {
		m.T.Errorf("a datagram of %d bytes", len(message))
	}
	from, to, run := p.Node, m.Node, p.Run
	if toClient {
		from, to, run = m.Node, p.Node, p.Served
	}
	if m.Lost != nil && m.Lost(toClient, int(p.ID), ch, message) {
		return
	}
	if m.Reliable {
		ch = systems.Reliable
	}
	m.scratch = append(append(m.scratch[:0], run), message...)
	if err := m.Net.Send(from, to, ch, m.scratch); err != nil && (ch == systems.Reliable || !errors.Is(err, simnet.ErrFull)) {
		m.T.Errorf("at %v: node %d sends to node %d: %v", m.Net.Now(), from, to, err)
	}
}

func (m *Match) atServer(from simnet.NodeID, ch systems.Channel, payload []byte, now time.Duration) {
	p := m.Peers[from-1]
	if payload[0] == p.Run && len(payload) == 10 && payload[1] == kindReady {
		p.OpenNow(ecs.Tick(binary.LittleEndian.Uint64(payload[2:])))
		return
	}
	if payload[0] != p.Served || p.Served == 0 {
		return // of another connection
	}
	if m.OnUp != nil {
		m.OnUp(p, ch, payload[1:])
	}
	m.check(m.Server.Receive(p.ID, ch, payload[1:], now, m))
}

// check fails the test if a half refused a message, unless the match is Hostile.
func (m *Match) check(err error) {
	if err != nil && !m.Hostile {
		m.T.Errorf("at %v: a message was refused: %v", m.Net.Now(), err)
	}
}
