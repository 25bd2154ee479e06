package halves

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/systems"
)

// Match is a server half and client halves on a simulated network. It fails its test where a half refuses a message or a
// datagram is too large. It belongs to one goroutine.
type Match struct {
	T       testing.TB
	Net     *simnet.Network
	Game    *ecs.Game
	Server  systems.FullServer
	Node    simnet.NodeID // of the server
	Peers   []*Peer
	Members image.PlayerSet // players whose join was stamped
	Trace
	Faults

	strategy systems.Strategy
	owed     []time.Duration // due times of ticks that wait for the end of a hitch
}

// Trace is what a Match has recorded.
type Trace struct {
	Ticks     []Tick // from tick 0, which is empty
	Decisions []systems.Decision
	Held      int // frames in which a tick that was due had to wait
	Refused   int // messages that a half refused
	Down      Traffic
	Up        Traffic
	// OnDown and OnUp receive each message when it is sent down, and when it arrives at the server. Optional.
	OnDown, OnUp func(p *Peer, ch systems.Channel, message []byte)
	// OnTick receives each final tick. Optional.
	OnTick func(systems.FinalTick)
}

// Faults are the conditions that a test can change while a Match runs.
type Faults struct {
	Hostile  bool // refused messages do not fail the test
	Hitch    bool // the server does not run; its ticks wait
	Reliable bool // datagrams too are carried by the reliable channel
	NoRTT    bool // clients load without a measured round trip
}

// Tick is one final tick of the server.
type Tick struct {
	Sum    image.Checksum // 0 where the server did not save the state
	Inputs []ecs.InputBytes
	Late   image.PlayerSet
	Orders []image.Order
	Events []image.EventKey // where the server computed the tick
	At     time.Duration
}

// Traffic counts messages of one direction.
type Traffic struct {
	Bytes    int
	Largest  int // bytes
	Reliable int // messages on the reliable channel
}

func (t *Traffic) add(ch systems.Channel, message []byte) {
	t.Bytes += len(message)
	t.Largest = max(t.Largest, len(message))
	if ch == systems.Reliable {
		t.Reliable++
	}
}

// Config describes a Match.
type Config struct {
	Game     *ecs.Game
	Strategy systems.Strategy
	Seed     uint64
	// Server changes the server's Config before the half is made. Optional.
	Server func(*systems.ServerConfig)
}

// New returns a match without clients. Tick f of the server is due at f/TickRate.
func New(t testing.TB, c Config) *Match {
	t.Helper()
	m := &Match{T: t, Game: c.Game, strategy: c.Strategy, Net: simnet.New(simnet.Config{Seed: c.Seed, ReliableQueue: 1 << 16}), Trace: Trace{Ticks: make([]Tick, 1)}}
	m.Server = m.NewServer(NewWorld(t, c.Game, c.Seed), c.Server)
	m.Node = m.Net.AddNode(simnet.Clock{})
	m.Net.OnMessage(m.Node, m.atServer)
	m.Net.Every(m.Node, 0, c.Game.TickRate, func(k int64, now time.Duration) {
		if k > 0 {
			m.serve(now)
		}
	})
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

// NewServer returns a server half with a world, whose ticks the match records.
func (m *Match) NewServer(w *ecs.World, change func(*systems.ServerConfig)) systems.FullServer {
	c := systems.ServerConfig{World: w, Peers: 16, Taken: m.record, Decided: func(d systems.Decision) {
		d.Result, d.Votes = slices.Clone(d.Result), slices.Clone(d.Votes)
		m.Decisions = append(m.Decisions, d)
	}}
	if change != nil {
		change(&c)
	}
	half, err := m.strategy.NewServer(c)
	if err != nil {
		m.T.Fatal(err)
	}
	return systems.Full(half)
}

// serve runs the ticks that are due.
func (m *Match) serve(now time.Duration) {
	if m.owed = append(m.owed, now); m.Hitch {
		return
	}
	for _, due := range m.owed {
		if m.Server.Hold(now) {
			m.Held++
			break // the grid waits too
		}
		m.Server.Tick(due)
	}
	m.owed = m.owed[:0]
	m.Server.Desynced(m.resync)
	m.Server.Send(now, m.ToClients())
}

func (m *Match) record(f systems.FinalTick) {
	t := Tick{Inputs: slices.Clone(f.Inputs), Late: f.Late, At: m.Net.Now()}
	if f.State != nil && f.State.Tick() == f.Tick {
		t.Sum = f.State.Checksum()
	}
	for _, o := range f.Orders {
		o.Payload = slices.Clone(o.Payload)
		t.Orders = append(t.Orders, o)
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

// Discard is an outbox that drops every message.
var Discard Outbox = func(systems.Peer, systems.Channel, []byte) {}

// ToClients returns the server's outbox.
func (m *Match) ToClients() systems.Outbox {
	return Outbox(func(to systems.Peer, ch systems.Channel, message []byte) {
		p := m.Peers[to]
		m.Down.add(ch, message)
		p.Bytes += len(message)
		if m.OnDown != nil {
			m.OnDown(p, ch, message)
		}
		m.send(m.Node, p.Node, ch, p.served, message)
	})
}

// ToServer returns the outbox of a client.
func (m *Match) ToServer(p *Peer) systems.Outbox {
	return Outbox(func(_ systems.Peer, ch systems.Channel, message []byte) {
		for range 1 + p.Copies {
			m.Up.add(ch, message)
			m.send(p.Node, m.Node, ch, p.Run, message)
		}
	})
}

// send sends a message with the number of its connection.
func (m *Match) send(from, to simnet.NodeID, ch systems.Channel, run byte, message []byte) {
	if ch == systems.Datagram && len(message) > systems.MaxDatagram {
		m.T.Errorf("a datagram of %d bytes", len(message))
	}
	if m.Reliable {
		ch = systems.Reliable
	}
	if err := m.Net.Send(from, to, ch, append([]byte{run}, message...)); err != nil && (err != simnet.ErrFull || ch == systems.Reliable) {
		m.T.Errorf("at %v: node %d sends to node %d: %v", m.Net.Now(), from, to, err)
	}
}

func (m *Match) atServer(from simnet.NodeID, ch systems.Channel, payload []byte, now time.Duration) {
	p := m.Peers[from-1]
	if len(payload) == 10 && payload[1] == kindReady {
		if payload[0] == p.Run {
			p.OpenNow(ecs.Tick(binary.LittleEndian.Uint64(payload[2:])))
		}
		return
	}
	if payload[0] != p.served || p.served == 0 {
		return // of another connection
	}
	if m.OnUp != nil {
		m.OnUp(p, ch, payload[1:])
	}
	m.Check(m.Server.Receive(p.ID, ch, payload[1:], now, m.ToClients()))
}

// Check counts a message that a half refused, and fails the test unless the match is Hostile.
func (m *Match) Check(err error) {
	if err == nil {
		return
	}
	if m.Refused++; !m.Hostile {
		m.T.Errorf("at %v: a message was refused: %v", m.Net.Now(), err)
	}
}
