package simnet

import (
	"errors"
	"fmt"
	"net/netip"
)

// MaxPacket is the largest payload of a UDP packet that crosses Ethernet in one piece. A DatagramNet and a Proxy carry
// no larger one.
const MaxPacket = 1472

// ErrAddress is returned by Listen and WriteTo for an address that cannot be used; the text says why.
var ErrAddress = errors.New("simnet: unusable address")

// firstEphemeral begins the ports that Listen gives out for port 0.
const firstEphemeral = 49152

// DatagramNet is the datagram floor: hosts with addresses, routes between hosts, and sockets. Its methods may be called
// from any goroutine.
//
// Make it inside the synctest bubble that uses it, and Close it there. Runs of the same seed lose and delay the same
// packets of each direction. The scheduler decides the order of packets that several goroutines send at the same
// instant in the same direction.
type DatagramNet struct {
	shaper *shaper[destination]
	config Config

	// Guarded by shaper.mu, as is all of every PacketConn.
	sockets map[netip.AddrPort]*PacketConn
	lanes   map[hosts]*lane
}

type hosts struct{ from, to netip.Addr }

type destination struct{ from, to netip.AddrPort }

// NewDatagramNet makes an empty network whose time starts now.
func NewDatagramNet(c Config) *DatagramNet {
	c.applyDefaults()
	n := &DatagramNet{config: c, sockets: map[netip.AddrPort]*PacketConn{}, lanes: map[hosts]*lane{}}
	n.shaper = newShaper(n.arrive)
	return n
}

// Route lays a link between two hosts, or changes the one that is there: p.Up carries what client sends to server.
// Hosts without a route do not reach each other; a host reaches itself at once.
func (n *DatagramNet) Route(client, server netip.Addr, p Profile) error {
	if err := p.Validate(); err != nil {
		return err
	}
	client, server = client.Unmap(), server.Unmap()
	if client == server || !client.IsValid() || !server.IsValid() {
		return fmt.Errorf("%w: no route from %v to %v", ErrAddress, client, server)
	}
	n.shaper.mu.Lock()
	defer n.shaper.mu.Unlock()
	n.lane(hosts{client, server}).set(p.Up)
	n.lane(hosts{server, client}).set(p.Down)
	return nil
}

// lane returns the direction between two hosts, a new one if there is none.
func (n *DatagramNet) lane(h hosts) *lane {
	l := n.lanes[h]
	if l == nil {
		l = &lane{conduit: newConduit(n.config.Seed, hostSeed(h.from), hostSeed(h.to), n.config.InFlight), id: uint64(len(n.lanes))}
		n.lanes[h] = l
	}
	return l
}

func hostSeed(a netip.Addr) (seed uint64) {
	for _, b := range a.As16() {
		seed = mix(seed, uint64(b))
	}
	return seed
}

// Block cuts the direction between two hosts that have a route, or opens it.
func (n *DatagramNet) Block(from, to netip.Addr, blocked bool) {
	n.shaper.mu.Lock()
	defer n.shaper.mu.Unlock()
	l := n.lanes[hosts{from.Unmap(), to.Unmap()}]
	if l == nil {
		panic(fmt.Sprintf("simnet: there is no route from %v to %v; call Route first", from, to))
	}
	l.blocked = 0
	if blocked {
		l.blocked = 1
	}
}

// Counters returns the counters of one direction. Messages, Segments and what follows them stay zero on this floor.
func (n *DatagramNet) Counters(from, to netip.Addr) Counters {
	n.shaper.mu.Lock()
	defer n.shaper.mu.Unlock()
	if l := n.lanes[hosts{from.Unmap(), to.Unmap()}]; l != nil {
		return l.Counters
	}
	return Counters{}
}

// Listen opens a socket. Its host must be a single one, as 10.0.0.1; port 0 means any free port.
func (n *DatagramNet) Listen(addr netip.AddrPort) (*PacketConn, error) {
	host := addr.Addr().Unmap()
	if !host.IsValid() || host.IsUnspecified() || host.IsMulticast() {
		return nil, fmt.Errorf("%w: %v is not a host's", ErrAddress, addr)
	}
	n.shaper.mu.Lock()
	defer n.shaper.mu.Unlock()
	if n.shaper.closed {
		return nil, fmt.Errorf("%w: the network is closed", ErrAddress)
	}
	addr = netip.AddrPortFrom(host, addr.Port())
	for port := firstEphemeral; addr.Port() == 0; port++ {
		if port > 65535 {
			return nil, fmt.Errorf("%w: no port of %v is free", ErrAddress, host)
		}
		if free := netip.AddrPortFrom(host, uint16(port)); n.sockets[free] == nil {
			addr = free
		}
	}
	if n.sockets[addr] != nil {
		return nil, fmt.Errorf("%w: %v is in use", ErrAddress, addr)
	}
	c := newPacketConn(n, addr)
	n.sockets[addr] = c
	return c, nil
}

// Close closes the network and all of its sockets. Packets in flight are lost.
func (n *DatagramNet) Close() {
	n.shaper.mu.Lock()
	defer n.shaper.mu.Unlock()
	for _, c := range n.sockets {
		c.close() // the order is of no consequence: nothing is delivered any more
	}
	n.shaper.close()
}

// send takes a packet from a socket. The lock is held.
func (n *DatagramNet) send(d destination, payload []byte) {
	h := hosts{d.from.Addr(), d.to.Addr()}
	if h.from != h.to && n.lanes[h] == nil {
		return // no route
	}
	n.shaper.send(n.lane(h), d, payload)
}

// arrive brings a packet to its socket. The lock is held.
func (n *DatagramNet) arrive(c *conduit, d destination, p *parcel[destination]) {
	to := n.sockets[d.to]
	switch {
	case to == nil:
		c.Counters.Cut++
	case !to.file(d.from, p):
		c.Counters.Overrun++
	default:
		c.Counters.Delivered++
	}
}
