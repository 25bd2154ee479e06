package simnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// MaxPacket is the largest payload of a UDP packet that crosses Ethernet in one piece. No larger one is carried.
const MaxPacket = 1472

// ErrAddress is returned by Listen and WriteTo for an address that cannot be used; the text has the reason.
var ErrAddress = errors.New("simnet: unusable address")

// firstEphemeral begins the ports that Listen gives out for port 0.
const firstEphemeral = 49152

// DatagramNet simulates UDP: hosts with addresses, routes between hosts, and sockets. Its methods may be called from any
// goroutine. Make it inside the synctest bubble that uses it, and Close it there. The scheduler decides the order of
// packets that several goroutines send at the same instant in the same direction; all else follows from the seed.
type DatagramNet struct {
	mu        sync.Mutex // guards all below, and all of every PacketConn
	network   *Network
	start     time.Time   // time zero of the network
	timer     *time.Timer // set for the next arrival
	closed    bool
	sockets   map[netip.AddrPort]*PacketConn
	nodes     map[netip.Addr]NodeID             // each host is a node
	addresses []netip.Addr                      // by NodeID
	buffer    []byte                            // of a packet with its addresses
	outside   map[netip.AddrPort]netip.AddrPort // of each socket behind a NAT, its public address
	inside    map[netip.AddrPort]netip.AddrPort // the reverse
}

// A packet begins, inside the network, with the addresses and ports of its sender and its receiver.
const (
	addressBytes = 18
	prefixBytes  = 2 * addressBytes
)

// NewDatagramNet makes an empty network whose time starts now.
func NewDatagramNet(c Config) *DatagramNet {
	n := &DatagramNet{network: New(c), start: time.Now(), sockets: map[netip.AddrPort]*PacketConn{}, nodes: map[netip.Addr]NodeID{},
		outside: map[netip.AddrPort]netip.AddrPort{}, inside: map[netip.AddrPort]netip.AddrPort{}}
	n.network.byLink, n.network.prefix = true, prefixBytes
	n.timer = time.AfterFunc(maxDelay, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.advance()
	})
	return n
}

// advance processes what is due and sets the timer. The lock is held.
func (n *DatagramNet) advance() {
	if n.closed {
		return
	}
	now := time.Since(n.start)
	n.network.RunUntil(now)
	if q := n.network.queue; len(q) > 0 {
		n.timer.Reset(q[0].at - now)
	}
}

// Route lays a link between two hosts, or changes the one that is there: p.Up carries what client sends to server.
// Hosts without a route do not reach each other; a host reaches itself at once.
func (n *DatagramNet) Route(client, server netip.Addr, p Profile) error {
	client, server = client.Unmap(), server.Unmap()
	if client == server || !client.IsValid() || !server.IsValid() {
		return fmt.Errorf("%w: no route from %v to %v", ErrAddress, client, server)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	a, b := n.node(client), n.node(server)
	if n.network.route(a, b) != nil {
		return n.network.SetProfile(a, b, p)
	}
	return n.network.Connect(a, b, p)
}

// node returns the node of a host, a new one for a new host.
func (n *DatagramNet) node(host netip.Addr) NodeID {
	if id, ok := n.nodes[host]; ok {
		return id
	}
	id := n.network.AddNode(Clock{})
	n.nodes[host] = id
	n.addresses = append(n.addresses, host)
	n.network.OnMessage(id, func(_ NodeID, _ Channel, packet []byte, _ Time) { n.deliver(packet) })
	return id
}

// Block cuts the direction between two hosts that have a route, or opens it.
func (n *DatagramNet) Block(from, to netip.Addr, blocked bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.network.direction(n.node(from.Unmap()), n.node(to.Unmap()))
	d.blocked = 0
	if blocked {
		d.blocked++
	}
}

// Listen opens a socket. Its host must be a single one, as 10.0.0.1; port 0 means any free port.
func (n *DatagramNet) Listen(addr netip.AddrPort) (*PacketConn, error) {
	host := addr.Addr().Unmap()
	if !host.IsValid() || host.IsUnspecified() || host.IsMulticast() {
		return nil, fmt.Errorf("%w: %v is not a host's", ErrAddress, addr)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
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
	c := &PacketConn{net: n, local: addr}
	c.arrived.L = &n.mu
	n.sockets[addr] = c
	return c, nil
}

// Close closes the network and all of its sockets. Packets in flight are lost.
func (n *DatagramNet) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.sockets {
		c.close() // the order is of no consequence: nothing is delivered any more
	}
	n.closed = true
	n.timer.Stop()
}

// Rebind gives the socket at local a new public address, as a NAT does that has forgotten the old one. From now on its packets
// come from public, and packets to public reach it. Packets to its old address are lost, also those that are under way. The host
// of public needs no route. Rebind fails if public is an address in use.
func (n *DatagramNet) Rebind(local, public netip.AddrPort) error {
	local, public = unmapped(local), unmapped(public)
	n.mu.Lock()
	defer n.mu.Unlock()
	_, taken := n.inside[public]
	if !public.IsValid() || public.Port() == 0 || taken || n.sockets[public] != nil {
		return fmt.Errorf("%w: %v is no free address for %v", ErrAddress, public, local)
	}
	delete(n.inside, n.outside[local])
	n.outside[local], n.inside[public] = public, local
	return nil
}

func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// public returns the address from which a socket's packets come.
func (n *DatagramNet) public(local netip.AddrPort) netip.AddrPort {
	if public, ok := n.outside[local]; ok {
		return public
	}
	return local
}

// local returns the address of the socket that receives the packets to a public address. ok is false if none does.
func (n *DatagramNet) local(public netip.AddrPort) (local netip.AddrPort, ok bool) {
	if local, ok = n.inside[public]; ok {
		return local, true
	}
	_, moved := n.outside[public]
	return public, !moved
}

// send takes a packet from a socket. A packet without a route is lost. The lock is held.
func (n *DatagramNet) send(from, to netip.AddrPort, payload []byte) {
	n.buffer = appendAddress(appendAddress(n.buffer[:0], n.public(from)), to)
	n.buffer = append(n.buffer, payload...)
	target, _ := n.local(to)
	a, known := n.nodes[from.Addr()]
	b, reachable := n.nodes[target.Addr()]
	if from.Addr() == target.Addr() {
		n.deliver(n.buffer)
	} else if known && reachable && n.network.route(a, b) != nil {
		n.advance()
		n.network.carry(n.network.direction(a, b), len(payload), event{kind: kindDatagram, payload: n.buffer}, verdict{})
		n.advance()
	}
}

// deliver brings a packet to its socket, if there is one with room. The lock is held.
func (n *DatagramNet) deliver(packet []byte) {
	target, ok := n.local(address(packet[addressBytes:]))
	if c := n.sockets[target]; c != nil && ok {
		c.add(address(packet), packet[prefixBytes:])
	}
}

func appendAddress(b []byte, a netip.AddrPort) []byte {
	host := a.Addr().As16()
	return binary.BigEndian.AppendUint16(append(b, host[:]...), a.Port())
}

func address(b []byte) netip.AddrPort {
	host := netip.AddrFrom16([16]byte(b)).Unmap()
	return netip.AddrPortFrom(host, binary.BigEndian.Uint16(b[16:]))
}
