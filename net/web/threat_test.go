//go:build !js

package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"tendon/ecs/race"
)

// pipe is a UDP socket without a network.
type pipe struct {
	at     net.Addr
	in     chan datagram
	send   func(packet []byte, to net.Addr)
	closed chan struct{}
	once   sync.Once
}

type datagram struct {
	data []byte
	from net.Addr
}

func newPipe(at net.Addr, send func(packet []byte, to net.Addr)) *pipe {
	return &pipe{at: at, in: make(chan datagram, 64), send: send, closed: make(chan struct{})}
}

func (p *pipe) ReadFrom(b []byte) (int, net.Addr, error) {
	select {
	case d := <-p.in:
		return copy(b, d.data), d.from, nil
	case <-p.closed:
		return 0, nil, &net.OpError{Op: "read", Err: net.ErrClosed} // not temporary
	}
}

func (p *pipe) WriteTo(b []byte, to net.Addr) (int, error) {
	p.send(bytes.Clone(b), to)
	return len(b), nil
}
func (p *pipe) Close() error                     { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipe) LocalAddr() net.Addr              { return p.at }
func (p *pipe) SetDeadline(time.Time) error      { return nil }
func (p *pipe) SetReadDeadline(time.Time) error  { return p.Close() } // the end of a transport
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

// deliver passes a packet to the reader.
func (p *pipe) deliver(data []byte, from net.Addr) {
	select {
	case p.in <- datagram{data, from}:
	case <-p.closed:
	}
}

