package halves

import (
	"cmp"
	"encoding/binary"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/link"
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

	Off    bool // its display does not run
	Deaf   bool // messages to it are dropped
	Faulty bool // the test changed its state, and no image has replaced it yet
	Run    byte // number of its connection; 0: it has no state
	Served byte // the connection that the server serves; 0: none

	Frames  int
	Loads   int
	Image   ecs.Tick        // of the last image that it loaded
	Flagged []time.Duration // when the server found its state to differ
	Found   []image.Difference
	Effects []systems.Effect
	Removed bool // the server expelled it

	match  *Match
	images int       // sent or cancelled
	keeps  *ecs.Tick // tick of the state with which the peer will be opened. Optional
	effect func(systems.Effect)
}

// Plan describes a client. Zero values stand for defaults where a field names one.
type Plan struct {
	Path  simnet.Profile
	Clock simnet.Clock
	// Config is the half's Config. The match sets World and Params.
	Config systems.ClientConfig
	// Game is the client's; nil: the server's.
	Game *ecs.Game
	// Hz is the number of frames per second; 0: one per tick.
	Hz int
	// FromOpen starts the display Phase after the peer is first opened. Otherwise it starts when the client's clock shows
	// Phase.
	FromOpen bool
	Phase    time.Duration
	// Input returns the input of a frame. Optional.
	Input func(frame int) ecs.InputBytes
	// Display replaces the call of Frame. Optional.
	Display func(now time.Duration)
	// Between runs between the Frame and the Send of the half. Optional.
	Between func(now time.Duration)
	// Receive replaces the half's Receive. Optional.
	Receive func(ch systems.Channel, message []byte, now time.Duration) error
}

// Add adds a client without a state.
func (m *Match) Add(plan Plan) *Peer {
	m.T.Helper()
	p := &Peer{Plan: plan, match: m, ID: systems.Peer(len(m.Peers)), Node: m.Net.AddNode(plan.Clock)}
	p.effect = func(e systems.Effect) { p.Effects = append(p.Effects, e) }
	m.Peers = append(m.Peers, p)
	p.Config.Params = m.Strategy.Params
	p.Game, p.Hz = cmp.Or(p.Game, m.Game), cmp.Or(p.Hz, m.Game.TickRate)
	p.Restart()
	if err := m.Net.Connect(p.Node, m.Node, p.Path); err != nil {
		m.T.Fatal(err)
	}
	m.Net.OnMessage(p.Node, p.receive)
	if !p.FromOpen && !m.byHand {
		p.start(p.Phase)
	}
	return p
}

func (p *Peer) receive(_ simnet.NodeID, ch systems.Channel, payload []byte, now time.Duration) {
	switch {
	case p.Deaf || p.Run == 0 || payload[0] != p.Run: // also of another connection
	case p.Receive != nil:
		p.match.check(p.Receive(ch, payload[1:], now))
	default:
		p.match.check(p.Half.Receive(ch, payload[1:], now))
	}
}

// Join adds a client and sends it an image.
func (m *Match) Join(plan Plan) *Peer {
	p := m.Add(plan)
	p.SendImage(0)
	return p
}

// start starts the display.
func (p *Peer) start(epoch time.Duration) {
	p.match.Net.Every(p.Node, epoch, p.Hz, func(_ int64, now time.Duration) { p.display(now) })
}

func (p *Peer) display(now time.Duration) {
	switch {
	case p.Off || p.Run == 0:
	case p.Display != nil:
		p.Display(now)
	default:
		p.Frame(now)
	}
}

// Frame runs one frame.
func (p *Peer) Frame(now time.Duration) {
	if p.Input != nil {
		p.Half.SetInput(p.Input(p.Frames))
	}
	p.Frames++
	p.Half.Frame(now)
	if p.Between != nil {
		p.Between(now)
	}
	p.Half.Send(now, p)
	p.Half.Effects(p.effect)
}

