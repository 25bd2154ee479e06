package simnet

import (
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// PacketConn is a socket of a DatagramNet. It has the methods of *net.UDPConn that carry netip addresses, which allocate
// nothing. A write never blocks. A packet longer than the reader's buffer is truncated, as in UDP.
//
// The packets that wait are ring[first, first+count), modulo its length.
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
	alarm   *time.Timer // wakes the readers at readBy
}

type waiting struct {
	from    netip.AddrPort
	payload []byte
}

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
	c.net.send(destination{c.local, to}, b)
	return len(b), nil
}

// LocalAddr is the socket's *net.UDPAddr.
func (c *PacketConn) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(c.local) }

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
