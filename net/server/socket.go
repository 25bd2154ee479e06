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

// Socket is what the server needs of a UDP socket. *net.UDPConn is one, and so are the sockets of net/simnet. Several
// goroutines use it at the same time.
type Socket interface {
	ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
	SetReadDeadline(t time.Time) error
	LocalAddr() net.Addr
	Close() error
}

// endpoint is what the server itself asks of a socket. One that is no Socket has a receiver and a sender of its own.
type endpoint interface {
	LocalAddr() net.Addr
	Close() error
}

// batchSize is how many datagrams go through one system call, where the system can.
const batchSize = 64

// arrivals is a batch of datagrams as they came: the first count of each row are valid.
type arrivals struct {
	count  int
	pause  bool // the reader does well to let some more gather
	from   [batchSize]netip.AddrPort
	sizes  [batchSize]int
	buffer [batchSize][arrivalLimit]byte
}

// arrivalLimit is one more than the longest packet, so that a longer one is seen to be longer.
const arrivalLimit = netcode.MaxPacket + 1

func (a *arrivals) packet(i int) []byte { return a.buffer[i][:a.sizes[i]] }

// receiver takes datagrams that are there: receive waits for the first, poll does not, and reports whether the socket
// can be asked that way. It belongs to one goroutine; several receivers of one socket work side by side, one of which
// may wait.
type receiver interface {
	receive(a *arrivals) error
	poll(a *arrivals) bool
}

// sender writes an outbox to the socket. It never waits: what the system does not take is lost, as on any network. It
// belongs to one goroutine; several senders of one socket work side by side.
type sender interface {
	send(out *netcode.Outbox) (lost int)
}

// plainReceiver and plainSender work with any socket, one datagram a call.
type plainReceiver struct{ socket Socket }

// poll finds nothing: such a socket can only be waited for.
func (r plainReceiver) poll(a *arrivals) bool {
	a.count = 0
	return false
}

func (r plainReceiver) receive(a *arrivals) error {
	n, from, err := r.socket.ReadFromUDPAddrPort(a.buffer[0][:])
	a.count = 0
	if err == nil {
		a.count, a.from[0], a.sizes[0] = 1, from, n
	}
	return err
}

type plainSender struct{ socket Socket }

func (s plainSender) send(out *netcode.Outbox) (lost int) {
	for i := range out.Len() {
		to, packet := out.At(i)
		if _, err := s.socket.WriteToUDPAddrPort(packet, to); err != nil {
			lost++
		}
	}
	return lost
}

// receiveBuffer and sendBuffer are asked of the system for the server's socket, in bytes. Packets wait for at most
// one readPause and one batch of work, so these are bursts of ten thousand packets; the system may grant less.
const (
	receiveBuffer = 4 << 20
	sendBuffer    = 4 << 20
)

// listen opens the server's socket. Its error is a sentence that says what to do.
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
	// Smaller buffers than asked for are no error: bursts are lost earlier, and Stats shows it.
	conn.SetReadBuffer(receiveBuffer)
	conn.SetWriteBuffer(sendBuffer)
	return quiet(conn), nil
}
