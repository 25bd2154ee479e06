//go:build unix

package faults

import (
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/net/client"
	"tendon/net/simnet"
)

var (
	noAddress netip.AddrPort
	gateway   = netip.MustParseAddrPort("10.255.0.1:7777")
)

// bridge connects clients on a simulated network to a server process. It opens one real socket to the server for each socket of a
// client.
type bridge struct {
	*simnet.DatagramNet
	far    *simnet.PacketConn // at gateway
	target netip.AddrPort
	done   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	back   map[netip.AddrPort]*net.UDPConn // by socket of a client
}

// home is the path of a client without a bottleneck.
var home = simnet.Path{Delay: 25 * time.Millisecond, Jitter: simnet.Jitter{Kind: simnet.Exponential, Size: 2 * time.Millisecond}}

func startBridge(b *testing.B, target netip.AddrPort) *bridge {
	n := simnet.NewDatagramNet(simnet.Config{Seed: 1})
	r := &bridge{DatagramNet: n, far: measure.Must(n.Listen(gateway)), target: target, back: map[netip.AddrPort]*net.UDPConn{}}
	r.done.Go(r.up)
	b.Cleanup(r.close)
	return r
}

// host returns the address of a client.
func host(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}) }

// route sets the path between a client and the server. A shared line has its bandwidth in each direction.
func (r *bridge) route(i int, p simnet.Path) {
	both := simnet.Symmetric("", "", p)
	if p.Line != "" {
		both.Up.Line, both.Down.Line = p.Line+" up", p.Line+" down"
	}
	if err := r.Route(host(i), gateway.Addr(), both); err != nil {
		panic(err)
	}
}

// block blocks or opens the directions of a client.
func (r *bridge) block(i int, up, down bool) {
	r.Block(host(i), gateway.Addr(), up)
	r.Block(gateway.Addr(), host(i), down)
}

// listen opens sockets of a client.
func (r *bridge) listen(i int) func(netip.AddrPort) (client.Socket, error) {
	return func(netip.AddrPort) (client.Socket, error) { return r.Listen(netip.AddrPortFrom(host(i), 0)) }
}

// up passes the packets of all clients to the server.
func (r *bridge) up() {
	buffer := make([]byte, simnet.MaxPacket)
	for {
		n, from, err := r.far.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return
		}
		if c := r.towards(from); c != nil {
			if _, err := c.Write(buffer[:n]); err != nil { // the error may be of an earlier packet
				_, _ = c.Write(buffer[:n])
			}
		}
	}
}

// towards returns the real socket that belongs to a socket of a client, or nil after close.
func (r *bridge) towards(from netip.AddrPort) *net.UDPConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	c := r.back[from]
	if c == nil {
		c = measure.Must(net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(r.target)))
		r.back[from] = c
		r.done.Go(func() { r.down(c, from) })
	}
	return c
}

// down passes packets of the server to a socket of a client.
func (r *bridge) down(c *net.UDPConn, to netip.AddrPort) {
	buffer := make([]byte, simnet.MaxPacket)
	for {
		n, err := c.Read(buffer)
		if err == nil {
			_, err = r.far.WriteToUDPAddrPort(buffer[:n], to)
		}
		r.mu.Lock()
		closed := r.closed
		r.mu.Unlock()
		if err != nil && closed {
			return
		}
	}
}

func (r *bridge) close() {
	r.mu.Lock()
	r.closed = true
	for _, c := range r.back {
		c.Close()
	}
	r.mu.Unlock()
	r.DatagramNet.Close()
	r.done.Wait()
}