// Ready reports true: the simulated network has no congestion control.
func (p *Peer) Ready(systems.Peer) bool { return true }

// Room returns that of an idle link.
func (p *Peer) Room(systems.Peer) int { return link.QueueBytes }

// Send makes the peer the outbox of its half.
func (p *Peer) Send(_ systems.Peer, ch systems.Channel, message []byte) {
	p.match.Up.Add(p.match.Net.Now(), ch, message)
	p.match.send(p, false, ch, message)
}

// Restart replaces the client's process by one without a state.
func (p *Peer) Restart() {
	p.Config.World = NewWorld(p.match.T, p.Game, 99)
	p.Half, p.World, p.Run = Must(p.match.Strategy.NewClient(p.Config)), p.Config.World, 0
}

// SendImage sends an image of the server's present state, which arrives after the way down and extra. The client then
// loads it and is opened.
func (p *Peer) SendImage(extra time.Duration) {
	m := p.match
	encoded, tick, serverTick := Image(m.Server.World()), m.Server.World().Tick(), m.Server.Done()
	p.keeps = &tick
	p.images++
	number := p.images
	m.Net.At(m.Net.Now()+p.Path.Down.Delay+extra, func() {
		if number == p.images { // its connection goes on, and no other image follows
			p.Take(encoded)
			p.Load(serverTick)
			p.Open()
		}
	})
}

// Take gives the client's world the state of an image.
func (p *Peer) Take(encoded []byte) {
	if err := p.World.Image().Load(encoded); err != nil {
		p.match.T.Fatal(err)
	}
	p.Faulty, p.Image = false, p.World.Tick()
	p.compare()
}

// Enter gives the client the server's present state at once, and opens it.
func (p *Peer) Enter() {
	p.Take(Image(p.match.Server.World()))
	p.Load(p.match.Server.Done())
	p.OpenNow(p.Image)
}

// compare adds the first difference between an image and the client's own state of its tick to Found.
func (p *Peer) compare() {
	k, ok := p.Half.(systems.Keeper)
	if !ok || p.Run == 0 {
		return
	}
	if mine, held := k.Kept(p.Image); held {
		var theirs image.Snapshot
		p.World.Image().Save(&theirs)
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
	p.Loads++
	p.Run = byte(p.Loads)
}

// Now returns the time on the client's clock.
func (p *Peer) Now() time.Duration { return p.match.Net.LocalNow(p.Node) }

// kindReady is the kind of the harness's own message, which opens a peer. No strategy has it.
const kindReady = 255

// Open asks the server, over the reliable channel, to open the peer with the state that it holds.
func (p *Peer) Open() {
	p.match.send(p, false, systems.Reliable, binary.LittleEndian.AppendUint64([]byte{kindReady}, uint64(p.World.Tick())))
}

// OpenNow opens the peer on the server with the state of a tick. If the tick is too old, the server sends an image instead.
// A player who is not in the match joins it.
func (p *Peer) OpenNow(have ecs.Tick) {
	m := p.match
	if !m.Server.Serves(have) {
		p.SendImage(0)
		return
	}
	p.keeps = nil
	first := p.Served == 0 && p.Loads == 1
	p.Served = p.Run
	m.Server.Open(p.ID, p.Config.Seat, have, m.Net.Now(), m)
	if p.Config.Seat >= 0 {
		m.Seat(ecs.Player(p.Config.Seat))
	}
	if p.FromOpen && first {
		p.start(p.Now() + p.Phase)
	}
}

// Drop ends the client's connection on both ends. Messages in flight are lost. The client's process and its state stay.
func (p *Peer) Drop() {
	m := p.match
	m.Net.Reconnect(p.Node, m.Node)
	m.Server.Close(p.ID)
	p.Served, p.keeps = 0, nil
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
	m.members &^= 1 << seat
	m.Server.Stamp(image.Order{Kind: image.OrderLeave, Player: seat}, m)
	p.Drop()
}
