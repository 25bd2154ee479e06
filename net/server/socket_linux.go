package server

import (
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"tendon/net/netcode"
)

// The system calls recvmmsg and sendmmsg transfer many datagrams at once, which saves a third of the processor time of a
// datagram (BenchmarkSocket). The existing wrappers allocate an address for each datagram, and inform the scheduler, which
// is not needed: the calls do not wait.

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

type batchReceiver struct {
	rows
	socket *pollSocket
	count  int
	errno  syscall.Errno
}

type batchSender struct {
	rows
	socket *pollSocket
	wide   bool // the socket is an IPv6 one
}

func newReceiver(socket endpoint) receiver {
	s, ok := socket.(*pollSocket)
	if !ok {
		return plainSocket{socket.(Socket)}
	}
	r := &batchReceiver{socket: s}
	r.init()
	return r
}

func newSender(socket endpoint) sender {
	p, ok := socket.(*pollSocket)
	if !ok {
		return plainSocket{socket.(Socket)}
	}
	name, _ := unix.Getsockname(p.fd) // the sends of a socket without a name fail and are counted
	s := &batchSender{socket: p}
	_, s.wide = name.(*unix.SockaddrInet6)
	s.init()
	return s
}

// receive waits for a datagram. One goroutine may call it at a time.
func (r *batchReceiver) receive(a *arrivals) error {
	r.prepare(a)
	for done := false; !done; {
		if !r.socket.lock() {
			return net.ErrClosed
		}
		done = r.receiveMany()
		r.socket.mu.RUnlock()
		if !done {
			_, _ = unix.Poll(r.socket.waiting[:], waitLimit) // receiveMany is called again in any case
		}
	}
	if r.errno != 0 {
		return os.NewSyscallError("recvmmsg", r.errno)
	}
	r.fill(a)
	return nil
}

func (r *batchReceiver) poll(a *arrivals) bool {
	r.prepare(a)
	if r.socket.lock() {
		r.receiveMany()
		r.socket.mu.RUnlock()
	}
	r.fill(a)
	return true
}

func (r *batchReceiver) prepare(a *arrivals) {
	a.count, r.count = 0, 0
	for i := range r.headers {
		r.headers[i].message.Namelen = unix.SizeofSockaddrInet6
		r.vectors[i].Base = &a.buffer[i][0]
		r.vectors[i].SetLen(arrivalLimit)
	}
}

func (r *batchReceiver) fill(a *arrivals) {
	for i := range r.count {
		a.from[i] = addrPort(&r.addresses[i])
		a.sizes[i] = int(r.headers[i].length)
	}
	a.count, a.pause = r.count, r.count < batchSize
}

// receiveMany takes what is there. It returns false if nothing is. The socket is locked.
func (r *batchReceiver) receiveMany() bool {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(r.socket.fd), uintptr(unsafe.Pointer(&r.headers)), batchSize, unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return false
		case 0:
			r.count, r.errno = int(n), 0
		default:
			r.count, r.errno = 0, errno
		}
		return true
	}
}

func (s *batchSender) send(out *netcode.Outbox) (lost int) {
	for first := 0; first < out.Len(); first += batchSize {
		n := min(batchSize, out.Len()-first)
		for i := range n {
			to, packet := out.At(first + i)
			s.headers[i].message.Namelen = s.address(&s.addresses[i], to)
			s.vectors[i].Base = &packet[0]
			s.vectors[i].SetLen(len(packet))
		}
		lost += s.sendRows(n)
	}
	return lost
}

// sendRows sends the first n rows. The call stops at a datagram that the system refuses; that one is skipped.
func (s *batchSender) sendRows(n int) (lost int) {
	if !s.socket.lock() {
		return n
	}
	defer s.socket.mu.RUnlock()
	for from := 0; from < n; {
		sent, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(s.socket.fd), uintptr(unsafe.Pointer(&s.headers[from])), uintptr(n-from),
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
func (s *batchSender) address(raw *unix.RawSockaddrInet6, to netip.AddrPort) uint32 {
	size := uint32(unix.SizeofSockaddrInet6)
	if s.wide {
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
