package server

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// strategies are all strategies. Every client of a test accepts them.
var strategies = []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, verify.Strategy, reckon.Strategy}

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		// Importing kcp-go starts these; link does not use them.
		err := goleak.Find(goleak.IgnoreTopFunction("github.com/xtaci/kcp-go/v5.(*TimedSched).sched"),
			goleak.IgnoreTopFunction("github.com/xtaci/kcp-go/v5.(*TimedSched).prepend"))
		if err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

// The test game: the runner of each player moves by its input, at most one step per tick.
type (
	pad    struct{ Step int8 }
	runner struct{ X, Ticks int64 }
)

var (
	padInput = ecs.NewInput[pad]()
	runners  = ecs.NewComponent("runner", ecs.Roles[runner]{Motion: runnerMotion, SetMotion: setRunnerMotion})
	seats    = ecs.NewComponent[ecs.Seat]("seat")
	running  = ecs.NewQuery2(ecs.Write(runners), ecs.Read(seats))
)

func runnerMotion(r *runner) ecs.Motion {
	return ecs.Motion{Pos: fixed.Vec3{X: fixed.FromInt(int(r.X))}}
}

func setRunnerMotion(r *runner, m ecs.Motion) { r.X = int64(m.Pos.X.Float()) }

func run(w *ecs.World) {
	for e := range running.All(w) {
		e.A.X += int64(max(-1, min(1, padInput.Of(w, e.B.Player).Step)))
		e.A.Ticks++
	}
}

const ahead = 1 << 30 // how far a runner begins ahead for each byte of data in the player's card

func raceGame(rate int) *ecs.Game {
	return &ecs.Game{Name: "race", TickRate: rate, MaxPlayers: 4, Input: padInput,
		Components: ecs.Components(runners, seats), Systems: ecs.Systems(run),
		Join: func(w *ecs.World, p ecs.Player, card ecs.Card) {
			e := w.Spawn(ecs.OwnedBy(p), runners, seats)
			runners.Put(w, e, runner{X: int64(len(card.Data)) * ahead})
			seats.Put(w, e, ecs.Seat{Player: p})
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range running.All(w) {
				if e.B.Player == p {
					w.Despawn(e.Entity())
				}
			}
		},
		Bot: func(w *ecs.World, p ecs.Player, r *ecs.Rand) ecs.InputBytes {
			return padInput.Pack(pad{Step: int8(r.IntN(3) - 1)})
		},
	}
}

// runnerOf returns the runner of a player in a world.
func runnerOf(w *ecs.World, p int) (runner, bool) {
	for e := range running.All(w) {
		if e.B.Player == ecs.Player(p) {
			return *e.A, true
		}
	}
	return runner{}, false
}

var (
	testKey    = netcode.Key{1, 2, 3}
	serverHost = netip.MustParseAddr("10.0.0.1")
	serverAddr = netip.AddrPortFrom(serverHost, 7777)
)

// world is a server and its clients on the simulated network, in virtual time.
type world struct {
	t       *testing.T
	net     *simnet.DatagramNet
	game    *ecs.Game
	server  *Server
	cancel  context.CancelFunc
	ended   chan error
	players []*player
	hosts   int
	profile simnet.Profile
}

// player is a client with its host.
type player struct {
	token []byte // the newest reconnect token
	*client.Client
	host   netip.Addr
	socket *simnet.PacketConn // the socket that was opened last, of the present connection or of an attempt
	open   []*simnet.PacketConn
	port   uint16 // of the last connection; each has another one
	err    error
}

// playerSocket is an open socket of a player.
type playerSocket struct {
	*simnet.PacketConn
	of *player
}

func (s *playerSocket) Close() error {
	s.of.open = slices.DeleteFunc(s.of.open, func(c *simnet.PacketConn) bool { return c == s.PacketConn })
	return s.PacketConn.Close()
}

// inBubble runs a test in virtual time with a server; change changes its config.
func inBubble(t *testing.T, profile string, change func(*Config), test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, ok := simnet.ByName(profile)
		if !ok {
			t.Fatalf("no profile %s", profile)
		}
		w := &world{t: t, net: simnet.NewDatagramNet(simnet.Config{Seed: 7}), game: raceGame(30), ended: make(chan error, 1), profile: p}
		w.start(change)
		test(w)
		for _, p := range w.players {
			p.Close()
		}
		w.cancel()
		if err := <-w.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		w.ended <- nil
		w.net.Close()
	})
}

