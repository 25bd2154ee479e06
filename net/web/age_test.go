//go:build !js

package web

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/relay"
)

// stamp is an input that contains the time at which it was given.
type stamp struct{ At int64 }

var stamps = ecs.NewInput[stamp]()

// stampGame has no state but its inputs.
func stampGame() *ecs.Game {
	return &ecs.Game{Name: "stamps", TickRate: 60, MaxPlayers: 4, Input: stamps, Systems: ecs.Systems(func(*ecs.World) {}),
		Join: func(*ecs.World, ecs.Player, ecs.Card) {}, Leave: func(*ecs.World, ecs.Player) {}}
}

// BenchmarkInputAge measures how old an input is when the server uses it in a tick. A client of each transport plays in one room for
// half a minute, with a round trip of 100 ms and 5 % loss. The WebSocket has the TCP of the system, in a simnet.Tunnel.
func BenchmarkInputAge(b *testing.B) {
	for b.Loop() {
		ages, late := inputAges(b, 30*time.Second)
		udp := 0.0
		for seat, name := range []string{"UDP", "WebTransport", "WebSocket"} {
			list := ages[seat]
			if len(list) == 0 {
				continue
			}
			slices.Sort(list)
			at := func(q float64) float64 { return list[int(q*float64(len(list)-1))].Seconds() * 1e3 }
			if seat == 0 {
				udp = at(0.99)
			}
			b.ReportMetric(at(0.99), name+"-p99-ms")
			b.Logf("%s: %d ticks, age %.0f ms in the median, p99 %.0f, p99.9 %.0f; p99 %.2f × UDP", name, len(list), at(0.5), at(0.99), at(0.999), at(0.99)/udp)
		}
		b.Logf("%d packets of the server to the WebSocket were late and not sent", late)
	}
}

// inputAges plays for a time. It returns the ages of the inputs of each tick, by seat, and the packets that were not sent.
func inputAges(b *testing.B, length time.Duration) (ages [3][]time.Duration, late uint64) {
	certificates, err := SelfSigned(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	listener, err := Listen(Config{Address: ":0", Certificates: certificates})
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	var mu sync.Mutex // of ages
	measuring := false
	key := netcode.Key{1}
	s, err := server.New(server.Config{Address: "127.0.0.1:0", Web: listener, Keys: []netcode.Key{key}, Workers: 1, Room: room.Config{Game: stampGame(), Strategy: relay.Strategy},
		OpenRoom: func(_ string, c *room.Config) error {
			c.Sinks = append(c.Sinks, room.Sink{Tick: func(f systems.FinalTick) {
				mu.Lock()
				defer mu.Unlock()
				for seat := range min(len(f.Inputs), len(ages)) {
					if at := stamps.Unpack(f.Inputs[seat]).At; measuring && at > 0 {
						ages[seat] = append(ages[seat], time.Since(start)-time.Duration(at))
					}
				}
			}})
			return nil
		}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}()
	profile := simnet.Symmetric("", "", simnet.Path{Delay: 50 * time.Millisecond, Loss: 0.05})
	udp := s.Addr().(*net.UDPAddr).AddrPort()
	port := netip.MustParseAddrPort(listener.LocalAddr().String()).Port()
	proxies := map[netip.AddrPort]netip.AddrPort{}
	for i, to := range []netip.AddrPort{udp, netip.AddrPortFrom(udp.Addr(), port)} {
		p, err := simnet.NewProxy(to, profile, uint64(i))
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		proxies[to] = p.Addr()
	}
	ways := []func(netip.AddrPort) (client.Socket, error){
		func(netip.AddrPort) (client.Socket, error) {
			socket, err := net.ListenUDP("udp4", nil)
			return &detour{socket, udp, proxies[udp]}, err
		},
		func(netip.AddrPort) (client.Socket, error) {
			return Dial(Target{URL: fmt.Sprintf("https://%s%s", proxies[netip.AddrPortFrom(udp.Addr(), port)], Path), Hashes: certificates.Hashes()})
		},
	}
	if tunnel, err := simnet.NewTunnel(port, profile, 2); err == nil {
		defer tunnel.Close()
		ways = append(ways, func(netip.AddrPort) (client.Socket, error) {
			return Dial(Target{URL: fmt.Sprintf("wss://%s:%d%s", tunnel.Far(), port, Path), Hashes: certificates.Hashes()})
		})
	} else {
		b.Logf("without a WebSocket: %v", err)
	}
	var clients []*client.Client
	for seat, listen := range ways {
		token, err := server.Mint(server.Ticket{ProtocolID: server.ProtocolID("stamps"), Key: key, ClientID: uint64(seat + 1), Addresses: []netip.AddrPort{udp},
			Pass: server.Pass{Room: "ages", Seat: seat}}, time.Now())
		if err != nil {
			b.Fatal(err)
		}
		c, err := client.Dial(client.DialConfig{Token: token, Listen: listen, Config: client.Config{Game: stampGame(), Strategies: []systems.Strategy{relay.Strategy}}})
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
	}
	ticker := time.NewTicker(time.Second / 60)
	defer ticker.Stop()
	settled := 0
	for began := time.Now(); time.Since(began) < length; {
		now := <-ticker.C
		live := true
		for _, c := range clients {
			c.SetInput(stamps.Pack(stamp{int64(now.Sub(start))}))
			if err := c.Frame(now); err != nil {
				b.Fatal(err)
			}
			live = live && c.State() == client.Live
		}
		if settled++; !live {
			settled = 0
		}
		if !measuring {
			began = now
		}
		mu.Lock()
		measuring = measuring || settled > 300
		mu.Unlock()
	}
	for seat, c := range clients {
		b.Logf("seat %d: input delay %d ticks, RTT %v, %d reconnects", seat, c.Stats().Strategy.InputDelay, c.Stats().RTT, c.Stats().Reconnects)
	}
	return ages, listener.Stats().Late
}

// detour is a socket whose packets to a server take another way.
type detour struct {
	*net.UDPConn
	server, proxy netip.AddrPort
}

func (d *detour) WriteToUDPAddrPort(p []byte, _ netip.AddrPort) (int, error) {
	return d.UDPConn.WriteToUDPAddrPort(p, d.proxy)
}

func (d *detour) ReadFromUDPAddrPort(p []byte) (int, netip.AddrPort, error) {
	n, _, err := d.UDPConn.ReadFromUDPAddrPort(p)
	return n, d.server, err
}
