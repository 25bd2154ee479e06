package simnet

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// PacketConn is a socket of a DatagramNet. It is a net.PacketConn and has the methods of *net.UDPConn that carry netip
// addresses, which allocate nothing. A write never blocks; a packet longer than the reader's buffer is cut off, as UDP
// does.
//
// The packets that wait stand in ring[first, first+count), modulo its length.
type PacketConn struct {
	net   *DatagramNet
	local netip.AddrPort

	// All below is guarded by net.shaper.mu.
	arrived sync.Cond // also a deadline's passing and Close
	ring    []waiting
	first   int
	count   int
	closed  bool
	readBy  time.Time
	writeBy time.Time
	alarm   *time.Timer // wakes the readers at readBy
}

type waiting struct {
	from    netip.AddrPort
	payload []byte
}

var _ net.PacketConn = (*PacketConn)(nil)

func newPacketConn(n *DatagramNet, local netip.AddrPort) *PacketConn {
	c := &PacketConn{net: n, local: local}
	c.arrived.L = &n.shaper.mu
	return c
}

// file puts an arrived packet at the end of the ring, or returns false if it is full. It keeps the parcel's buffer and
// leaves an older one in its place.
func (c *PacketConn) file(from netip.AddrPort, p *parcel[destination]) bool {
	if c.count == int(c.net.config.SocketBuffer) {
		return false
	}
	if c.count == len(c.ring) {
		grown := make([]waiting, max(16, 2*len(c.ring)))
		copied := copy(grown, c.ring[c.first:])
		copy(grown[copied:], c.ring[:c.first])
		c.ring, c.first = grown, 0
	}
	w := &c.ring[(c.first+c.count)%len(c.ring)]
	w.from = from
	w.payload, p.payload = p.payload, w.payload
	c.count++
	c.arrived.Signal()
	return true
}

// ReadFromUDPAddrPort waits for a packet and copies it to b.
func (c *PacketConn) ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error) {
	mu := &c.net.shaper.mu
	mu.Lock()
	defer mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, netip.AddrPort{}, c.fail("read", net.ErrClosed)
		case passed(c.readBy):
			return 0, netip.AddrPort{}, c.fail("read", os.ErrDeadlineExceeded)
		case c.count > 0:
			w := &c.ring[c.first]
			c.first = (c.first + 1) % len(c.ring)
			c.count--
			if c.count > 0 {
				c.arrived.Signal() // another reader may have missed its signal
			}
			return copy(b, w.payload), w.from, nil
		}
		c.arrived.Wait()
	}
}

// WriteToUDPAddrPort sends a copy of b.
func (c *PacketConn) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	if len(b) > MaxPacket {
		return 0, c.fail("write", ErrTooLarge)
	}
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	if !to.IsValid() {
		return 0, c.fail("write", ErrAddress)
	}
	mu := &c.net.shaper.mu
	mu.Lock()
	defer mu.Unlock()
	if c.closed {
		return 0, c.fail("write", net.ErrClosed)
	}
	if passed(c.writeBy) {
		return 0, c.fail("write", os.ErrDeadlineExceeded)
	}
	c.net.send(destination{c.local, to}, b)
	return len(b), nil
}

// ReadFrom is ReadFromUDPAddrPort with a *net.UDPAddr, which it allocates.
func (c *PacketConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromUDPAddrPort(b)
	if err != nil {
		return 0, nil, err
	}
	return n, net.UDPAddrFromAddrPort(from), nil
}

// WriteTo is WriteToUDPAddrPort for a *net.UDPAddr.
func (c *PacketConn) WriteTo(b []byte, to net.Addr) (int, error) {
	u, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, c.fail("write", fmt.Errorf("%w: %T is no *net.UDPAddr", ErrAddress, to))
	}
	return c.WriteToUDPAddrPort(b, u.AddrPort())
}

// LocalAddr is the socket's *net.UDPAddr.
func (c *PacketConn) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(c.local) }

// SetDeadline sets both deadlines. The zero time means none.
func (c *PacketConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline makes reads that wait at t or later, those under way included, fail with os.ErrDeadlineExceeded.
func (c *PacketConn) SetReadDeadline(t time.Time) error {
	c.net.shaper.mu.Lock()
	defer c.net.shaper.mu.Unlock()
	if c.closed {
		return c.fail("set", net.ErrClosed)
	}
	if t.IsZero() {
		c.readBy = t
		if c.alarm != nil {
			c.alarm.Stop()
		}
		return nil
	}
	// On the monotonic clock, as the timer is: once it fires, it has passed.
	left := time.Until(t)
	c.readBy = time.Now().Add(left)
	if c.alarm == nil {
		c.alarm = time.AfterFunc(left, c.wake)
	} else {
		c.alarm.Reset(left)
	}
	return nil
}

// wake lets the readers look at the deadline.
func (c *PacketConn) wake() {
	c.net.shaper.mu.Lock()
	defer c.net.shaper.mu.Unlock()
	c.arrived.Broadcast()
}

func passed(deadline time.Time) bool {
	return !deadline.IsZero() && !time.Now().Before(deadline)
}

// SetWriteDeadline makes writes at t or later fail with os.ErrDeadlineExceeded.
func (c *PacketConn) SetWriteDeadline(t time.Time) error {
	c.net.shaper.mu.Lock()
	defer c.net.shaper.mu.Unlock()
	if c.closed {
		return c.fail("set", net.ErrClosed)
	}
	c.writeBy = t
	return nil
}

// Close wakes the readers, frees the address, and drops what waits. A second call fails with net.ErrClosed.
func (c *PacketConn) Close() error {
	c.net.shaper.mu.Lock()
	defer c.net.shaper.mu.Unlock()
	if c.closed {
		return c.fail("close", net.ErrClosed)
	}
	c.close()
	return nil
}

// close is Close with the lock held.
func (c *PacketConn) close() {
	c.closed = true
	if c.alarm != nil {
		c.alarm.Stop()
	}
	c.ring, c.count = nil, 0
	delete(c.net.sockets, c.local)
	c.arrived.Broadcast()
}

func (c *PacketConn) fail(op string, err error) error {
	return &net.OpError{Op: op, Net: "simnet", Addr: net.UDPAddrFromAddrPort(c.local), Err: err}
}
