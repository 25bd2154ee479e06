package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"tendon/net/netcode"
)

// Socket is a UDP socket. *net.UDPConn and the sockets of net/simnet implement it. Several goroutines use it at the same
// time.
type Socket interface {
	ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
	LocalAddr() net.Addr
	Close() error
}

// endpoint is the common part of all sockets. One that is not a Socket has datagrams of its own.
type endpoint interface {
	LocalAddr() net.Addr
	Close() error
}

const batchSize = 64 // the number of datagrams of one system call, if the system supports that

// arrivals is a batch of received datagrams.
type arrivals struct {
	count  int
	pause  bool // the socket has no more: the reader should wait for some to arrive
	from   [batchSize]netip.AddrPort
	sizes  [batchSize]int
	ages   [batchSize]time.Duration // how long each was in the socket; 0 where it is not known
	buffer [batchSize][arrivalLimit]byte
}

const arrivalLimit = netcode.MaxPacket + 1 // one more than the longest packet, so that longer ones are recognized

func (a *arrivals) packet(i int) []byte { return a.buffer[i][:a.sizes[i]] }

// datagrams reads and writes a socket for one goroutine. receive waits for the first datagram; one goroutine may wait at a
// time. poll does not wait, and reports whether the socket supports that. send never waits: packets that the system refuses
// are lost.
type datagrams interface {
	receive(a *arrivals) error
	poll(a *arrivals) bool
	send(out *netcode.Outbox) (lost int)
}

// socketIO is the socket of one goroutine, with its buffers.
type socketIO struct {
	arrivals
	datagrams
	sealed netcode.Outbox
	stands *standstill
}

// flush sends the sealed packets, or drops them while none may be sent.
func (s *socketIO) flush() (lost int) {
	if lost = s.sealed.Len(); s.stands.sends() {
		lost = s.send(&s.sealed)
	}
	s.sealed.Reset()
	return lost
}

// plainSocket works with any socket, one datagram per call. It does not support poll.
type plainSocket struct{ Socket }

func (s plainSocket) poll(a *arrivals) bool {
	a.count = 0
	return false
}

func (s plainSocket) receive(a *arrivals) error {
	n, from, err := s.ReadFromUDPAddrPort(a.buffer[0][:])
	a.count = 0
	if err == nil {
		a.count, a.from[0], a.sizes[0] = 1, from, n
	}
	return err
}

func (s plainSocket) send(out *netcode.Outbox) (lost int) {
	for i := range out.Len() {
		to, packet := out.At(i)
		if _, err := s.WriteToUDPAddrPort(packet, to); err != nil {
			lost++
		}
	}
	return lost
}

// Sessions is a further socket, with clients that do not use UDP: see Listener of net/web.
type Sessions interface {
	Socket
	// Serves reports whether an address is one that the sessions use. No datagram of another socket is accepted from it.
	Serves(netip.AddrPort) bool
}

// routed is a socket beside sessions. It sends each packet with the one that its address belongs to.
type routed struct {
	datagrams
	sessions Sessions
}

func (r routed) receive(a *arrivals) error {
	err := r.datagrams.receive(a)
	r.clear(a)
	return err
}

func (r routed) poll(a *arrivals) bool {
	supported := r.datagrams.poll(a)
	r.clear(a)
	return supported
}

// clear empties the datagrams that claim to come from a session. netcode ignores empty ones.
func (r routed) clear(a *arrivals) {
	for i := range a.count {
		if r.sessions.Serves(a.from[i]) {
			a.sizes[i] = 0
		}
	}
}

func (r routed) send(out *netcode.Outbox) (lost int) {
	lost = out.Divert(r.sessions.Serves, r.sessions.WriteToUDPAddrPort)
	return lost + r.datagrams.send(out)
}

// socketBuffer is each buffer of the socket, in bytes. It holds a burst of ten thousand packets. The system may grant less.
const socketBuffer = 4 << 20

// listen opens the socket of the server. Its error is a sentence with the remedy.
func listen(address string) (endpoint, error) {
	at, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, fmt.Errorf("server: address %q cannot be listened on: write it as host:port or :port", address)
	}
	conn, err := net.ListenUDP("udp", at)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("server: another program uses UDP port %d: stop it or choose another port (%w)", at.Port, syscall.EADDRINUSE)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("server: UDP port %d needs rights that this user does not have: choose a port above 1023 (%w)", at.Port, os.ErrPermission)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("server: this machine has no address %v: listen on one of its own or on :%d (%w)", at.IP, at.Port, syscall.EADDRNOTAVAIL)
	case err != nil:
		return nil, fmt.Errorf("server: listening on %s: %w", address, err)
	}
	// Smaller buffers are no error: smaller bursts are lost, which Stats shows.
	conn.SetReadBuffer(socketBuffer)
	conn.SetWriteBuffer(socketBuffer)
	return withoutPoller(conn), nil
}
