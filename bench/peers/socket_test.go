package peers

import (
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// farSocket is a client's UDP socket that is not in Go's poller. A loopback delivers a datagram within the sender's system
// call, wakes the receiver and accounts all of that to the sender. A client on another machine costs a server nothing of
// the kind. So both loads poll for datagrams every readEvery instead of waiting for them.
type farSocket struct {
	descriptor int
	addr       *net.UDPAddr
	closing    sync.Once
	closed     chan struct{}
}

// readEvery is the interval at which a client polls for datagrams.
const readEvery = 4 * time.Millisecond

func newFarSocket() (*farSocket, error) {
	descriptor, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := syscall.SetNonblock(descriptor, true); err != nil {
		return nil, err
	}
	if err := syscall.Bind(descriptor, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, os.NewSyscallError("bind", err)
	}
	name, err := syscall.Getsockname(descriptor)
	if err != nil {
		return nil, err
	}
	at := name.(*syscall.SockaddrInet4)
	return &farSocket{descriptor: descriptor, closed: make(chan struct{}),
		addr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port)))}, nil
}

func (s *farSocket) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	for {
		select {
		case <-s.closed:
			return 0, netip.AddrPort{}, net.ErrClosed
		default:
		}
		n, from, err := syscall.Recvfrom(s.descriptor, b, 0)
		if err == nil {
			at := from.(*syscall.SockaddrInet4)
			return n, netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port)), nil
		}
		time.Sleep(readEvery)
	}
}

func (s *farSocket) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	if err := syscall.Sendto(s.descriptor, b, 0, &syscall.SockaddrInet4{Addr: to.Addr().Unmap().As4(), Port: int(to.Port())}); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close ends reading. The descriptor stays open until the process ends, since it may be in use.
func (s *farSocket) Close() error {
	s.closing.Do(func() { close(s.closed) })
	return nil
}

// packetSocket is a farSocket with the methods that kcp-go needs.
type packetSocket struct{ *farSocket }

func (s packetSocket) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := s.ReadFromUDPAddrPort(b)
	return n, net.UDPAddrFromAddrPort(from), err
}

func (s packetSocket) WriteTo(b []byte, to net.Addr) (int, error) {
	return s.WriteToUDPAddrPort(b, to.(*net.UDPAddr).AddrPort())
}

func (s packetSocket) LocalAddr() net.Addr              { return s.addr }
func (s packetSocket) SetDeadline(time.Time) error      { return nil }
func (s packetSocket) SetReadDeadline(time.Time) error  { return nil }
func (s packetSocket) SetWriteDeadline(time.Time) error { return nil }
