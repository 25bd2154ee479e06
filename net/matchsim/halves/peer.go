package halves

import (
	"cmp"
	"encoding/binary"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/systems"
)

// Peer is a client half in a Match.
type Peer struct {
	Half  systems.Client
	World *ecs.World
	ID    systems.Peer
	Node  simnet.NodeID
	Plan
	Log

	Off    bool // its display does not run
	Faulty bool // the test changed its state, and no image has replaced it yet
	Copies int  // of each message to the server, beside the first
	Run    byte // number of its connection; 0: it has no state

	match  *Match
	served byte // the connection that the server serves; 0: none
	images int  // sent or cancelled
}

// Log is what a Match has recorded of a peer.
type Log struct {
	Frames  int
	Loads   int
	Image   ecs.Tick        // of the last image that it loaded
	Flagged []time.Duration // when the server found its state to differ
	Found   []image.Difference
	Effects []systems.Effect
	Removed bool // the server expelled it
	Bytes   int  // that the server sent to it
}

// Plan describes a client. Zero values stand for defaults where a field names one.
type Plan struct {
	Path  simnet.Profile
	Clock simnet.Clock
	// Config is the half's Config. The match sets World and, if it is nil, Params.
	Config systems.ClientConfig
	// Strategy makes the half; the zero Strategy is the match's.
	Strategy systems.Strategy
	// Game is the client's; nil: the server's.
	Game *ecs.Game
	// Hz is the number of frames per second; 0: one per tick.
	Hz int
	// FromOpen starts the display Phase after the peer is first opened. Otherwise it starts when the client's clock shows
	// Phase.
	FromOpen bool
	Phase    time.Duration
	// Busy reports that a frame is skipped. Optional.
	Busy func() bool
	// Input returns the input of a frame. Optional.
	Input func(frame int) ecs.InputBytes
	// Effect receives each effect, beside Log.Effects. Optional.
	Effect func(systems.Effect)
	// Before, Between and After run before Frame, between Frame and Send, and after both. Optional.
	Before, Between, After func(now time.Duration)
	// Receive replaces the half's Receive. Optional.
	Receive func(ch systems.Channel, message []byte, now time.Duration) error
}

// Add adds a client without a state.
func (m *Match) Add(plan Plan) *Peer {
	m.T.Helper()
	p := &Peer{Plan: plan, match: m, ID: systems.Peer(len(m.Peers))}
	p.Node = m.Net.AddNode(p.Clock)
	m.Peers = append(m.Peers, p)
	if p.Strategy.NewClient == nil {
		p.Strategy = m.strategy
	}
	if p.Config.Params == nil {
		p.Config.Params = m.strategy.Params
	}
	p.Game, p.Hz = cmp.Or(p.Game, m.Game), cmp.Or(p.Hz, m.Game.TickRate)
	p.Restart()
	if err := m.Net.Connect(p.Node, m.Node, p.Path); err != nil {
		m.T.Fatal(err)
	}
	m.Net.OnMessage(p.Node, func(_ simnet.NodeID, ch systems.Channel, payload []byte, now time.Duration) {
		if payload[0] != p.Run || p.Run == 0 {
			return // of another connection
		}
		receive := p.Half.Receive
		if p.Receive != nil {
			receive = p.Receive
		}
		m.Check(receive(ch, payload[1:], now))
	})
	if !p.FromOpen {
		p.display(p.Phase)
	}
	return p
}

// Join adds a client and sends it an image.
func (m *Match) Join(plan Plan) *Peer {
	p := m.Add(plan)
	p.SendImage(0)
	return p
}

func (p *Peer) display(epoch time.Duration) {
	p.match.Net.Every(p.Node, epoch, p.Hz, func(_ int64, now time.Duration) { p.frame(now) })
}

// Restart replaces the client's process by one without a state.
func (p *Peer) Restart() {
	m := p.match
	p.Config.World = NewWorld(m.T, p.Game, 99)
	half, err := p.Strategy.NewClient(p.Config)
	if err != nil {
		m.T.Fatal(err)
	}
	p.Half, p.World, p.Run = half, p.Config.World, 0
}

// SendImage sends an image of the server's present state, which arrives after the way down and extra. The client then
// loads it and is opened.
func (p *Peer) SendImage(extra time.Duration) {
	m := p.match
	encoded, serverTick := Image(m.Server.World()), m.Server.Done()
	p.images++
	number := p.images
	m.Net.At(m.Net.Now()+p.Path.Down.Delay+extra, func() {
		if number != p.images {
			return // its connection has ended, or another image follows
		}
		if k, ok := p.Half.(systems.Keeper); ok && p.Run > 0 {
			p.compare(encoded, k)
		}
		if err := p.World.Image().Load(encoded); err != nil {
			m.T.Fatal(err)
		}
		p.Faulty, p.Image = false, p.World.Tick()
		p.Load(serverTick)
		p.Open()
	})
}

