package verify

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// loop is a server and clients with a fixed way between them, in ticks, and nothing that allocates: for counting
// allocations and bytes, and for fuzzing.
type loop struct {
	server  *Server
	clients []*Client
	way     int // ticks, each way
	tick    int
	up      []lane // by client
	down    []lane
	pads    func(seat, tick int) pad
	bytes   int // sent to clients
	asked   int // bytes sent to the server
	length  systems.Time
}

// lane holds the messages of the last ticks, by tick.
type lane struct{ slots [16]parcel }

type parcel struct {
	data  []byte
	ends  []int
	chans []systems.Channel
}

func (p *parcel) Send(_ systems.Peer, ch systems.Channel, message []byte) {
	p.data = append(p.data, message...)
	p.ends, p.chans = append(p.ends, len(p.data)), append(p.chans, ch)
}

func (p *parcel) open(f func(ch systems.Channel, message []byte)) {
	from := 0
	for i, end := range p.ends {
		f(p.chans[i], p.data[from:end])
		from = end
	}
	p.data, p.ends, p.chans = p.data[:0], p.ends[:0], p.chans[:0]
}

// Send makes the loop the server's outbox.
func (l *loop) Send(to systems.Peer, ch systems.Channel, message []byte) {
	l.bytes += len(message)
	l.down[to].slots[(l.tick+l.way)%16].Send(to, ch, message)
}

func newLoop(t testing.TB, game *ecs.Game, limits Config, players, way int, pads func(seat, tick int) pad) *loop {
	l := &loop{way: way, up: make([]lane, players), down: make([]lane, players), pads: pads, length: systems.Second / systems.Time(game.TickRate)}
	strategy := New(limits)
	half, err := strategy.NewServer(systems.ServerConfig{World: newWorld(t, game, 1), Peers: players})
	if err != nil {
		t.Fatal(err)
	}
	l.server = half.(*Server)
	for seat := range players {
		half, err := strategy.NewClient(systems.ClientConfig{World: newWorld(t, game, 1), Seat: seat})
		if err != nil {
			t.Fatal(err)
		}
		c := half.(*Client)
		c.Load(0, 0, systems.Time(2*way)*l.length)
		l.clients = append(l.clients, c)
		l.server.Open(systems.Peer(seat), seat, 0, 0, l)
		l.server.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(seat)}, l)
	}
	return l
}

// serve runs the server's part of a tick.
func (l *loop) serve(now systems.Time) {
	for id := range l.up {
		l.up[id].slots[l.tick%16].open(func(ch systems.Channel, message []byte) {
			l.asked += len(message)
			if err := l.server.Receive(systems.Peer(id), ch, message, now, l); err != nil {
				panic(err)
			}
		})
	}
	l.server.Tick(now)
	l.server.Send(now, l)
}

// play runs a client's part of a tick.
func (l *loop) play(seat int, now systems.Time) {
	c := l.clients[seat]
	l.down[seat].slots[l.tick%16].open(func(ch systems.Channel, message []byte) {
		if err := c.Receive(ch, message, now); err != nil {
			panic(err)
		}
	})
	c.SetInput(padInput.Pack(l.pads(seat, l.tick)))
	c.Frame(now)
	c.Send(now, &l.up[seat].slots[(l.tick+l.way)%16])
	c.View(now)
	c.Effects(ignore)
	c.Answers(ignoreAnswer)
}

func ignore(systems.Effect) {}

func ignoreAnswer(Answer) {}

func (l *loop) step() {
	l.tick++
	now := systems.Time(l.tick) * l.length
	l.serve(now)
	for seat := range l.clients {
		l.play(seat, now)
	}
}

// zigzag turns often, and shoots.
func zigzag(seat, tick int) pad {
	return pad{DX: int8(tick/7%3) - 1, DY: int8((tick+seat)/5%3) - 1, Fire: (tick+seat*3)%40 == 0}
}

// Nothing is allocated in a tick, on the server or on a client, whichever way states travel.
func TestATickAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	for _, v := range []struct {
		name   string
		game   *ecs.Game
		limits Config
	}{{"datagram", testGame(60), Config{}}, {"reliable", testGame(60), Config{Reliable: true}}, {"large", crowdGame(200), Config{}}, {"pieces", crowdGame(1200), Config{History: 32}}} {
		t.Run(v.name, func(t *testing.T) {
			l := newLoop(t, v.game, v.limits, 4, 3, zigzag)
			const warm = 2500
			for range warm {
				l.step()
			}
			if n := testing.AllocsPerRun(120, l.step); n != 0 {
				t.Errorf("%v allocations in a tick", n)
			}
			for _, c := range l.clients {
				if s := c.Stats(); !c.Live() || s.Hashes < warm/20 || c.commands.next < 50 || c.Refused() > 0 {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

// What a small game costs on the wire: four players who turn eight times a second and shoot every other, at 60 Hz.
func TestASmallGameIsCheapOnTheWire(t *testing.T) {
	for _, way := range []int{1, 3, 8} {
		l := newLoop(t, testGame(60), Config{}, 4, way, zigzag)
		for range 300 {
			l.step()
		}
		l.bytes, l.asked = 0, 0
		for range 600 {
			l.step()
		}
		down, up := l.bytes/4/10, l.asked/4/10
		t.Logf("%d ticks each way: %d bytes per client and second down, %d up", way, down, up)
		if down > 60*400 || up > 60*40 || down < 600 || up < 300 {
			t.Errorf("%d down, %d up", down, up)
		}
	}
}
