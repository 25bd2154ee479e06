package simnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lineOf is a network with clients on one Line.
func lineOf(t *testing.T, seed uint64, clients int, p Path) (n *Network, server NodeID, ids []NodeID) {
	t.Helper()
	n = New(Config{Seed: seed})
	server = n.AddNode(Clock{})
	for range clients {
		id := n.AddNode(Clock{})
		connect(t, n, id, server, Profile{Up: p})
		ids = append(ids, id)
	}
	return n, server, ids
}

// 100 bytes and 28 of headers at 12 800 B/s take 10 ms, one after the other, whichever client sends them; the queue holds ten.
func TestPathsOfOneLineShareABandwidthAndAQueue(t *testing.T) {
	n, server, clients := lineOf(t, 1, 4, Path{Line: "home", Bandwidth: 12_800, QueueBytes: 1280, Delay: 5 * ms})
	alone := n.AddNode(Clock{})
	connect(t, n, alone, server, Profile{Up: Path{Bandwidth: 12_800, QueueBytes: 1280, Delay: 5 * ms}})
	var log []delivery
	watch(n, &log, server)
	for i := range 12 {
		send(t, n, clients[i%4], server, Datagram, make([]byte, 100))
	}
	if got := n.Queued(clients[3], server); got != 100*ms || n.Queued(alone, server) != 0 {
		t.Errorf("queued %v on the line, %v beside it; want 100ms and 0", got, n.Queued(alone, server))
	}
	n.RunUntil(second)
	if len(log) != 10 {
		t.Fatalf("%d packets arrived, want 10", len(log))
	}
	for i, d := range log {
		if want := Time(i+1)*10*ms + 5*ms; d.at != want || d.from != clients[i%4] {
			t.Errorf("packet %d came from %d at %v, want %v", i, d.from, d.at, want)
		}
	}
	if n.Counters(clients[2], server).Tail+n.Counters(clients[3], server).Tail != 2 {
		t.Error("the last two packets did not fall off the tail")
	}
}

// Cross traffic at half of the line delays a packet little. At twice the line it fills the queue, and packets are lost.
func TestCrossTrafficTakesItsPartOfTheBandwidth(t *testing.T) {
	for _, c := range []struct {
		cross, least, most int
		loss               float64 // of the packets that are sent
	}{{0, 0, 0, 0}, {50_000, 0, 100, 0}, {200_000, 850, 1000, 0.08}} {
		n, server, clients := lineOf(t, 1, 1, Path{Bandwidth: 100_000, QueueBytes: 100_000})
		sent, arrived, waited := 0, 0, time.Duration(0)
		n.OnMessage(server, func(NodeID, Channel, []byte, Time) { arrived++ })
		n.Every(clients[0], 0, 60, func(int64, Time) {
			if n.Now() >= 5*second && n.Now() < 15*second {
				sent++
				waited += n.Queued(clients[0], server)
				send(t, n, clients[0], server, Datagram, make([]byte, 472))
			}
		})
		if c.cross > 0 {
			n.Cross(clients[0], server, c.cross, second, 15*second)
		}
		n.RunUntil(20 * second)
		mean := int(waited / time.Duration(sent) / ms)
		lost := float64(sent-arrived) / float64(sent)
		if mean < c.least || mean > c.most || lost < c.loss || c.loss == 0 && lost > 0 {
			t.Errorf("cross traffic of %d B/s: %d ms of queue in the mean, %v lost; want %d to %d ms, %v", c.cross, mean, lost, c.least, c.most, c.loss)
		}
		if q := n.Queued(clients[0], server); q != 0 {
			t.Errorf("cross traffic of %d B/s: a queue of %v, 5 s after its end", c.cross, q)
		}
	}
}

// A Cross of a path is on for its part of the time, at its rate while it is on.
func TestBurstsOfCrossTrafficHaveTheirLengthAndRate(t *testing.T) {
	c := newCrossTraffic(0, 7, Cross{Bandwidth: 150_000, On: 2 * second, Off: 8 * second})
	packets, bursts, last := 0, 0, Time(-second)
	for ; c.next < 20_000*second; c.step() {
		packets++
		if c.next-last > 200*ms {
			bursts++
		}
		last = c.next
	}
	near(t, "packets a second", float64(packets)/20_000, 100*0.2, 1.5)
	near(t, "bursts in 20 000 s", float64(bursts), 2000, 200)

	if packets = 0; newCrossTraffic(0, 7, Cross{}) != nil {
		t.Error("no bandwidth is traffic")
	}
	for c = newCrossTraffic(5*second, 7, Cross{Bandwidth: 150_000, On: second}); c.next < 105*second; c.step() {
		packets++
	}
	near(t, "packets in 100 s that are always on", float64(packets), 10_000, 400)
}

// The traffic of one client does not change the cross traffic that another one meets, and a seed means the same in every run.
func TestCrossTrafficDependsOnTheSeedAlone(t *testing.T) {
	queues := func(seed uint64, often int) (list []time.Duration) {
		p := Path{Line: "home", Bandwidth: 100_000, QueueBytes: 100_000, Cross: Cross{Bandwidth: 200_000, On: second, Off: 4 * second}}
		n, server, clients := lineOf(t, seed, 2, p)
		n.Every(clients[0], 0, often, func(int64, Time) { send(t, n, clients[0], server, Datagram, nil) })
		for range 60 {
			n.RunUntil(n.Now() + second)
			list = append(list, n.Queued(clients[1], server).Round(100*ms))
		}
		return list
	}
	first := queues(1, 1)
	if again := queues(1, 10); !slices.Equal(first, again) {
		t.Errorf("with one packet a second the queue is\n%v, with ten\n%v", first, again)
	}
	if slices.Equal(first, queues(2, 1)) || slices.Max(first) < 500*ms || slices.Min(first) > 0 {
		t.Errorf("the queue is %v", first)
	}
}

