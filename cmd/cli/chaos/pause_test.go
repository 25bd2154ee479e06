//go:build linux

package chaos

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tendon/ecs/race"
	"tendon/net/client"
)

// tap counts the packets from each server, also packets to sockets that the clients have closed.
type tap struct {
	t    *testing.T
	mu   sync.Mutex
	from map[netip.AddrPort]int
}

func (a *tap) listen(netip.AddrPort) (client.Socket, error) {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err == nil {
		a.t.Cleanup(func() { _ = c.Close() })
	}
	return &tapped{UDPConn: c, tap: a}, err
}

// count returns the number of packets of a server.
func (a *tap) count(from netip.AddrPort) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.from[from]
}

// tapped is a socket of a tap. It is read until the end of the test.
type tapped struct {
	*net.UDPConn
	tap    *tap
	closed atomic.Bool
}

func (s *tapped) read(b []byte) (int, netip.AddrPort, error) {
	n, from, err := s.UDPConn.ReadFromUDPAddrPort(b)
	if err == nil {
		s.tap.mu.Lock()
		s.tap.from[from]++
		s.tap.mu.Unlock()
	}
	return n, from, err
}

func (s *tapped) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	n, from, err := s.read(b)
	if !s.closed.Load() {
		return n, from, err
	}
	go func() {
		_ = s.SetReadDeadline(time.Time{})
		for buffer, err := make([]byte, 1<<11), error(nil); err == nil; {
			_, _, err = s.read(buffer)
		}
	}()
	return 0, from, net.ErrClosed
}

// Close ends the reads of the client.
func (s *tapped) Close() error {
	s.closed.Store(true)
	return s.SetReadDeadline(time.Unix(1, 0))
}

// Another server claims the room of a paused server. The paused server then sends no packet until the cluster has replied, and suspends the
// room.
func TestAPausedServerSendsNothingUntilTheClusterReplies(t *testing.T) {
	if !race.Long {
		t.Skip("starts three processes: set TENDON_LONG")
	}
	a := &tap{t: t, from: map[netip.AddrPort]int{}}
	w := newWorld(t, size{nodes: 1, servers: 2, rooms: 1, seats: 2, flags: []string{"--fsync", "always"}, listen: a.listen})
	s := w.servers[0]
	until(t, "a server has the room", s.process, func() bool { s = w.busy(0); return s.owned()[roomName(0)] })
	other := w.servers[1-slices.Index(w.servers, s)]
	if a.count(s.address) == 0 {
		t.Fatal("the clients received nothing from the server")
	}
	s.signal(syscall.SIGSTOP)
	until(t, "the other server has the room", other.process, func() bool { return other.owned()[roomName(0)] })
	if missing := w.await(backLimit); missing != nil {
		t.Fatalf("the clients do not play: %s\n%s", summary(missing), w.texts())
	}
	for _, l := range s.links {
		l.set(true, true)
	}
	before, reports, checked := a.count(s.address), s.count("stats"), s.count("cluster_checked")
	s.signal(syscall.SIGCONT)
	until(t, "the server runs again", s.process, func() bool { return s.count("stats") >= reports+2 })
	if n := a.count(s.address) - before; n > len(w.list) { // a signal between a check and the sending lets one packet to each client out
		t.Errorf("the server sent %d packets before the cluster replied", n)
	}
	for _, l := range s.links {
		l.set(false, false)
	}
	until(t, "the cluster replies", s.process, func() bool { return s.count("cluster_checked") > checked })
	if lost := fmt.Sprint(s.last("cluster_checked")["lost"]); lost != fmt.Sprint([]string{roomName(0)}) {
		t.Errorf("the server has lost the rooms %s, want %s", lost, roomName(0))
	}
	until(t, "the server suspends the room", s.process, func() bool { return !s.owned()[roomName(0)] })
	w.close()
	if text := w.checker.text(); text != "" {
		t.Error(text)
	}
}
