package halves

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// Loop is a server half and client halves with fixed delays in ticks. Each frame of a client is one tick. Once it is warm
// it does not allocate.
type Loop struct {
	Server  systems.FullServer
	Clients []systems.Client
	Tick    int           // frames so far
	Length  time.Duration // of a tick
	LoopConfig
	DownBytes, UpBytes int // sent so far

	up, down []lane                 // by seat
	outs     []systems.Outbox       // made once, as effects
	effects  []func(systems.Effect) // made once, since a closure per frame would be an allocation
}

// LoopConfig describes a Loop.
type LoopConfig struct {
	Game     *ecs.Game
	Strategy systems.Strategy
	// Up and Down are the delays, in ticks, below 64.
	Up, Down int
	// Lead is how many ticks later than they run the server's ticks are due.
	Lead int
	// Input returns a player's input of a frame.
	Input func(seat, tick int) ecs.InputBytes
	// Effect receives the effects of each client. Optional.
	Effect func(seat int, e systems.Effect)
	// Shown runs after each frame of a client. Optional.
	Shown func(seat int)
	// Delays returns by how many ticks each copy of a message is late: none for a lost message. nil: one copy, in time.
	Delays func(toClient bool, seat int, ch systems.Channel, message []byte) []int
	// Refused receives the error of a message that a half refused; nil: a refused message is a panic.
	Refused func(err error)
	// Offset is how far a client's clock is ahead of the server's. Optional.
	Offset func(seat int) time.Duration
}

// slots is the number of frames for which messages are in flight.
const slots = 128

// lane holds the messages in flight, by the frame of their arrival.
type lane [slots]parcel

type parcel struct {
	data  []byte
	ends  []int
	chans []systems.Channel
}

func (p *parcel) add(ch systems.Channel, message []byte) {
	p.data = append(p.data, message...)
	p.ends, p.chans = append(p.ends, len(p.data)), append(p.chans, ch)
}

// all yields the messages and drops them.
func (p *parcel) all(yield func(ch systems.Channel, message []byte) bool) {
	from := 0
	for i, end := range p.ends {
		if !yield(p.chans[i], p.data[from:end]) {
			break
		}
		from = end
	}
	p.clear()
}

func (p *parcel) clear() { p.data, p.ends, p.chans = p.data[:0], p.ends[:0], p.chans[:0] }

// NewLoop returns a loop of a server half, without clients.
func NewLoop(c LoopConfig, s systems.Server) *Loop {
	return &Loop{Server: systems.Full(s), LoopConfig: c, Length: time.Second / time.Duration(c.Game.TickRate)}
}

// NewPlayers returns a loop whose players have joined before the first tick. change changes the server's Config, or is nil.
func NewPlayers(t testing.TB, c LoopConfig, players int, change func(*systems.ServerConfig)) *Loop {
	t.Helper()
	sc := systems.ServerConfig{World: NewWorld(t, c.Game, 1), Peers: players}
	if change != nil {
		change(&sc)
	}
	half, err := c.Strategy.NewServer(sc)
	if err != nil {
		t.Fatal(err)
	}
	l := NewLoop(c, half)
	for seat := range players {
		l.Add(t, systems.ClientConfig{World: NewWorld(t, c.Game, 1), Seat: seat})
		l.Clients[seat].Load(l.Local(seat), 0, time.Duration(c.Up+c.Down)*l.Length)
		l.Server.Open(systems.Peer(seat), seat, 0, 0, l)
		l.Server.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(seat)}, l)
	}
	return l
}

// Add adds a client half, which is not loaded and not open.
func (l *Loop) Add(t testing.TB, c systems.ClientConfig) systems.Client {
	t.Helper()
	if c.Params == nil {
		c.Params = l.Strategy.Params
	}
	half, err := l.Strategy.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	l.AddHalf(half)
	return half
}

// AddHalf adds a client half that exists.
func (l *Loop) AddHalf(half systems.Client) {
	seat := len(l.Clients)
	l.outs = append(l.outs, Outbox(func(_ systems.Peer, ch systems.Channel, message []byte) {
		l.UpBytes += len(message)
		l.carry(&l.up[seat], l.Up, false, seat, ch, message)
	}))
	l.effects = append(l.effects, func(e systems.Effect) {
		if l.Effect != nil {
			l.Effect(seat, e)
		}
	})
	l.Clients, l.up, l.down = append(l.Clients, half), append(l.up, lane{}), append(l.down, lane{})
}

// Now returns the server's time.
func (l *Loop) Now() time.Duration { return time.Duration(l.Tick) * l.Length }

// Local returns the time on a client's clock.
func (l *Loop) Local(seat int) time.Duration {
	if l.Offset == nil {
		return l.Now()
	}
	return l.Now() + l.Offset(seat)
}

// Send makes the loop the server's outbox.
func (l *Loop) Send(to systems.Peer, ch systems.Channel, message []byte) {
	l.DownBytes += len(message)
	l.carry(&l.down[to], l.Down, true, int(to), ch, message)
}

// ToServer returns the outbox of a client.
func (l *Loop) ToServer(seat int) systems.Outbox { return l.outs[seat] }

func (l *Loop) carry(to *lane, delay int, toClient bool, seat int, ch systems.Channel, message []byte) {
	if l.Delays == nil {
		to[(l.Tick+delay)%slots].add(ch, message)
		return
	}
	for _, late := range l.Delays(toClient, seat, ch, message) {
		to[(l.Tick+delay+late)%slots].add(ch, message)
	}
}

// Step runs one frame: the server's tick, then the frames of the clients.
func (l *Loop) Step() {
	l.Tick++
	l.Serve()
	for seat := range l.Clients {
		l.Deliver(seat)
		l.Frame(seat)
	}
}

// Run runs frames.
func (l *Loop) Run(frames int) {
	for range frames {
		l.Step()
	}
}

func (l *Loop) check(err error) {
	if err != nil && l.Refused == nil {
		panic(err)
	}
	if err != nil {
		l.Refused(err)
	}
}

// Serve runs the server's part of a frame.
func (l *Loop) Serve() {
	now := l.Now()
	for id := range l.up {
		for ch, message := range l.up[id][l.Tick%slots].all {
			l.check(l.Server.Receive(systems.Peer(id), ch, message, now, l))
		}
	}
	if l.Server.Hold(now) {
		return
	}
	l.Server.Tick(now + time.Duration(l.Lead)*l.Length)
	l.Server.Send(now, l)
}

// Deliver passes the messages that have arrived to a client.
func (l *Loop) Deliver(seat int) {
	for ch, message := range l.down[seat][l.Tick%slots].all {
		l.check(l.Clients[seat].Receive(ch, message, l.Local(seat)))
	}
}

// Discard drops the messages that have arrived for a client.
func (l *Loop) Discard(seat int) { l.down[seat][l.Tick%slots].clear() }

// DropAll drops all messages in flight.
func (l *Loop) DropAll() {
	for seat := range l.up {
		l.Drop(seat)
	}
}

// Drop drops the messages in flight from and to a client.
func (l *Loop) Drop(seat int) { l.up[seat], l.down[seat] = lane{}, lane{} }

// Frame runs a client's frame.
func (l *Loop) Frame(seat int) {
	c, now := l.Clients[seat], l.Local(seat)
	c.SetInput(l.Input(seat, l.Tick))
	c.Frame(now)
	c.Send(now, l.outs[seat])
	c.Effects(l.effects[seat])
	if l.Shown != nil {
		l.Shown(seat)
	}
}
