package simnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tendon/ecs/race"
)

// A network or a proxy that is closed leaves nothing running.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Importing kcp-go starts its schedulers, which nothing here uses.
		goleak.IgnoreAnyFunction("github.com/xtaci/kcp-go/v5.(*TimedSched).sched"),
		goleak.IgnoreAnyFunction("github.com/xtaci/kcp-go/v5.(*TimedSched).prepend"))
}

// udpSocket is what code above a socket needs; it must run over either.
type udpSocket interface {
	LocalAddr() net.Addr
	Close() error
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
}

var (
	_ udpSocket = (*PacketConn)(nil)
	_ udpSocket = (*net.UDPConn)(nil)
)

var (
	serverPort = netip.MustParseAddrPort("10.0.0.1:4000")
	clientPort = netip.MustParseAddrPort("10.0.0.2:5000")
	otherPort  = netip.MustParseAddrPort("10.0.0.3:5000")
)

func listen(t *testing.T, n *DatagramNet, at netip.AddrPort) *PacketConn {
	t.Helper()
	c, err := n.Listen(at)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func route(t *testing.T, n *DatagramNet, client, server netip.AddrPort, p Profile) {
	t.Helper()
	if err := n.Route(client.Addr(), server.Addr(), p); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, c *PacketConn, to netip.AddrPort, payload []byte) {
	t.Helper()
	if n, err := c.WriteToUDPAddrPort(payload, to); err != nil || n != len(payload) {
		t.Fatalf("wrote %d of %d bytes: %v", n, len(payload), err)
	}
}

// A round trip through the real interface, in no real time.
func TestAPacketCrossesTheNetworkInTheTimeOfItsPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewDatagramNet(Config{Seed: 1})
		defer n.Close()
		server, client := listen(t, n, serverPort), listen(t, n, clientPort)
		p := Profile{Up: Path{Delay: 30 * ms}, Down: Path{Delay: 10 * ms}}
		route(t, n, clientPort, serverPort, p)
		start := time.Now()
		go func() {
			b := make([]byte, 100)
			size, from, err := server.ReadFromUDPAddrPort(b)
			if err != nil || string(b[:size]) != "ping" || from != clientPort || time.Since(start) != 30*ms {
				t.Errorf("server read %q from %v after %v: %v", b[:size], from, time.Since(start), err)
			}
			server.WriteToUDPAddrPort([]byte("pong"), from)
		}()
		write(t, client, serverPort, []byte("ping"))
		b := make([]byte, 3)
		size, from, err := client.ReadFromUDPAddrPort(b)
		if err != nil || string(b[:size]) != "pon" || from != serverPort || time.Since(start) != 40*ms {
			t.Errorf("client read %q from %v after %v: %v", b[:size], from, time.Since(start), err)
		}
	})
}

// arrivals sends from two clients in goroutines of their own. It returns the packets that the server read, with their
// times and sources.
func arrivals(t *testing.T, seed uint64) (log []string) {
	synctest.Test(t, func(t *testing.T) {
		n := NewDatagramNet(Config{Seed: seed})
		defer n.Close()
		server := listen(t, n, serverPort)
		var wait sync.WaitGroup
		for _, at := range []netip.AddrPort{clientPort, otherPort} {
			// Whole milliseconds, so that many packets arrive at the same time.
			route(t, n, at, serverPort, Symmetric("", "", Path{Delay: 50 * ms, Loss: 0.2, Reorder: 0.3, ReorderDelay: 30 * ms, Duplicate: 0.1}))
			client := listen(t, n, at)
			wait.Go(func() {
				for i := range 300 {
					write(t, client, serverPort, number(i))
					time.Sleep(10 * ms)
				}
			})
		}
		start := time.Now()
		time.AfterFunc(10*second, func() { server.Close() })
		b := make([]byte, 10)
		for {
			size, from, err := server.ReadFromUDPAddrPort(b)
			if err != nil {
				break
			}
			log = append(log, fmt.Sprintf("%v %v %x", time.Since(start), from, b[:size]))
		}
		wait.Wait()
	})
	return log
}

// SIM-01 on this floor, where real goroutines race: the order of packets that arrive together must not depend on the
// sender that was first.
func TestTheSameSeedTwiceGivesTheSameArrivalsInTheSameOrder(t *testing.T) {
	first := arrivals(t, 5)
	for range 5 {
		if again := arrivals(t, 5); !slices.Equal(first, again) {
			t.Fatal("two runs of one seed differ")
		}
	}
	if slices.Equal(first, arrivals(t, 6)) {
		t.Error("two seeds do not differ")
	}
	if len(first) < 400 || len(first) > 600 {
		t.Errorf("%d of 600 packets arrived, twins included, at 20 %% loss", len(first))
	}
}

// The timer is set for the slow packet when the fast one is sent.
func TestAFastPacketOvertakesASlowOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewDatagramNet(Config{})
		defer n.Close()
		server, slow, fast := listen(t, n, serverPort), listen(t, n, clientPort), listen(t, n, otherPort)
		route(t, n, clientPort, serverPort, Symmetric("", "", Path{Delay: 100 * ms}))
		route(t, n, otherPort, serverPort, Symmetric("", "", Path{Delay: 10 * ms}))
		start := time.Now()
		write(t, slow, serverPort, nil)
		write(t, fast, serverPort, nil)
		for _, want := range []time.Duration{10 * ms, 100 * ms} {
			if _, from, err := server.ReadFromUDPAddrPort(nil); err != nil || time.Since(start) != want {
				t.Errorf("packet from %v after %v (%v), want %v", from, time.Since(start), err, want)
			}
		}
	})
}

func TestACloseEndsAReadAndFreesTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewDatagramNet(Config{})
		defer n.Close()
		c := listen(t, n, clientPort)
		if _, err := n.Listen(clientPort); !errors.Is(err, ErrAddress) {
			t.Errorf("second Listen: %v", err)
		}
		time.AfterFunc(10*ms, func() { c.Close() })
		if _, _, err := c.ReadFromUDPAddrPort(nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read: %v", err)
		}
		if _, err := c.WriteToUDPAddrPort(nil, serverPort); !errors.Is(err, net.ErrClosed) {
			t.Errorf("write: %v", err)
		}
		if err := c.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("second Close: %v", err)
		}
		listen(t, n, clientPort)
		a, b := listen(t, n, netip.AddrPortFrom(clientPort.Addr(), 0)), listen(t, n, netip.AddrPortFrom(clientPort.Addr(), 0))
		if a.LocalAddr().String() != "10.0.0.2:49152" || b.LocalAddr().String() != "10.0.0.2:49153" {
			t.Errorf("free ports %v and %v", a.LocalAddr(), b.LocalAddr())
		}
		for _, bad := range []string{"0.0.0.0:1", "[::]:1", "224.0.0.1:1"} {
			if _, err := n.Listen(netip.MustParseAddrPort(bad)); !errors.Is(err, ErrAddress) {
				t.Errorf("Listen at %s: %v", bad, err)
			}
		}
	})
}

// A reader that does not read costs a bounded buffer, and the rest is counted.
func TestASocketKeepsNoMorePacketsThanItsBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewDatagramNet(Config{SocketBuffer: 20})
		defer n.Close()
		server, client := listen(t, n, serverPort), listen(t, n, clientPort)
		route(t, n, clientPort, serverPort, Profile{})
		b := make([]byte, 10)
		next := 0
		read := func(upto int) {
			for ; next < upto; next++ {
				size, _, err := server.ReadFromUDPAddrPort(b)
				if err != nil || !slices.Equal(b[:size], number(next)) {
					t.Fatalf("read %x: %v, want %x", b[:size], err, number(next))
				}
			}
		}
		for i := range 15 {
			write(t, client, serverPort, number(i))
		}
		read(10)
		for i := 15; i < 33; i++ { // it is full at 30
			write(t, client, serverPort, number(i))
		}
		read(30)
		time.AfterFunc(second, func() { server.Close() })
		if size, _, err := server.ReadFromUDPAddrPort(b); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read a packet that did not fit: %x, %v", b[:size], err)
		}
	})
}

func TestPacketsWithoutARouteAreDroppedAndLargeOnesRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewDatagramNet(Config{})
		defer n.Close()
		client := listen(t, n, clientPort)
		write(t, client, serverPort, nil) // no route
		route(t, n, clientPort, serverPort, Profile{})
		write(t, client, serverPort, nil) // no socket
		server := listen(t, n, serverPort)
		time.AfterFunc(second, func() { server.Close() })
		if _, _, err := server.ReadFromUDPAddrPort(nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read: %v", err)
		}
		if _, err := client.WriteToUDPAddrPort(make([]byte, MaxPacket+1), serverPort); !errors.Is(err, ErrTooLarge) {
			t.Errorf("large packet: %v", err)
		}
		if err := n.Route(clientPort.Addr(), clientPort.Addr(), Profile{}); !errors.Is(err, ErrAddress) {
			t.Errorf("route to oneself: %v", err)
		}
	})
}

// A blocked route carries no packets.
func TestABlockedRouteCarriesNoPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewDatagramNet(Config{})
		defer n.Close()
		server, client := listen(t, n, serverPort), listen(t, n, clientPort)
		route(t, n, clientPort, serverPort, profile(t, "P4"))
		n.Block(clientPort.Addr(), serverPort.Addr(), true)
		write(t, client, serverPort, []byte("blocked"))
		n.Block(clientPort.Addr(), serverPort.Addr(), false)
		write(t, client, serverPort, []byte("open"))
		start := time.Now()
		for _, want := range []string{"open 10.0.0.2:5000 125ms"} {
			b := make([]byte, 10)
			size, from, err := server.ReadFromUDPAddrPort(b)
			if got := fmt.Sprintf("%s %v %v", b[:size], from, time.Since(start)); got != want || err != nil {
				t.Errorf("read %s (%v), want %s", got, err, want)
			}
		}
	})
}

// The same code without a bubble runs in real time.
func TestTheDatagramFloorAlsoRunsOnTheRealClock(t *testing.T) {
	n := NewDatagramNet(Config{})
	defer n.Close()
	server, client := listen(t, n, serverPort), listen(t, n, clientPort)
	route(t, n, clientPort, serverPort, Symmetric("", "", Path{Delay: ms}))
	start := time.Now()
	write(t, client, serverPort, []byte("x"))
	if _, _, err := server.ReadFromUDPAddrPort(make([]byte, 10)); err != nil || time.Since(start) < ms {
		t.Errorf("read after %v: %v", time.Since(start), err)
	}
}

// 64 rooms run over one such network in the tests above it.
func TestSocketsAllocateNothingPerPacket(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	n := NewDatagramNet(Config{})
	defer n.Close()
	server, client := listen(t, n, serverPort), listen(t, n, clientPort)
	route(t, n, clientPort, serverPort, Profile{})
	b := make([]byte, MaxPacket)
	round := func() {
		client.WriteToUDPAddrPort(b[:1000], serverPort)
		server.ReadFromUDPAddrPort(b)
	}
	for range 100 {
		round()
	}
	if allocs := testing.AllocsPerRun(1000, round); allocs != 0 {
		t.Errorf("%v allocations a packet", allocs)
	}
}
