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

// The system calls recvmmsg and sendmmsg transfer many datagrams at once. On a loopback they save a third of the processor
// time of a datagram (BenchmarkSocket). They are called directly, because the existing wrappers allocate an address for
// each datagram. The scheduler is not informed, because the calls do not wait.

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

// handle is the part of syscall.RawConn that is used here.
type handle interface {
	Control(f func(fd uintptr)) error
	Read(f func(fd uintptr) (done bool)) error
}

// handleOf returns the handle of a socket of the system; ok is false for any other.
func handleOf(socket endpoint) (h handle, ok bool) {
	switch s := socket.(type) {
	case *pollSocket:
		return s, true
	case *net.UDPConn:
		raw, err := s.SyscallConn()
		return raw, err == nil
	}
	return nil, false
}

// batchReceiver receives with recvmmsg.
type batchReceiver struct {
	rows
	raw   handle
	count int
	errno syscall.Errno
	call  func(fd uintptr) bool // r.receiveMany, bound once
	once  func(fd uintptr)      // the same, whatever it finds
}

// batchSender sends with sendmmsg.
type batchSender struct {
	rows
	raw   handle
	wide  bool // the socket is an IPv6 one
	from  int
	count int
	errno syscall.Errno
	call  func(fd uintptr)
}

// newReceiver returns the best receiver there is for a socket.
func newReceiver(socket endpoint) receiver {
	raw, ok := handleOf(socket)
	if !ok {
		return plainReceiver{socket.(Socket)}
	}
	r := &batchReceiver{raw: raw}
	r.init()
	r.call = r.receiveMany
	r.once = func(fd uintptr) { r.receiveMany(fd) }
	return r
}

// newSender returns the best sender there is for a socket.
func newSender(socket endpoint) sender {
	raw, ok := handleOf(socket)
	if !ok {
		return plainSender{socket.(Socket)}
	}
	s := &batchSender{raw: raw}
	_ = raw.Control(func(fd uintptr) { // a closed socket fails at each send, which is counted
		name, err := unix.Getsockname(int(fd))
		_, s.wide = name.(*unix.SockaddrInet6)
		_ = err // a socket without a name is an IPv4 one as far as it matters here: its sends fail and are counted
	})
	s.init()
	s.call = s.sendMany
	return s
}

func (r *batchReceiver) receive(a *arrivals) error {
	r.prepare(a)
	if err := r.raw.Read(r.call); err != nil {
		return err
	}
	if r.errno != 0 {
		return os.NewSyscallError("recvmmsg", r.errno)
	}
	r.fill(a)
	return nil
}

// poll uses Control, which unlike Read does not wait for another receiver.
func (r *batchReceiver) poll(a *arrivals) bool {
	r.prepare(a)
	_ = r.raw.Control(r.once) // a closed socket has nothing
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

// receiveMany takes what is there; false means that nothing is, and that it is to be called again.
func (r *batchReceiver) receiveMany(fd uintptr) bool {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&r.headers)), batchSize, unix.MSG_DONTWAIT, 0, 0)
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
	for s.from = 0; s.from < n; {
		s.count = n - s.from
		// Control, unlike Write, does not hold the socket against other senders.
		if err := s.raw.Control(s.call); err != nil {
			return lost + n - s.from
		}
		if s.errno != 0 {
			lost++
			s.from++
			continue
		}
		s.from += s.count
	}
	return lost
}

func (s *batchSender) sendMany(fd uintptr) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&s.headers[s.from])), uintptr(s.count), unix.MSG_DONTWAIT, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		s.count, s.errno = int(n), errno
		return
	}
}

// address encodes an address for the family of the socket and returns its size.
func (s *batchSender) address(raw *unix.RawSockaddrInet6, to netip.AddrPort) uint32 {
	port := [2]byte{}
	binary.BigEndian.PutUint16(port[:], to.Port())
	if !s.wide {
		narrow := (*unix.RawSockaddrInet4)(unsafe.Pointer(raw))
		*narrow = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: *(*uint16)(unsafe.Pointer(&port)), Addr: to.Addr().Unmap().As4()}
		return unix.SizeofSockaddrInet4
	}
	*raw = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: *(*uint16)(unsafe.Pointer(&port)), Addr: to.Addr().As16()}
	return unix.SizeofSockaddrInet6
}

// addrPort decodes an address of the system. An IPv4 address in IPv6 form stays in that form; netcode converts it.
func addrPort(raw *unix.RawSockaddrInet6) netip.AddrPort {
	port := (*[2]byte)(unsafe.Pointer(&raw.Port))
	if raw.Family == unix.AF_INET {
		return netip.AddrPortFrom(netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(raw)).Addr), binary.BigEndian.Uint16(port[:]))
	}
	return netip.AddrPortFrom(netip.AddrFrom16(raw.Addr), binary.BigEndian.Uint16(port[:]))
}
