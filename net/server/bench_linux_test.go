package server

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/relay"
)

// serve runs a server on a loopback socket until the benchmark or test ends.
func serve(tb testing.TB, rate, workers int, change ...func(*Config)) *Server {
	tb.Helper()
	c := Config{Room: room.Config{Game: raceGame(rate), Strategy: relay.Strategy}, Address: "127.0.0.1:0",
		Keys: []netcode.Key{testKey}, MaxRooms: 4096, Workers: workers}
	for _, f := range change {
		f(&c)
	}
	s, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("Run: %v", err)
		}
	})
	return s
}

func addrOf(s *Server) netip.AddrPort { return netip.MustParseAddrPort(s.Addr().String()) }

// BenchmarkRoomSecond measures the processor time of one room with two players in a second, at 30 ticks per second with
// inputs every tick. It includes system calls, seals, KCP, the relay and the world. The clients run in another process. The
// benchmark takes 6 s for any b.N.
func BenchmarkRoomSecond(b *testing.B) {
	for _, rooms := range []int{100, 300} {
		b.Run(string(rune('0'+rooms/100))+"00rooms", func(b *testing.B) {
			s := serve(b, 30, 1)
			const settle, measure = 3 * time.Second, 3 * time.Second
			empty := heap()
			wait := load{Server: addrOf(s), Rooms: rooms, Rate: 30, Duration: settle + measure + 500*time.Millisecond}.start(b)
			time.Sleep(settle)
			before, at, stats := processorTime(), time.Now(), s.Stats()
			time.Sleep(measure)
			used, took := processorTime()-before, time.Since(at)
			after, full := s.Stats(), heap()
			wait()
			b.ReportMetric(float64(full-empty)/float64(rooms), "B/room")
			seconds := took.Seconds() * float64(rooms)
			b.ReportMetric(float64(used.Microseconds())/seconds, "cpu-µs/room-s")
			b.ReportMetric(float64(used)/float64(took)*100, "%core")
			b.ReportMetric(float64(after.PacketsIn-stats.PacketsIn)/seconds, "in/room-s")
			b.ReportMetric(float64(after.PacketsOut-stats.PacketsOut)/seconds, "out/room-s")
			b.ReportMetric(float64(after.LateTurns), "late-turns")
			b.ReportMetric(0, "ns/op")
			var worst systems.Time
			for _, r := range after.Table {
				worst = max(worst, r.MostLate)
			}
			b.ReportMetric(float64(worst)/1e6, "ms-most-late")
		})
	}
}

// BenchmarkIdleConnections measures a thousand connections with keep-alives ten times a second in both directions. It takes
// 5 s, after which the sessions would time out.
func BenchmarkIdleConnections(b *testing.B) {
	s := serve(b, 30, 1, func(c *Config) { c.Room.MaxPeers = 16 })
	const clients = 1000
	empty := heap()
	const settle, measure = 2 * time.Second, 2 * time.Second
	wait := load{Server: addrOf(s), Idle: clients, Duration: settle + measure + 300*time.Millisecond}.start(b)
	time.Sleep(settle)
	before, at := processorTime(), time.Now()
	time.Sleep(measure)
	used, took := processorTime()-before, time.Since(at)
	full := heap()
	stats := s.Stats()
	wait()
	b.ReportMetric(float64(used)/float64(took)*100, "%core")
	b.ReportMetric(float64(full-empty)/float64(stats.Clients), "B/conn")
	b.ReportMetric(float64(stats.Clients), "clients")
	b.ReportMetric(float64(stats.Rooms), "rooms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkSocket compares one system call for many datagrams with one for each. It sends and receives 64 payloads of 60
// bytes over the loopback.
func BenchmarkSocket(b *testing.B) {
	for _, c := range []struct {
		name string
		of   func(*net.UDPConn) endpoint
	}{
		{"batched", withoutPoller},
		{"plain", func(c *net.UDPConn) endpoint { return c }},
	} {
		b.Run(c.name, func(b *testing.B) {
			conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
			if err != nil {
				b.Fatal(err)
			}
			socket := c.of(conn)
			defer socket.Close()
			d := newDatagrams(socket)
			out := outboxOf(b, addrPortOf(socket), batchSize)
			var a arrivals
			before := processorTime()
			b.ReportAllocs()
			for b.Loop() {
				if lost := d.send(out); lost > 0 {
					b.Fatalf("%d lost", lost)
				}
				for got := 0; got < batchSize; got += a.count {
					if err := d.receive(&a); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(processorTime()-before)/float64(b.N)/batchSize, "cpu-ns/datagram")
		})
	}
}

func addrPortOf(s endpoint) netip.AddrPort { return netip.MustParseAddrPort(s.LocalAddr().String()) }

// outboxOf returns an outbox of n sealed payloads of 60 bytes for an address.
func outboxOf(tb testing.TB, to netip.AddrPort, n int) *netcode.Outbox {
	tb.Helper()
	now, from := time.Unix(1, 0), netip.MustParseAddrPort("127.0.0.1:1")
	token, err := Mint(Ticket{Key: testKey, Addresses: []netip.AddrPort{to}, Pass: Pass{Room: "r", Seat: AnySeat}}, now)
	if err != nil {
		tb.Fatal(err)
	}
	server, err := netcode.NewServer(netcode.ServerConfig{Keys: []netcode.Key{testKey}, Addresses: []netip.AddrPort{to}, Slots: 1}, now)
	if err != nil {
		tb.Fatal(err)
	}
	var c netcode.Client
	if err := c.Connect(token, now); err != nil {
		tb.Fatal(err)
	}
	var up, down netcode.Outbox
	for range 2 {
		c.Update(&up, now)
		for i := range up.Len() {
			_, packet := up.At(i)
			server.Receive(&down, packet, from, now)
		}
		for i := range down.Len() {
			_, packet := down.At(i)
			c.Receive(packet, to, now)
		}
		up.Reset()
		down.Reset()
	}
	for range n {
		if err := c.Send(&up, make([]byte, 60), now); err != nil {
			tb.Fatal(err)
		}
	}
	return &up
}
