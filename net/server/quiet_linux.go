package server

import (
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// quietSocket is a UDP socket that Go's poller does not know. The poller watches every socket it knows for both
// directions and wakes a thread at each datagram that comes or has left, whether anybody waits or not: at a few thousand
// datagrams a second that takes as long as all the server's work. Here nobody is woken but who waits.
type quietSocket struct {
	mu      sync.RWMutex // held for reading during calls, which do not wait, and for writing while it is closed
	fd      int
	closed  bool
	addr    net.Addr
	waiting [1]unix.PollFd // the one reader's
}

// waitLimit bounds how long a reader waits before it looks whether the socket was closed, in milliseconds.
const waitLimit = 100

// quiet takes a socket out of the poller's hands. Where it cannot, the socket stays as it is.
func quiet(conn *net.UDPConn) endpoint {
	raw, err := conn.SyscallConn()
	if err != nil {
		return conn
	}
	fd, failed := -1, error(nil)
	err = raw.Control(func(old uintptr) { fd, failed = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	if err != nil || failed != nil {
		return conn
	}
	s := &quietSocket{fd: fd, addr: conn.LocalAddr()}
	s.waiting[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	conn.Close() // the socket lives on under fd
	return s
}

func (s *quietSocket) LocalAddr() net.Addr { return s.addr }

// Control calls f with the socket.
func (s *quietSocket) Control(f func(fd uintptr)) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return net.ErrClosed
	}
	f(uintptr(s.fd))
	return nil
}

// Read calls f until it is done, and waits for a datagram in between. It is for one goroutine at a time.
func (s *quietSocket) Read(f func(fd uintptr) (done bool)) error {
	for {
		s.mu.RLock()
		closed := s.closed
		done := !closed && f(uintptr(s.fd))
		s.mu.RUnlock()
		switch {
		case closed:
			return net.ErrClosed
		case done:
			return nil
		}
		_, _ = unix.Poll(s.waiting[:], waitLimit) // whatever it finds, f looks again
	}
}

// Close ends the waiting too: a shutdown is refused to a socket without a peer, and wakes who waits all the same.
func (s *quietSocket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	s.closed = true
	_ = unix.Shutdown(s.fd, unix.SHUT_RDWR)
	return unix.Close(s.fd)
}
