package server

import (
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// pollSocket is a UDP socket outside the network poller of the Go runtime, which wakes a thread for each datagram that
// arrives or was sent. At a few thousand datagrams per second that takes as long as all other work of the server. A
// pollSocket waits with poll(2), only while it is read.
type pollSocket struct {
	mu      sync.RWMutex // held for reading during calls, which do not wait, and for writing by Close
	fd      int
	closed  bool
	addr    net.Addr
	waiting [1]unix.PollFd // of the one reader
}

const waitLimit = 100 // bounds how long a reader waits before it checks whether the socket is closed, in milliseconds

// withoutPoller returns a socket outside the poller of the runtime, or the same socket if that fails.
func withoutPoller(conn *net.UDPConn) endpoint {
	raw, err := conn.SyscallConn()
	if err != nil {
		return conn
	}
	fd, failed := -1, error(nil)
	err = raw.Control(func(old uintptr) { fd, failed = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	if err != nil || failed != nil {
		return conn
	}
	s := &pollSocket{fd: fd, addr: conn.LocalAddr()}
	s.waiting[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	conn.Close() // fd keeps the socket open
	return s
}

func (s *pollSocket) LocalAddr() net.Addr { return s.addr }

// lock keeps the socket open until mu.RUnlock, or returns false if it is closed.
func (s *pollSocket) lock() bool {
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return false
	}
	return true
}

// Close also ends a waiting Read: shutdown fails on a socket without a peer, but wakes the reader.
func (s *pollSocket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	s.closed = true
	_ = unix.Shutdown(s.fd, unix.SHUT_RDWR)
	return unix.Close(s.fd)
}