// initial returns the first packet of a QUIC connection.
func initial(t *testing.T, config *tls.Config) (packet []byte) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var once sync.Once
	socket := newPipe(&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, func(b []byte, _ net.Addr) { once.Do(func() { packet = b; cancel() }) })
	transport := &quic.Transport{Conn: socket}
	_, _ = transport.Dial(ctx, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2}, config, &quic.Config{EnableDatagrams: true})
	socket.Close()
	transport.Close()
	return packet
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Requests of QUIC connections from addresses that never answer open no session and take little memory. The answers are smaller than
// the requests. A client whose address answers connects meanwhile.
func TestSpoofedAddressesOpenNoSessions(t *testing.T) {
	certificates, err := SelfSigned(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{http3.NextProtoH3}, CurvePreferences: []tls.CurveID{tls.X25519}}
	requests := 200
	if race.Long {
		requests = 5000
	}
	if os.Getenv("TENDON_SOAK") != "" {
		requests = 100_000
	}
	var mu sync.Mutex // of the figures
	in, out := 0, 0
	var honest *pipe
	at := &net.UDPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7778}
	home := &net.UDPAddr{IP: net.IPv4(198, 51, 100, 1), Port: 9}
	server := newPipe(at, func(b []byte, to net.Addr) {
		if to.String() == home.String() {
			honest.deliver(b, at)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		out += len(b)
	})
	honest = newPipe(home, func(b []byte, _ net.Addr) { server.deliver(b, home) })
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := serve(Config{Address: ":0", Certificates: certificates, MaxSessions: 64, Pages: http.NotFoundHandler()}, tcp, server)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	before, goroutines := heap(), runtime.NumGoroutine()
	random := rand.New(rand.NewPCG(1, 2))
	for range requests {
		p := initial(t, config)
		in += len(p)
		server.deliver(p, &net.UDPAddr{IP: net.IPv4(10, byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32())), Port: 1 + random.IntN(60000)})
	}
	transport := &quic.Transport{Conn: honest}
	defer transport.Close()
	defer honest.Close()
	conn, err := transport.Dial(t.Context(), at, config, &quic.Config{EnableDatagrams: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseWithError(0, "")
	mu.Lock()
	defer mu.Unlock()
	grown := int64(heap()) - int64(before)
	t.Logf("%d requests: %d bytes in, %d out (%.3f), heap %+d KB, goroutines %+d, %+v", requests, in, out, float64(out)/float64(in), grown>>10, runtime.NumGoroutine()-goroutines, l.Stats())
	if s := l.Stats(); s.Opened > 0 || grown > 1<<20 && !race.Enabled || requests > 1000 && float64(out) > 0.35*float64(in) {
		t.Errorf("%+v", s)
	}
}

// Datagrams and connections of junk take no memory, and a client connects after them.
func TestJunkTakesNoMemory(t *testing.T) {
	l, urls := listen(t, Config{})
	count := 5_000
	if race.Long {
		count = 1_000_000
	}
	random := rand.New(rand.NewPCG(3, 4))
	socket, err := net.DialUDP("udp", nil, l.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	before, goroutines := heap(), runtime.NumGoroutine()
	junk := make([]byte, 1300)
	for range count {
		for i := range 32 {
			junk[i] = byte(random.Uint32())
		}
		junk[0] |= 0x40 // the fixed bit of QUIC
		_, _ = socket.Write(junk[:1+random.IntN(len(junk))])
	}
	for range count / 1000 {
		conn, err := net.Dial("tcp", l.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s\r\n\r\n", strings.Repeat("x", 100))
		conn.Close()
	}
	for name, url := range urls {
		client, err := Dial(Target{URL: url, Hashes: l.config.Certificates.Hashes()})
		if err != nil {
			t.Fatal(err)
		}
		if <-client.opened; client.err != nil {
			t.Errorf("%s: %v", name, client.err)
		}
		client.Close()
	}
	grown := int64(heap()) - int64(before)
	t.Logf("%d datagrams: heap %+d KB, goroutines %+d", count, grown>>10, runtime.NumGoroutine()-goroutines)
	if grown > 2<<20 && !race.Enabled {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

// A session is identified by its connection. A packet of one session is never received as one of another. A session cannot be used
// after its end.
func TestASessionIsItsConnection(t *testing.T) {
	l, urls := listen(t, Config{})
	to := netip.MustParseAddrPort("192.0.2.1:1")
	var sockets []*Socket
	addresses := map[netip.AddrPort]byte{}
	for _, url := range []string{urls["WebTransport"], urls["WebSocket"], urls["WebTransport"], urls["WebSocket"]} {
		s, err := Dial(Target{URL: url, Hashes: l.config.Certificates.Hashes()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		name := byte(len(sockets))
		sockets = append(sockets, s)
		buffer := make([]byte, 64)
		exchange(t, func() { s.WriteToUDPAddrPort([]byte{name}, to) }, func() {
			for {
				_, from, err := l.ReadFromUDPAddrPort(buffer)
				if err != nil {
					t.Error(err)
					return
				}
				if old, ok := addresses[from]; ok && old != buffer[0] {
					t.Errorf("session %v sends as %d and %d", from, old, buffer[0])
				}
				addresses[from] = buffer[0]
				if buffer[0] == name {
					return
				}
			}
		})
	}
	if len(addresses) != len(sockets) {
		t.Errorf("%d sessions have %d addresses", len(sockets), len(addresses))
	}
	for at, name := range addresses {
		sockets[name].Close()
		for l.Serves(at) && func() bool { _, open := l.Remote(at); return open }() {
			runtime.Gosched()
		}
		if _, err := l.WriteToUDPAddrPort([]byte{1}, at); err == nil {
			t.Errorf("a packet is sent to %v, which has ended", at)
		}
	}
}

// A client that sends messages or datagrams that are too large or of another kind loses them, or its session, and no other.
func TestMalformedPacketsEndNoOtherSession(t *testing.T) {
	l, urls := listen(t, Config{})
	good, err := Dial(Target{URL: urls["WebSocket"]})
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	<-good.opened
	to, buffer := netip.MustParseAddrPort("192.0.2.1:1"), make([]byte, 2048)
	var at netip.AddrPort
	exchange(t, func() { good.WriteToUDPAddrPort([]byte{6}, to) }, func() { _, at, _ = l.ReadFromUDPAddrPort(buffer) })
	l.WriteToUDPAddrPort([]byte{1}, at) // a session that received no packet ends soon
	for _, size := range []int{0, MaxPacket + 1, 1 << 20} {
		bad, err := Dial(Target{URL: urls["WebSocket"]})
		if err != nil {
			t.Fatal(err)
		}
		<-bad.opened
		_ = bad.session.send(make([]byte, size))
		bad.Close()
	}
	text, _, err := websocket.Dial(t.Context(), urls["WebSocket"], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer text.CloseNow()
	if err := text.Write(t.Context(), websocket.MessageText, []byte("packet")); err != nil {
		t.Fatal(err)
	}
	_, _, _ = text.Read(t.Context()) // until the session has ended
	exchange(t, func() { good.WriteToUDPAddrPort([]byte{7}, to) }, func() {
		n, from, err := l.ReadFromUDPAddrPort(buffer)
		for err == nil && n == 1 && buffer[0] == 6 { // it was repeated
			n, from, err = l.ReadFromUDPAddrPort(buffer)
		}
		if err != nil || from != at || n != 1 || buffer[0] != 7 {
			t.Errorf("%x from %v, %v", buffer[:n], from, err)
		}
	})
}

// A client that reads nothing holds a bounded number of packets, and its lateness is counted. Others are sent theirs.
func TestASlowReaderHoldsFewPackets(t *testing.T) {
	l, urls := listen(t, Config{})
	to := netip.MustParseAddrPort("192.0.2.1:1")
	slow, err := Dial(Target{URL: urls["WebSocket"]})
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	var at netip.AddrPort
	exchange(t, func() { slow.WriteToUDPAddrPort([]byte{1}, to) }, func() { _, at, _ = l.ReadFromUDPAddrPort(make([]byte, 64)) })
	before := heap()
	packet := make([]byte, MaxPacket)
	const sent = 20_000 // 23 MB
	for range sent {
		l.WriteToUDPAddrPort(packet, at)
	}
	grown := int64(heap()) - int64(before)
	t.Logf("%d packets for a client that reads nothing: heap %+d KB, %d late", sent, grown>>10, l.Stats().Late)
	if grown > 512<<10 && !race.Enabled || l.Stats().Late < sent/2 {
		t.Errorf("the heap grew by %d bytes, %d packets were dropped", grown, l.Stats().Late)
	}
}