// compare adds the first difference between an image and the client's own state of its tick to Found.
func (p *Peer) compare(encoded []byte, k systems.Keeper) {
	w := NewWorld(p.match.T, p.Game, 0)
	if err := w.Image().Load(encoded); err != nil {
		p.match.T.Fatal(err)
	}
	if mine, held := k.Kept(w.Tick()); held {
		var theirs image.Snapshot
		w.Image().Save(&theirs)
		if d, differ := image.FirstDifference(mine, &theirs); differ {
			p.Found = append(p.Found, d)
		}
	}
}

// Load makes the half take over the state of its world, and begins a new connection.
func (p *Peer) Load(serverTick ecs.Tick) {
	rtt := p.Path.Up.Delay + p.Path.Down.Delay
	if p.match.NoRTT {
		rtt = 0
	}
	p.Half.Load(p.Now(), serverTick, rtt)
	p.Run++
	p.Loads++
}

// Now returns the time on the client's clock.
func (p *Peer) Now() time.Duration { return p.match.Net.LocalNow(p.Node) }

// kindReady is the kind of the rig's own message, which opens a peer. No strategy has it.
const kindReady = 255

// Open asks the server, over the reliable channel, to open the peer with the state that it holds.
func (p *Peer) Open() {
	m := p.match
	message := binary.LittleEndian.AppendUint64([]byte{p.Run, kindReady}, uint64(p.World.Tick()))
	if err := m.Net.Send(p.Node, m.Node, systems.Reliable, message); err != nil {
		m.T.Error(err)
	}
}

// OpenNow opens the peer on the server with the state of a tick. If the tick is too old, the server sends an image instead.
// A player who is not in the match joins it.
func (p *Peer) OpenNow(have ecs.Tick) {
	m := p.match
	if have < m.Server.OldestServable() {
		p.SendImage(0)
		return
	}
	first := p.served == 0 && p.Loads == 1
	p.served = p.Run
	m.Server.Open(p.ID, p.Config.Seat, have, m.Net.Now(), m.ToClients())
	if seat := ecs.Player(p.Config.Seat); p.Config.Seat >= 0 && !m.Members.Has(seat) {
		m.Members |= 1 << seat
		m.Server.Stamp(image.Order{Kind: image.OrderJoin, Player: seat}, m.ToClients())
	}
	if p.FromOpen && first {
		p.display(p.Now() + p.Phase)
	}
}

// Served reports whether the server serves the client.
func (p *Peer) Served() bool { return p.served != 0 }

// Drop ends the client's connection on both ends. Messages in flight are lost. The client's process and its state stay.
func (p *Peer) Drop() {
	m := p.match
	m.Net.Reconnect(p.Node, m.Node)
	m.Server.Close(p.ID)
	p.served = 0
	p.images++
}

// Reconnect starts the client's display and opens the client again with the state that it holds, after a Drop.
func (p *Peer) Reconnect() {
	p.Off = false
	p.Load(p.match.Server.Done())
	p.Open()
}

// imageExtra is how much longer an image takes than a message.
const imageExtra = 100 * time.Millisecond

// resync sends an image to a peer whose state differs, or removes one that was expelled.
func (m *Match) resync(id systems.Peer) {
	p := m.Peers[id]
	p.Flagged = append(p.Flagged, m.Net.Now())
	if !m.Server.PeerStats(id).Expelled {
		p.SendImage(imageExtra)
		return
	}
	p.Off, p.Removed = true, true
	seat := ecs.Player(p.Config.Seat)
	m.Members &^= 1 << seat
	m.Server.Stamp(image.Order{Kind: image.OrderLeave, Player: seat}, m.ToClients())
	p.Drop()
}

func (p *Peer) frame(now time.Duration) {
	if p.Off || p.Run == 0 || p.Busy != nil && p.Busy() {
		return
	}
	if p.Input != nil {
		p.Half.SetInput(p.Input(p.Frames))
	}
	p.Frames++
	call(p.Before, now)
	p.Half.Frame(now)
	call(p.Between, now)
	p.Half.Send(now, p.match.ToServer(p))
	p.Half.Effects(func(e systems.Effect) {
		p.Effects = append(p.Effects, e)
		call(p.Effect, e)
	})
	call(p.After, now)
}

func call[T any](f func(T), x T) {
	if f != nil {
		f(x)
	}
}