// A change of the profile keeps the queue of its line. Another bandwidth is another bottleneck.
func TestAChangeOfTheProfileKeepsTheQueue(t *testing.T) {
	p := Path{Line: "home", Bandwidth: 10_000}
	n, server, clients := lineOf(t, 1, 2, p)
	send(t, n, clients[0], server, Datagram, make([]byte, 972))
	p.Loss = 1
	for _, want := range []time.Duration{100 * ms, 0} {
		if err := n.SetProfile(clients[1], server, Profile{Up: p}); err != nil {
			t.Fatal(err)
		}
		if got := n.Queued(clients[0], server); got != want {
			t.Errorf("bandwidth %d: queued %v, want %v", p.Bandwidth, got, want)
		}
		p.Bandwidth = 20_000
	}
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "bandwidth") {
			t.Errorf("cross traffic of no bandwidth: %s", text)
		}
	}()
	n.Cross(clients[0], server, 0, 0, second)
}

func TestAPathDropsPacketsAboveItsMTU(t *testing.T) {
	n, server, clients := lineOf(t, 1, 1, Path{MTU: 576})
	var log []delivery
	watch(n, &log, server)
	for _, size := range []int{548, 549, 1200, 1} {
		send(t, n, clients[0], server, Datagram, make([]byte, size))
	}
	n.RunUntil(second)
	if c := n.Counters(clients[0], server); len(log) != 2 || len(log[0].text) != 548 || c.Oversized != 2 || c.Packets != 4 || c.Bytes != 548+549+1200+1+4*28 {
		t.Errorf("%d packets arrived; %+v", len(log), c)
	}
}

// One bit differs. The reliable channel sends again what arrives corrupted, and delivers it whole.
func TestACorruptedPacketHasOneOtherBit(t *testing.T) {
	n, server, clients := lineOf(t, 1, 1, Path{Corrupt: 0.3, Duplicate: 0.2})
	var log []delivery
	watch(n, &log, server)
	want := strings.Repeat("\x55", 20)
	n.Every(clients[0], 0, 100, func(int64, Time) {
		if n.Now() < 10*second {
			send(t, n, clients[0], server, Datagram, []byte(want))
			send(t, n, clients[0], server, Reliable, []byte(want))
		}
	})
	n.RunUntil(20 * second)
	flipped, reliable := 0, 0
	for _, d := range log {
		bits := 0
		for i := range want {
			for x := want[i] ^ d.text[i]; x != 0; x &= x - 1 {
				bits++
			}
		}
		if flipped += bits; bits > 1 || bits > 0 && d.ch == Reliable {
			t.Fatalf("%d bits differ in a message of channel %d", bits, d.ch)
		}
		if d.ch == Reliable {
			reliable++
		}
	}
	near(t, "corrupted datagrams", float64(flipped), 0.3*1200, 60)
	if c := n.Counters(clients[0], server).Corrupted; reliable != 1000 || c < uint64(flipped)+300 {
		t.Errorf("%d reliable messages arrived of 1000; %d copies are corrupted", reliable, c)
	}
}

// Packets of a socket come from its new address, and only packets to the new address reach it.
func TestASocketBehindANATGetsANewAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewDatagramNet(Config{})
		defer n.Close()
		server, client := listen(t, n, serverPort), listen(t, n, clientPort)
		route(t, n, clientPort, serverPort, Symmetric("", "", Path{Delay: 10 * ms}))
		b := make([]byte, 10)
		want := func(c *PacketConn, text string, from netip.AddrPort) {
			t.Helper()
			if size, got, err := c.ReadFromUDPAddrPort(b); err != nil || string(b[:size]) != text || got != from {
				t.Errorf("read %q from %v (%v), want %q from %v", b[:size], got, err, text, from)
			}
		}
		before := clientPort
		for i, public := range []string{"10.0.0.2:5001", "203.0.113.9:1024", "[2001:db8::1]:7"} {
			public := netip.MustParseAddrPort(public)
			write(t, client, serverPort, []byte("early"))
			write(t, server, before, []byte("late")) // still under way when the address changes
			time.Sleep(5 * ms)
			if err := n.Rebind(clientPort, public); err != nil {
				t.Fatal(err)
			}
			want(server, "early", before)
			write(t, client, serverPort, []byte{byte(i)})
			want(server, string([]byte{byte(i)}), public)
			write(t, server, before, []byte("lost"))
			write(t, server, clientPort, []byte("lost"))
			write(t, server, public, []byte("new"))
			want(client, "new", serverPort)
			before = public
		}
		for local, public := range map[string]string{"10.0.0.1:4000": "10.0.0.2:5000", "10.0.0.3:5": "[2001:db8::1]:7", "10.0.0.3:6": "10.0.0.3:0"} {
			if err := n.Rebind(netip.MustParseAddrPort(local), netip.MustParseAddrPort(public)); err == nil {
				t.Errorf("%s has the public address %s", local, public)
			}
		}
	})
}
