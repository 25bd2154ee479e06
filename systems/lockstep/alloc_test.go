package lockstep

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// loop is a server and clients with a fixed way between them, in ticks, and nothing that allocates: for counting
// allocations and nanoseconds.
type loop struct {
	server  *Server
	clients []*Client
	way     int // ticks, each way
	tick    int
	up      []lane // by client
	down    []lane
	pads    func(seat, tick int) pad
	bytes   int // sent to clients
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

func newLoop(t testing.TB, c Config, game *ecs.Game, players, way int, pads func(seat, tick int) pad) *loop {
	l := &loop{way: way, up: make([]lane, players), down: make([]lane, players), pads: pads, length: systems.Second / systems.Time(game.TickRate)}
	s := New(c)
	half, err := s.NewServer(systems.ServerConfig{World: newWorld(t, game, 1), Peers: players})
	if err != nil {
		t.Fatal(err)
	}
	l.server = half.(*Server)
	for seat := range players {
		half, err := s.NewClient(systems.ClientConfig{World: newWorld(t, game, 1), Seat: seat, Params: s.Params})
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
			if err := l.server.Receive(systems.Peer(id), ch, message, now, l); err != nil {
				panic(err)
			}
		})
	}
	if l.server.Hold(now) {
		return
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
	c.Effects(ignore)
}

func ignore(systems.Effect) {}

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

// Nothing is allocated in a tick, on the server or on a client, operations included, whichever way frames go.
func TestATickAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			c := way.config
			c.Backlog = 40 << 10 // so that the log is as full as it gets
			l := newLoop(t, c, testGame(60), 2, 3, zigzag)
			for range 3000 {
				l.step()
			}
			if n := testing.AllocsPerRun(600, l.step); n != 0 {
				t.Errorf("%v allocations in a tick", n)
			}
			for _, c := range l.clients {
				if s := c.Stats(); !c.Live() || s.Present < 3000 || s.Stalls > 60 {
					t.Errorf("%+v", s)
				}
			}
			if st := l.server.PeerStats(0); st.Checked < 20 || st.Desyncs > 0 || st.Refused > 0 {
				t.Errorf("%+v", st)
			}
			if l.server.log.bytes > 64<<10 {
				t.Errorf("the log has %d bytes", l.server.log.bytes)
			}
		})
	}
}
