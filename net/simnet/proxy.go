package simnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// ProxyConfig sets up a Proxy.
type ProxyConfig struct {
	// Target is the server. It must be set.
	Target netip.AddrPort

	// Profile lies between each client and the server, with luck of its own for each client.
	Profile Profile

	// Seed is the root of that luck. The n-th client to appear has the n-th.
	Seed uint64
}

const (
	proxyIdle    = time.Minute // without a packet, after which a new client may replace one
	proxyClients = 64          // each costs a socket and a goroutine

	// maxReadErrors in a row end a reader. A server that is not there makes one for each packet sent to it, so it takes a
	// broken socket to get here.
	maxReadErrors = 1 << 16
)

// Proxy relays UDP between up to 64 clients and one server, and does to the packets what its profile says, in real time.
// It listens on a free port of 127.0.0.1. Like a home router it has one socket towards the server for each client.
type Proxy struct {
	*realtime
	config ProxyConfig
	front  *net.UDPConn
	done   sync.WaitGroup

	clients []*proxyClient // client i is node i + 1 of the network; guarded by mu
}

// proxyClient is one client's mapping.
type proxyClient struct {
	address      netip.AddrPort
	back         *net.UDPConn
	lastReceived time.Time
	up, down     *direction
}

// NewProxy starts a proxy. Close ends it.
func NewProxy(c ProxyConfig) (*Proxy, error) {
	if !c.Target.IsValid() || c.Target.Port() == 0 {
		return nil, fmt.Errorf("simnet: ProxyConfig.Target is %v; name the server's address and port", c.Target)
	}
	if err := c.Profile.Validate(); err != nil {
		return nil, err
	}
	front, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("simnet: proxy: %w", err)
	}
	p := &Proxy{config: c, front: front, realtime: newRealtime(Config{Seed: c.Seed})}
	p.network.OnMessage(p.network.AddNode(Clock{}), p.sendUp)
	p.done.Go(func() {
		p.read(front, func(from netip.AddrPort, packet []byte) bool {
			if c := p.client(from); c != nil {
				p.send(c.up, packet, 0)
			}
			return true
		})
	})
	return p, nil
}

// Addr is where clients send to.
func (p *Proxy) Addr() netip.AddrPort { return p.front.LocalAddr().(*net.UDPAddr).AddrPort() }

// Close stops the proxy and returns when all of its goroutines have ended. Packets in flight are lost. A second call
// does nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.close()
	err := p.front.Close()
	for _, c := range p.clients {
		err = errors.Join(err, c.back.Close())
	}
	p.mu.Unlock()
	p.done.Wait()
	return err
}

// read passes the packets of a socket to handle, with the lock held, until the socket is closed or handle returns false.
// It drops packets above MaxPacket.
func (p *Proxy) read(socket *net.UDPConn, handle func(from netip.AddrPort, packet []byte) bool) {
	buffer := make([]byte, MaxPacket+1)
	for errs, more := 0, true; more && errs < maxReadErrors; {
		n, from, err := socket.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			errs++
			continue
		}
		errs = 0
		if n <= MaxPacket {
			p.mu.Lock()
			more = handle(from, buffer[:n])
			p.mu.Unlock()
		}
	}
}

// client finds the mapping of an address, or makes one if there is a place. The lock is held.
func (p *Proxy) client(from netip.AddrPort) *proxyClient {
	if i := slices.IndexFunc(p.clients, func(c *proxyClient) bool { return c.address == from }); i >= 0 {
		p.clients[i].lastReceived = time.Now()
		return p.clients[i]
	}
	place := p.place()
	if place < 0 || p.closed {
		return nil
	}
	back, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(p.config.Target))
	if err != nil {
		return nil
	}
	id := NodeID(place + 1)
	if place < len(p.clients) {
		p.clients[place].back.Close() // ends its reader
	} else {
		p.clients = append(p.clients, nil)
		p.network.AddNode(Clock{})
		if err := p.network.Connect(id, 0, p.config.Profile); err != nil {
			panic(err) // NewProxy has validated the profile, and the node is new
		}
		p.network.OnMessage(id, func(_ NodeID, _ Channel, packet []byte, _ Time) {
			p.front.WriteToUDPAddrPort(packet, p.clients[place].address)
		})
	}
	c := &proxyClient{address: from, back: back, lastReceived: time.Now(), up: p.network.direction(id, 0), down: p.network.direction(0, id)}
	p.clients[place] = c
	p.done.Go(func() {
		p.read(back, func(_ netip.AddrPort, packet []byte) bool {
			if p.clients[place] != c {
				return false
			}
			p.send(c.down, packet, 0)
			return true
		})
	})
	return c
}

// place returns the index for a new client: a free one, or that of the client that was idle longest, if that is long
// enough. It returns −1 if there is none. The lock is held.
func (p *Proxy) place() int {
	if len(p.clients) < proxyClients {
		return len(p.clients)
	}
	idle := 0
	for i, c := range p.clients {
		if c.lastReceived.Before(p.clients[idle].lastReceived) {
			idle = i
		}
	}
	if time.Since(p.clients[idle].lastReceived) < proxyIdle {
		return -1
	}
	return idle
}

// sendUp sends a packet to the server. An error means that the server is not there: the packet is lost.
func (p *Proxy) sendUp(from NodeID, _ Channel, packet []byte, _ Time) {
	// The first error may be about a packet before: one that the server was not there to take.
	back := p.clients[from-1].back
	if _, err := back.Write(packet); err != nil {
		back.Write(packet)
	}
}
