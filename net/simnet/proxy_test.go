package simnet

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience bounds a read that would otherwise hang a failed test. No test waits for it to pass.
const patience = 10 * second

// loopback opens a real socket.
func loopback(t *testing.T) (*net.UDPConn, netip.AddrPort) {
	t.Helper()
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetReadDeadline(time.Now().Add(patience))
	return c, c.LocalAddr().(*net.UDPAddr).AddrPort()
}

func proxy(t *testing.T, target netip.AddrPort, profile Profile, seed uint64) *Proxy {
	t.Helper()
	p, err := NewProxy(target, profile, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func readReal(t *testing.T, c *net.UDPConn) (string, netip.AddrPort) {
	t.Helper()
	b := make([]byte, 2000)
	n, from, err := c.ReadFromUDPAddrPort(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n]), from
}

// The server sees a new port for each client, and its answers reach the latest one.
func TestAProxyRelaysBothWaysAfterItsDelay(t *testing.T) {
	server, target := loopback(t)
	p := proxy(t, target, Symmetric("", "", Path{Delay: 5 * ms}), 0)
	seen := map[netip.AddrPort]bool{}
	for i := range 6 {
		c, _ := loopback(t)
		for range 2 {
			start := time.Now()
			c.WriteToUDPAddrPort([]byte{byte('a' + i)}, p.Addr())
			text, from := readReal(t, server)
			seen[from] = true
			server.WriteToUDPAddrPort([]byte("to "+text), from)
			answer, via := readReal(t, c)
			if answer != "to "+string(rune('a'+i)) || via != p.Addr() || time.Since(start) < 10*ms {
				t.Errorf("client %d received %q from %v after %v", i, answer, via, time.Since(start))
			}
		}
	}
	if len(seen) != 6 {
		t.Errorf("the server received packets of 6 clients from %d ports", len(seen))
	}
}

func TestAProxyDropsOversizedPackets(t *testing.T) {
	server, target := loopback(t)
	p := proxy(t, target, Profile{}, 0)
	c, _ := loopback(t)
	c.WriteToUDPAddrPort(make([]byte, MaxPacket+1), p.Addr())
	c.WriteToUDPAddrPort([]byte("small"), p.Addr())
	if text, _ := readReal(t, server); text != "small" {
		t.Errorf("the server received %.10q", text)
	}
}

// The luck of seed 9 is known beforehand, so the test knows which packets to wait for and waits
// for no others.
func TestAProxyLosesThePacketsThatItsSeedSays(t *testing.T) {
	const count = 200
	path := Path{Loss: 0.3}
	twin := newConduit(9, 0, 1)
	twin.set(0, path, nil)
	var want []string
	for i := range count {
		if len(twin.pass(0, 4, verdict{})) > 0 {
			want = append(want, string(number(i)))
		}
	}
	server, target := loopback(t)
	p := proxy(t, target, Profile{Up: path}, 9)
	client, _ := loopback(t)
	for i := range count {
		client.WriteToUDPAddrPort(number(i), p.Addr())
	}
	var got []string
	for range want {
		text, _ := readReal(t, server)
		got = append(got, text)
	}
	if !slices.Equal(got, want) || len(want) > count*8/10 {
		t.Errorf("%d packets arrived, not the %d that should", len(got), len(want))
	}
}

// A server that is not up yet must not end the relay.
func TestAProxySurvivesAServerThatComesLate(t *testing.T) {
	gone, target := loopback(t)
	gone.Close()
	p := proxy(t, target, Profile{}, 0)
	client, _ := loopback(t)
	for range 10 {
		client.WriteToUDPAddrPort([]byte("early"), p.Addr())
	}
	server, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(target))
	if err != nil {
		t.Skip("another process took the port: ", err)
	}
	defer server.Close()
	server.SetReadDeadline(time.Now().Add(patience))
	for {
		client.WriteToUDPAddrPort([]byte("late"), p.Addr())
		if text, from := readReal(t, server); text == "late" {
			server.WriteToUDPAddrPort([]byte("hello"), from)
			break
		}
	}
	if text, _ := readReal(t, client); text != "hello" {
		t.Errorf("client received %q", text)
	}
}

// Packets under way, readers that block: Close must end them all, twice over. TestMain looks for leaked goroutines. Of
// each packet one copy arrives, which shows that its twin is under way for a minute.
func TestAProxyClosesWithPacketsUnderWay(t *testing.T) {
	server, target := loopback(t)
	up := Path{Duplicate: 1, Jitter: Jitter{Kind: Trace, Trace: []time.Duration{0, maxDelay}}}
	p := proxy(t, target, Profile{Up: up}, 0)
	c, _ := loopback(t)
	for range 5 {
		c.WriteToUDPAddrPort([]byte("x"), p.Addr())
		readReal(t, server)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if n := len(p.route.network.queue); n != 5 {
		t.Errorf("%d twins were under way, want 5", n)
	}
}

func TestAProxyNamesTheFieldThatIsWrong(t *testing.T) {
	for _, c := range []struct {
		field   string
		target  string
		profile Profile
	}{
		{"target", "127.0.0.1:0", Profile{}},
		{"Up.Loss", "127.0.0.1:9", Profile{Up: Path{Loss: 7}}},
	} {
		p, err := NewProxy(netip.MustParseAddrPort(c.target), c.profile, 0)
		if err == nil || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: %v", c.field, err)
		}
		if p != nil {
			p.Close()
		}
	}
}

// P11 is a line for four clients, and a proxy has one.
func TestAProxyHasAQuarterOfASharedLine(t *testing.T) {
	p, err := NewProxy(netip.MustParseAddrPort("127.0.0.1:9"), profile(t, "P11"), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, d := range p.route.network.directions {
		if c := d.path; c.Line != "" || c.Bandwidth != 31_250 || c.QueueBytes != 31_250 || c.Cross.Bandwidth != 31_250 {
			t.Errorf("%+v", c)
		}
	}
}
