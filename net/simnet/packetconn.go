package simnet

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// PacketConn is a socket of a DatagramNet, with methods of *net.UDPConn. A write never blocks. A packet longer than the
// reader's buffer is truncated, as in UDP.
type PacketConn struct {
	net   *DatagramNet
	local netip.AddrPort

	// All below is guarded by net.mu.
	arrived sync.Cond  // also Close
	waiting []received // in order of arrival
	closed  bool
}

type received struct {
	from    netip.AddrPort
	payload []byte
}

// add puts a copy of an arrived packet behind those that wait. A full socket drops it.
func (c *PacketConn) add(from netip.AddrPort, payload []byte) {
	if len(c.waiting) >= int(c.net.network.config.SocketBuffer) {
		return
	}
	last := len(c.waiting)
	c.waiting = slices.Grow(c.waiting, 1)[:last+1]
	p := &c.waiting[last] // it has the buffer of an earlier packet
	p.from, p.payload = from, append(p.payload[:0], payload...)
	c.arrived.Broadcast()
}

// ReadFromUDPAddrPort waits for a packet and copies it to b.
func (c *PacketConn) ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, netip.AddrPort{}, c.fail("read", net.ErrClosed)
		case len(c.waiting) > 0:
			p := c.waiting[0]
			last := copy(c.waiting, c.waiting[1:])
			c.waiting[last] = p
			c.waiting = c.waiting[:last]
			return copy(b, p.payload), p.from, nil
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
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.closed {
		return 0, c.fail("write", net.ErrClosed)
	}
	c.net.send(c.local, to, b)
	return len(b), nil
}

// LocalAddr is the socket's *net.UDPAddr.
func (c *PacketConn) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(c.local) }

// Close wakes the readers, frees the address, and drops what waits. A second call fails with net.ErrClosed.
func (c *PacketConn) Close() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.closed {
		return c.fail("close", net.ErrClosed)
	}
	c.close()
	return nil
}

func (c *PacketConn) close() {
	c.closed = true
	c.waiting = nil
	delete(c.net.sockets, c.local)
	c.arrived.Broadcast()
}

func (c *PacketConn) fail(op string, err error) error {
	return &net.OpError{Op: op, Net: "simnet", Addr: c.LocalAddr(), Err: err}
}
