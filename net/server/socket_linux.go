package server

import (
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tendon/net/netcode"
)

// The system calls recvmmsg and sendmmsg transfer many datagrams at once, which saves a third of the processor time of a
// datagram (BenchmarkSocket). The existing wrappers allocate an address for each datagram, and inform the scheduler.

// header is struct mmsghdr of the system.
type header struct {
	message unix.Msghdr
	length  uint32
}

// rows are the arguments of both calls: one header, address and vector for each datagram of a batch.
type rows struct {
	headers   [batchSize]header
	addresses [batchSize]unix.RawSockaddrInet6
	vectors   [batchSize]unix.Iovec
}

func (r *rows) init() {
	for i := range r.headers {
		m := &r.headers[i].message
		m.Name = (*byte)(unsafe.Pointer(&r.addresses[i]))
		m.Iov = &r.vectors[i]
		m.SetIovlen(1)
	}
}

// batch is the datagrams of a pollSocket.
type batch struct {
	socket  *pollSocket
	wide    bool // the socket is an IPv6 one
	in, out rows
	stamps  [batchSize]stamp // of in
}

// stamp is a control message of the system with the wall-clock time at which a datagram arrived.
type stamp struct {
	head unix.Cmsghdr
	at   unix.Timespec
}

func newDatagrams(socket endpoint) datagrams {
	p, ok := socket.(*pollSocket)
	if !ok {
		return plainSocket{socket.(Socket)}
	}
	b := &batch{socket: p}
	name, _ := unix.Getsockname(p.fd) // the sends of a socket without a name fail and are counted
	_, b.wide = name.(*unix.SockaddrInet6)
	b.in.init()
	b.out.init()
	return b
}

func (b *batch) receive(a *arrivals) error {
	for {
		if done, err := b.take(a); done {
			return err
		}
		_, _ = unix.Poll(b.socket.waiting[:], waitLimit) // take is called again in any case
	}
}

func (b *batch) poll(a *arrivals) bool {
	_, _ = b.take(a)
	return true
}

// take reads what has arrived. It returns false if nothing has.
func (b *batch) take(a *arrivals) (done bool, err error) {
	a.count, a.pause = 0, true
	for i := range b.in.headers {
		b.in.headers[i].message.Namelen = unix.SizeofSockaddrInet6
		b.in.vectors[i].Base = &a.buffer[i][0]
		b.in.vectors[i].SetLen(arrivalLimit)
		b.in.headers[i].message.Control = (*byte)(unsafe.Pointer(&b.stamps[i]))
		b.in.headers[i].message.SetControllen(int(unsafe.Sizeof(stamp{})))
	}
	if !b.socket.lock() {
		return true, net.ErrClosed
	}
	defer b.socket.mu.RUnlock()
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(b.socket.fd), uintptr(unsafe.Pointer(&b.in.headers)), batchSize, unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return false, nil
		case 0:
			now := time.Now().UnixNano()
			for i := range n {
				a.from[i] = addrPort(&b.in.addresses[i])
				a.sizes[i] = int(b.in.headers[i].length)
				if a.ages[i] = 0; b.in.headers[i].message.Controllen > 0 {
					a.ages[i] = time.Duration(now - b.stamps[i].at.Nano())
				}
			}
			a.count, a.pause = int(n), n < batchSize
			return true, nil
		}
		return true, os.NewSyscallError("recvmmsg", errno)
	}
}

func (b *batch) send(out *netcode.Outbox) (lost int) {
	for first := 0; first < out.Len(); first += batchSize {
		n := min(batchSize, out.Len()-first)
		for i := range n {
			to, packet := out.At(first + i)
			b.out.headers[i].message.Namelen = b.address(&b.out.addresses[i], to)
			b.out.vectors[i].Base = &packet[0]
			b.out.vectors[i].SetLen(len(packet))
		}
		lost += b.sendRows(n)
	}
	return lost
}

// sendRows sends the first n rows. The call stops at a datagram that the system refuses; that one is skipped.
func (b *batch) sendRows(n int) (lost int) {
	if !b.socket.lock() {
		return n
	}
	defer b.socket.mu.RUnlock()
	for from := 0; from < n; {
		sent, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(b.socket.fd), uintptr(unsafe.Pointer(&b.out.headers[from])), uintptr(n-from),
			unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case unix.EINTR:
		case 0:
			from += int(sent)
		default:
			lost++
			from++
		}
	}
	return lost
}

// address encodes an address for the family of the socket and returns its size.
func (b *batch) address(raw *unix.RawSockaddrInet6, to netip.AddrPort) uint32 {
	size := uint32(unix.SizeofSockaddrInet6)
	if b.wide {
		*raw = unix.RawSockaddrInet6{Family: unix.AF_INET6, Addr: to.Addr().As16()}
	} else {
		*(*unix.RawSockaddrInet4)(unsafe.Pointer(raw)) = unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: to.Addr().Unmap().As4()}
		size = unix.SizeofSockaddrInet4
	}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&raw.Port))[:], to.Port()) // at the same place in both
	return size
}

// addrPort decodes an address of the system. An IPv4 address in IPv6 form stays in that form; netcode converts it.
func addrPort(raw *unix.RawSockaddrInet6) netip.AddrPort {
	port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&raw.Port))[:])
	if raw.Family == unix.AF_INET {
		return netip.AddrPortFrom(netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(raw)).Addr), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom16(raw.Addr), port)
}

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
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) // without it, datagrams count as arrived when they are read
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
