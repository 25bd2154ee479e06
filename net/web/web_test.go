//go:build !js

package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Importing kcp-go starts these; link does not use them.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/xtaci/kcp-go/v5.(*TimedSched).sched"), goleak.IgnoreTopFunction("github.com/xtaci/kcp-go/v5.(*TimedSched).prepend"))
}

// listen returns a listener on a loopback address, and the URL of each transport.
func listen(t *testing.T, c Config) (l *Listener, urls map[string]string) {
	t.Helper()
	certificates, err := SelfSigned(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c.Address, c.Certificates = "127.0.0.1:0", certificates
	if l, err = Listen(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, map[string]string{"WebTransport": fmt.Sprintf("https://%s%s", l.LocalAddr(), Path), "WebSocket": fmt.Sprintf("ws://%s%s", l.LocalAddr(), Path)}
}

// With port 0, a port that only TCP has free is replaced by another one. A port that was chosen is not.
func TestTheSystemChoosesAPortThatBothSocketsHave(t *testing.T) {
	taken := 0
	listenUDP := func(network, address string) (net.PacketConn, error) {
		if taken > 0 {
			taken--
			return nil, syscall.EADDRINUSE
		}
		return net.ListenPacket(network, address)
	}
	taken = 3
	tcp, udp, err := openSockets("127.0.0.1:0", listenUDP)
	if err != nil {
		t.Fatal(err)
	}
	if tcp.Addr().String() != udp.LocalAddr().String() {
		t.Errorf("the sockets have %v and %v", tcp.Addr(), udp.LocalAddr())
	}
	udp.Close()
	tcp.Close()
	for address, failures := range map[string]int{"127.0.0.1:0": 1000, tcp.Addr().String(): 1} {
		taken = failures
		if _, _, err := openSockets(address, listenUDP); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A client whose session is refused cannot keep its connection.
func TestTheConnectionOfARefusedSessionIsClosed(t *testing.T) {
	l, urls := listen(t, Config{MaxSessions: 1})
	l.table.open(remote("192.0.2.1"), newLine(), time.Now())
	target := Target{Hashes: l.config.Certificates.Hashes()}
	config := target.tls()
	config.NextProtos = []string{http3.NextProtoH3}
	conn, err := quic.DialAddr(t.Context(), l.LocalAddr().String(), config, &quic.Config{EnableDatagrams: true, EnableStreamResetPartialDelivery: true, KeepAlivePeriod: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseWithError(0, "")
	dialer := &webtransport.Transport{}
	client, err := dialer.NewClientConn(conn)
	if err != nil {
		t.Fatal(err)
	}
	defer dialer.Close()
	_, _, _ = client.Dial(t.Context(), urls["WebTransport"], nil) // may be refused before or after the answer
	<-conn.Context().Done()
	if s := l.Stats(); s.Refused != 1 {
		t.Errorf("%+v", s)
	}
}

// Packets of every size cross both transports, each session has an address of its own, and its end is seen by the other side.
func TestPacketsCrossBothTransports(t *testing.T) {
	l, urls := listen(t, Config{})
	server := netip.MustParseAddrPort("192.0.2.1:7777")
	for name, url := range urls {
		t.Run(name, func(t *testing.T) {
			client, err := Dial(Target{URL: url, Hashes: l.config.Certificates.Hashes()})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			buffer, answer := make([]byte, 2048), make([]byte, 2048)
			for _, size := range []int{1, 100, MaxPacket} {
				sent := bytes.Repeat([]byte{byte(size)}, size)
				var address netip.AddrPort
				exchange(t, func() {
					if _, err := client.WriteToUDPAddrPort(sent, server); err != nil {
						t.Error(err)
					}
				}, func() {
					n, from, err := l.ReadFromUDPAddrPort(buffer)
					for n < size && err == nil { // a smaller one that was repeated
						n, from, err = l.ReadFromUDPAddrPort(buffer)
					}
					if err != nil || !bytes.Equal(buffer[:n], sent) || !Prefix.Contains(from.Addr()) {
						t.Fatalf("%d bytes from %v, %v", n, from, err)
					}
					address = from
				})
				exchange(t, func() {
					if _, err := l.WriteToUDPAddrPort(sent, address); err != nil {
						t.Error(err)
					}
				}, func() {
					n, from, err := client.ReadFromUDPAddrPort(answer)
					for n < size && err == nil {
						n, from, err = client.ReadFromUDPAddrPort(answer)
					}
					if err != nil || !bytes.Equal(answer[:n], sent) || from != server {
						t.Fatalf("%d bytes from %v, %v", n, from, err)
					}
				})
				if remote, ok := l.Remote(address); !ok || !remote.Addr().IsLoopback() {
					t.Errorf("the client is %v", remote)
				}
			}
		})
	}
	if s := l.Stats(); s.Opened != 2 || s.Sockets != 1 || s.Oversized+s.Flood+s.Overflow > 0 {
		t.Errorf("%+v", s)
	}
}

// exchange repeats a send until the packet was received: both transports may lose one. send runs on its own goroutine, so it must not
// call t.Fatal.
func exchange(t *testing.T, send, receive func()) {
	t.Helper()
	done := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() {
		for {
			send()
			select {
			case <-done:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	receive()
	close(done)
	sending.Wait()
}

// A client refuses a server whose certificate the invitation does not name, and Read returns the reason once.
func TestTheHashOfTheCertificateIsVerified(t *testing.T) {
	_, urls := listen(t, Config{})
	client, err := Dial(Target{URL: urls["WebTransport"], Hashes: []Hash{{1}}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, _, err := client.ReadFromUDPAddrPort(nil); !errors.Is(err, ErrDial) || !strings.Contains(err.Error(), "invitation") {
		t.Errorf("connecting fails with %v", err)
	}
	if _, _, err := client.ReadFromUDPAddrPort(nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("then reading fails with %v", err)
	}
}

// brokenLine is a session whose first packet cannot be sent.
type brokenLine struct{ closed chan struct{} }

func (b brokenLine) send([]byte) error { return errors.New("broken") }
func (b brokenLine) close()            { close(b.closed) }

// A socket whose session failed keeps no more packets, and reading ends.
func TestASocketEndsWithItsSession(t *testing.T) {
	l := brokenLine{make(chan struct{})}
	s := &Socket{opened: make(chan struct{})}
	s.queue.ready.L = &s.queue.mu
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(t.Context())
	s.WriteToUDPAddrPort([]byte{1}, netip.AddrPort{})
	s.run(ctx, func(context.Context, *Target) (*clientSession, error) {
		return &clientSession{l, func() ([]byte, error) { <-l.closed; return nil, io.EOF }}, nil
	})
	for range unsentPackets {
		s.WriteToUDPAddrPort([]byte{1}, netip.AddrPort{})
	}
	if _, _, err := s.ReadFromUDPAddrPort(nil); !errors.Is(err, net.ErrClosed) || len(s.queue.list) > 0 {
		t.Errorf("%v; %d packets are kept", err, len(s.queue.list))
	}
}

// A dialer uses the next target if the first one cannot be opened, and stays with it.
func TestADialerFallsBack(t *testing.T) {
	_, urls := listen(t, Config{})
	d := Dialer{Targets: []Target{{URL: "ws://127.0.0.1:1" + Path}, {URL: urls["WebSocket"]}}}
	for attempt, want := range []bool{false, true, true} {
		s, err := d.Dial(netip.AddrPort{})
		if err != nil {
			t.Fatal(err)
		}
		<-s.opened
		if got := s.err == nil; got != want {
			t.Errorf("attempt %d: %v", attempt, s.err)
		}
		s.Close()
	}
}

// Pages of other origins are refused unless the config lists them.
func TestOrigins(t *testing.T) {
	for _, c := range []struct {
		origins []string
		origin  string
		want    bool
	}{
		{nil, "", true},
		{nil, "http://game.example:7778", true},
		{nil, "https://other.example", false},
		{nil, "null", false},
		{[]string{"https://other.example"}, "https://other.example", true},
		{[]string{"https://other.example"}, "https://other.example.evil.example", false},
		{[]string{"*"}, "https://other.example", true},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://game.example:7778"+Path, nil)
		r.Header.Set("Origin", c.origin)
		if got := (&Listener{config: Config{Origins: c.origins}}).allows(r); got != c.want {
			t.Errorf("%+v: allowed %t", c, got)
		}
	}
}

func TestPagesAreServed(t *testing.T) {
	l, _ := listen(t, Config{Pages: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "page of ", r.URL.Path) })})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(fmt.Sprintf("http://%s/lab", l.LocalAddr()))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body bytes.Buffer
	body.ReadFrom(answer.Body)
	if body.String() != "page of /lab" {
		t.Errorf("the page is %q", body.String())
	}
}

func TestConfigIsChecked(t *testing.T) {
	certificates, err := SelfSigned(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Config{{Certificates: certificates}, {Address: ":0"}, {Address: ":0", Certificates: certificates, MaxSessions: -1},
		{Address: ":0", Certificates: certificates, Origins: []string{"example.com"}}, {Address: ":0", Certificates: certificates, Origins: []string{"https://example.com/"}}} {
		if l, err := Listen(c); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", c, err)
			if err == nil {
				l.Close()
			}
		}
	}
	if _, err := Dial(Target{URL: "http://localhost" + Path}); !errors.Is(err, ErrDial) {
		t.Error(err)
	}
}
