package netflags

import (
	"net"
	"strings"
	"testing"
	"time"

	"tendon/net/simnet"
)

func TestFlagsDescribeANetwork(t *testing.T) {
	usual := simnet.Path{Delay: 50 * time.Millisecond, Jitter: simnet.Jitter{Size: 20 * time.Millisecond}, Loss: 0.05}
	long, little, all := 250*time.Millisecond, 1.5, 100.5
	for _, c := range []struct {
		flags NetFlags
		usual simnet.Path
		want  string // of the network, or of the error
	}{
		{NetFlags{}, usual, "100ms RTT, ±20ms jitter, 5 % loss"},
		{NetFlags{}, simnet.Path{}, "0s RTT, ±0s jitter, 0 % loss"},
		{NetFlags{RTT: &long, Loss: &little}, usual, "250ms RTT, ±20ms jitter, 1.5 % loss"},
		{NetFlags{}, simnet.Path{Loss: 0.07}, "0s RTT, ±0s jitter, 7 % loss"},
		{NetFlags{Net: "p3"}, usual, "P3 typical"},
		{NetFlags{Net: "typical"}, usual, "P3 typical"},
		{NetFlags{Net: "P13"}, usual, "--net P13: there is no such profile"},
		{NetFlags{Net: "P3", RTT: &long}, usual, "--net sets the whole network"},
		{NetFlags{Loss: &all}, usual, "--loss 100.5: give 0 to 100"},
	} {
		p, err := c.flags.Profile(c.usual)
		got := Text(p)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v is %q, want %q", c.flags, got, c.want)
		}
	}
	if p, _ := Named("P7"); RTT(p) != 200*time.Millisecond {
		t.Errorf("the shortest round trip of P7 is %v", RTT(p))
	}
}

// Each player has an address, other than the server's.
func TestEveryPlayerHasAnAddress(t *testing.T) {
	n, err := Open(simnet.Profile{}, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Socket.Close()
	defer n.Close()
	seen := map[string]bool{n.Socket.LocalAddr().String(): true}
	for _, addr := range n.Public {
		seen[addr.String()] = true
	}
	if len(seen) != 4 {
		t.Errorf("the addresses are %v", seen)
	}
}

// A client with a network reaches the server's address through it, and packets that come back are from that address.
func TestASocketPassesTheNetwork(t *testing.T) {
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	addr := server.LocalAddr().(*net.UDPAddr).AddrPort()
	listen, err := (&NetFlags{Net: "P1"}).Listen(addr, 1)
	if err != nil {
		t.Fatal(err)
	}
	client, err := listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.WriteToUDPAddrPort([]byte("ping"), addr); err != nil {
		t.Fatal(err)
	}
	var b [16]byte
	n, from, err := server.ReadFromUDPAddrPort(b[:])
	if err != nil || string(b[:n]) != "ping" || from.Port() == client.(*routed).LocalAddr().(*net.UDPAddr).AddrPort().Port() {
		t.Fatalf("%q from %v: %v", b[:n], from, err)
	}
	if _, err := server.WriteToUDPAddrPort([]byte("pong"), from); err != nil {
		t.Fatal(err)
	}
	if n, from, err = client.ReadFromUDPAddrPort(b[:]); err != nil || string(b[:n]) != "pong" || from != addr {
		t.Fatalf("%q from %v: %v", b[:n], from, err)
	}
	if listen, err := (&NetFlags{}).Listen(addr, 1); err != nil || listen != nil {
		t.Error("without flags the socket is not that of the system")
	}
}

// Next goes through the standard profiles and begins again after the last one.
func TestNextGoesThroughTheProfiles(t *testing.T) {
	n, err := Open(simnet.Profile{}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Socket.Close()
	defer n.Close()
	for i := range len(simnet.Profiles()) + 1 {
		want := simnet.Profiles()[i%len(simnet.Profiles())].Name + " "
		if got := n.Next(); !strings.HasPrefix(got, want) {
			t.Errorf("step %d chose %s, want %s", i, got, want)
		}
	}
}
