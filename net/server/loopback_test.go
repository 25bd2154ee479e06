package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/web"
	"tendon/systems"
	"tendon/systems/relay"
)

// Two clients join and play over real sockets on the loopback, in real time.
func TestTwoClientsPlayOverRealUDP(t *testing.T) {
	for _, network := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(network, func(t *testing.T) {
			playOnLoopback(t, Config{Address: network}, make([]func(netip.AddrPort) (client.Socket, error), 2))
		})
	}
}

// A client with a UDP socket, one of WebTransport and one of WebSocket play in one room.
func TestClientsOfAllTransportsPlayInOneRoom(t *testing.T) {
	certificates, err := web.SelfSigned(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := web.Listen(web.Config{Address: "127.0.0.1:0", Certificates: certificates})
	if err != nil {
		t.Fatal(err)
	}
	sockets := []func(netip.AddrPort) (client.Socket, error){nil}
	for _, scheme := range []string{"https", "ws"} {
		sockets = append(sockets, func(netip.AddrPort) (client.Socket, error) {
			return web.Dial(web.Target{URL: fmt.Sprintf("%s://%s%s", scheme, listener.LocalAddr(), web.Path), Hashes: certificates.Hashes()})
		})
	}
	playOnLoopback(t, Config{Address: "127.0.0.1:0", Web: listener}, sockets)
	if s := listener.Stats(); s.Opened < 2 || s.Sockets < 1 || s.Sessions > 0 {
		t.Errorf("%+v", s)
	}
}

// playOnLoopback plays until each client has confirmed 30 ticks. There is a client for each way of opening a socket; nil: UDP.
func playOnLoopback(t *testing.T, config Config, sockets []func(netip.AddrPort) (client.Socket, error)) {
	game := raceGame(60)
	config.Room, config.Keys = room.Config{Game: game, Strategy: relay.Strategy}, []netcode.Key{testKey}
	s, err := New(config)
	if err != nil {
		if strings.HasPrefix(config.Address, "[") {
			t.Skipf("no IPv6 here: %v", err)
		}
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	var clients []*client.Client
	for id, listen := range sockets {
		token, err := Mint(Ticket{ProtocolID: ProtocolID(game.Name), Key: testKey, ClientID: uint64(id + 1),
			Addresses: []netip.AddrPort{netip.MustParseAddrPort(s.Addr().String())}, Pass: Pass{Room: "real", Seat: AnySeat}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.Dial(client.DialConfig{Token: token, Listen: listen, Config: client.Config{Game: game, Strategies: []systems.Strategy{relay.Strategy}, Bot: true}})
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	frames := time.NewTicker(5 * time.Millisecond)
	defer frames.Stop()
	limit := time.NewTimer(15 * time.Second)
	defer limit.Stop()
	for done := false; !done; {
		select {
		case now := <-frames.C:
			done = true
			for _, c := range clients {
				if err := c.Frame(now); err != nil {
					t.Fatal(err)
				}
				done = done && c.State() == client.Live && c.Stats().Strategy.Confirmed > 30
			}
		case <-limit.C:
			for i, c := range clients {
				t.Errorf("after 15 s client %d is %v", i, c.State())
			}
			t.Fatalf("server %+v", s.Stats())
		}
	}
	for _, c := range clients {
		c.Close()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Many rooms are computed in parallel on several workers.
func TestSixtyFourRoomsOnFourWorkers(t *testing.T) {
	inBubble(t, "P1", func(c *Config) { c.Workers = 4 }, func(w *world) {
		for i := range 128 {
			w.join(w.mint(w.ticket(uint64(i+1), fmt.Sprintf("room-%d", i/2))))
		}
		w.until("all live", 15*time.Second, w.live(w.players...))
		w.pass(time.Second)
		st := w.server.Stats()
		if st.Rooms != 64 || st.Clients != 128 || len(st.Table) != 64 || st.LateTurns != 0 {
			t.Fatalf("%d rooms, %d clients, %d lines, %d late turns", st.Rooms, st.Clients, len(st.Table), st.LateTurns)
		}
		workers := map[int]int{}
		for _, r := range st.Table {
			workers[r.Worker]++
			if r.Players != 2 || r.Tick < 30 {
				t.Errorf("%+v", r)
			}
		}
		for n, rooms := range workers {
			if rooms != 16 {
				t.Errorf("worker %d has %d rooms of 64", n, rooms)
			}
		}
	})
}

// An error of New names the field, or is a sentence with the remedy.
func TestErrorsOfNewNameTheRemedy(t *testing.T) {
	taken, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Room.Game = nil }, "Room.Game"},
		{func(c *Config) { c.Room.Strategy = systems.Strategy{} }, "Strategy"},
		{func(c *Config) { c.Keys = nil }, "Keys"},
		{func(c *Config) { c.Keys = make([]netcode.Key, 3) }, "Keys"},
		{func(c *Config) { c.MaxRooms = -1 }, "MaxRooms"},
		{func(c *Config) { c.Workers = -1 }, "Workers"},
		{func(c *Config) { c.Address = "" }, "Address is empty"},
		{func(c *Config) { c.Address = "nonsense" }, "host:port"},
		{func(c *Config) { c.Address = taken.LocalAddr().String() }, "choose another port"},
		{func(c *Config) { c.Address = "192.0.2.1:7777" }, "no address 192.0.2.1"},
		{func(c *Config) { c.Address = ":0" }, "Public is empty"},
	} {
		config := Config{Room: room.Config{Game: raceGame(30), Strategy: relay.Strategy}, Address: "127.0.0.1:0", Keys: []netcode.Key{testKey}}
		c.change(&config)
		s, err := New(config)
		if err == nil {
			s.socket.Close()
			t.Errorf("no error for %q", c.want)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q, want %q in it", err, c.want)
		}
		if c.want != "host:port" && !strings.Contains(c.want, "port") && !strings.Contains(c.want, "192") && !errors.Is(err, ErrConfig) {
			t.Errorf("%q does not wrap ErrConfig", err)
		}
	}
}