// start starts a server; change changes its config.
func (w *world) start(change func(*Config)) {
	w.t.Helper()
	socket, err := w.net.Listen(serverAddr)
	if err != nil {
		w.t.Fatal(err)
	}
	c := Config{Room: room.Config{Game: w.game, Strategy: relay.Strategy}, Socket: socket, Keys: []netcode.Key{testKey}, Workers: 2}
	if change != nil {
		change(&c)
		w.game = c.Room.Game
	}
	if w.server, err = New(c); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	s, ended := w.server, w.ended
	go func() { ended <- s.Run(ctx) }()
}

// ticket returns a ticket for any seat of a room.
func (w *world) ticket(id uint64, roomName string) Ticket {
	return Ticket{ProtocolID: ProtocolID("race"), Key: testKey, ClientID: id, Addresses: []netip.AddrPort{serverAddr},
		Pass: Pass{Room: roomName, Seat: AnySeat}}
}

func (w *world) mint(t Ticket) []byte {
	w.t.Helper()
	token, err := Mint(t, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// join adds a client with a token, on a host of its own.
func (w *world) join(token []byte, change ...func(*client.DialConfig)) *player {
	w.t.Helper()
	w.hosts++
	p := &player{host: netip.AddrFrom4([4]byte{10, 1, byte(w.hosts >> 8), byte(w.hosts)})}
	if err := w.net.Route(p.host, serverHost, w.profile); err != nil {
		w.t.Fatal(err)
	}
	c := client.DialConfig{Token: token, Config: client.Config{Game: raceGame(w.game.TickRate), Strategies: strategies, Bot: true, BotSeed: uint64(w.hosts)}}
	c.StoreTokens = func(tokens [][]byte) {
		if len(tokens) > 0 {
			p.token = bytes.Clone(tokens[0])
		}
	}
	c.Listen = func(netip.AddrPort) (client.Socket, error) {
		p.port++
		s, err := w.net.Listen(netip.AddrPortFrom(p.host, 40000+p.port))
		p.socket, p.open = s, append(p.open, s)
		return &playerSocket{s, p}, err
	}
	for _, f := range change {
		f(&c)
	}
	var err error
	if p.Client, err = client.Dial(c); err != nil {
		w.t.Fatal(err)
	}
	w.players = append(w.players, p)
	return p
}

// pass plays for a time, with 60 frames per second for every client.
func (w *world) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(time.Second / 60)
		for _, p := range w.players {
			if p.err = p.Frame(time.Now()); p.err == nil {
				p.View(time.Now())
			}
		}
	}
}

// until plays until ok returns true, and fails after limit.
func (w *world) until(what string, limit time.Duration, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(limit); !ok(); w.pass(time.Second / 60) {
		if time.Now().After(end) {
			for i, p := range w.players {
				w.t.Logf("client %d: %v, err %v", i, p.State(), p.Err())
			}
			w.t.Fatalf("not within %[2]v: %[1]s; server: %+[3]v", what, limit, w.server.Stats())
		}
	}
}

// pair returns two players of the room duel who are live.
func (w *world) pair(limit time.Duration) (a, b *player) {
	w.t.Helper()
	a, b = w.join(w.mint(w.ticket(1, "duel"))), w.join(w.mint(w.ticket(2, "duel")))
	w.until("both live", limit, w.live(a, b))
	return a, b
}

func (w *world) live(players ...*player) func() bool {
	return func() bool {
		for _, p := range players {
			if p.State() != client.Live {
				return false
			}
		}
		return true
	}
}

// do calls f with a room, which must exist.
func (w *world) do(name string, f func(r *room.Room)) {
	w.t.Helper()
	if err := w.server.Do(context.Background(), name, f); err != nil {
		w.t.Fatal(err)
	}
}

// runners returns the number of runners in the world of a room.
func (w *world) runners(name string) (n int) {
	w.do(name, func(r *room.Room) {
		for range running.All(r.World()) {
			n++
		}
	})
	return n
}
