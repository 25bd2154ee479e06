package simnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// ProxyConfig sets up a Proxy.
type ProxyConfig struct {
	// Listen is where clients send to. The zero value means any free port of 127.0.0.1.
	Listen netip.AddrPort

	// Target is the server. It must be set.
	Target netip.AddrPort

	// Profile lies between each client and the server, with luck of its own for each client.
	Profile Profile

	// Seed is the root of that luck. The n-th client to appear has the n-th.
	Seed uint64

	// MaxClients bounds the clients, at most 4096; 0 means 64. Each client costs a socket and a goroutine. A client
	// beyond the bound replaces one that was idle for a minute, or is ignored.
	MaxClients int
}

func (c *ProxyConfig) validate() error {
	if !c.Listen.IsValid() {
		c.Listen = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
	}
	if !c.Target.IsValid() || c.Target.Port() == 0 {
		return fmt.Errorf("simnet: ProxyConfig.Target is %v; name the server's address and port", c.Target)
	}
	if c.MaxClients < 0 || c.MaxClients > 4096 {
		return fmt.Errorf("simnet: ProxyConfig.MaxClients is %d, not in [0, 4096]", c.MaxClients)
	}
	if c.MaxClients == 0 {
		c.MaxClients = 64
	}
	return c.Profile.Validate()
}

const (
	proxyIdle     = time.Minute
	proxyInFlight = 4096 // packets under way in one direction of one client
)

// Proxy relays UDP between any number of clients and one server, and does to the packets what its profile says, in real
// time. Like a home router it has one socket towards the server for each client.
type Proxy struct {
	config ProxyConfig
	front  *net.UDPConn
	shaper *shaper[proxyEnd]
	done   sync.WaitGroup

	// Guarded by shaper.mu.
	clients  map[netip.AddrPort]*proxyClient
	appeared uint64
	ignored  uint64   // packets of clients without a place, and oversized ones
	gone     Counters // up and down of clients that were replaced
	goneDown Counters
}

// proxyClient is one client's mapping.
type proxyClient struct {
	address      netip.AddrPort
	back         *net.UDPConn
	up, down     lane
	lastReceived Time
}

// proxyEnd is where a packet leaves the proxy.
type proxyEnd struct {
	client *proxyClient
	up     bool
}

// NewProxy starts a proxy. Close ends it.
func NewProxy(c ProxyConfig) (*Proxy, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	front, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(c.Listen))
	if err != nil {
		return nil, fmt.Errorf("simnet: proxy: %w", err)
	}
	p := &Proxy{config: c, front: front, clients: map[netip.AddrPort]*proxyClient{}}
	p.shaper = newShaper(p.leave)
	p.done.Add(1)
	go p.serveFront()
	return p, nil
}

// Addr is where clients send to.
func (p *Proxy) Addr() netip.AddrPort {
	return p.front.LocalAddr().(*net.UDPAddr).AddrPort()
}

// SetProfile changes the profile for every client, from now on.
func (p *Proxy) SetProfile(q Profile) error {
	if err := q.Validate(); err != nil {
		return err
	}
	p.shaper.mu.Lock()
	defer p.shaper.mu.Unlock()
	p.config.Profile = q
	for _, c := range p.clients {
		c.up.set(q.Up)
		c.down.set(q.Down)
	}
	return nil
}

// Counters returns the sums of all clients, those replaced included, and the number of packets that were ignored
// because of MaxClients or their size.
func (p *Proxy) Counters() (up, down Counters, ignored uint64) {
	p.shaper.mu.Lock()
	defer p.shaper.mu.Unlock()
	up, down = p.gone, p.goneDown
	for _, c := range p.clients {
		up.add(&c.up.Counters)
		down.add(&c.down.Counters)
	}
	return up, down, p.ignored
}

// Close stops the proxy and returns when all of its goroutines have ended. Packets in flight are lost. A second call
// does nothing.
func (p *Proxy) Close() error {
	p.shaper.mu.Lock()
	if p.shaper.closed {
		p.shaper.mu.Unlock()
		return nil
	}
	p.shaper.close()
	err := p.front.Close()
	for _, c := range p.clients {
		err = errors.Join(err, c.back.Close())
	}
	p.shaper.mu.Unlock()
	p.done.Wait()
	return err
}

// serveFront reads what the clients send.
func (p *Proxy) serveFront() {
	defer p.done.Done()
	buffer := make([]byte, MaxPacket+1)
	for errs := 0; errs < maxReadErrors; {
		n, from, err := p.front.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			errs++
			continue
		}
		errs = 0
		p.shaper.mu.Lock()
		if c := p.client(from); c == nil || n > MaxPacket {
			p.ignored++
		} else {
			p.shaper.send(&c.up, proxyEnd{c, true}, buffer[:n])
		}
		p.shaper.mu.Unlock()
	}
}

// maxReadErrors in a row end a reader. A server that is not there makes one for each packet sent to it, so it takes a
// broken socket to get here.
const maxReadErrors = 1 << 16

// serveBack reads what the server sends to one client.
func (p *Proxy) serveBack(c *proxyClient) {
	defer p.done.Done()
	buffer := make([]byte, MaxPacket+1)
	for errs := 0; errs < maxReadErrors; {
		n, err := c.back.Read(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			errs++
			continue
		}
		errs = 0
		p.shaper.mu.Lock()
		if p.shaper.closed || p.clients[c.address] != c {
			p.shaper.mu.Unlock()
			return
		}
		if n > MaxPacket {
			p.ignored++
		} else {
			p.shaper.send(&c.down, proxyEnd{c, false}, buffer[:n])
		}
		p.shaper.mu.Unlock()
	}
}

// client finds the mapping of an address, or makes one if there is a place. The lock is held.
func (p *Proxy) client(from netip.AddrPort) *proxyClient {
	now := time.Since(p.shaper.start)
	if c := p.clients[from]; c != nil {
		c.lastReceived = now
		return c
	}
	if p.shaper.closed || len(p.clients) >= p.config.MaxClients && !p.replaceIdle(now) {
		return nil
	}
	back, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(p.config.Target))
	if err != nil {
		return nil
	}
	place := 2 * p.appeared
	p.appeared++
	c := &proxyClient{address: from, back: back, lastReceived: now}
	c.up = lane{conduit: newConduit(p.config.Seed, place+1, 0, proxyInFlight), id: place % (1 << 24)}
	c.down = lane{conduit: newConduit(p.config.Seed, 0, place+1, proxyInFlight), id: (place + 1) % (1 << 24)}
	c.up.set(p.config.Profile.Up)
	c.down.set(p.config.Profile.Down)
	p.clients[from] = c
	p.done.Add(1)
	go p.serveBack(c)
	return c
}

// replaceIdle frees the place of the client that was silent longest, if that is long enough. The lock is held.
func (p *Proxy) replaceIdle(now Time) bool {
	var idle *proxyClient
	for _, c := range p.clients {
		if idle == nil || c.lastReceived < idle.lastReceived {
			idle = c
		}
	}
	if idle == nil || now-idle.lastReceived < proxyIdle {
		return false
	}
	p.gone.add(&idle.up.Counters)
	p.goneDown.add(&idle.down.Counters)
	delete(p.clients, idle.address)
	idle.back.Close() // ends its reader
	return true
}

// leave sends a packet on. An error means that the other end is not there or that the mapping was replaced: the packet
// is lost, as packets are.
func (p *Proxy) leave(c *conduit, to proxyEnd, q *parcel[proxyEnd]) {
	var err error
	if to.up {
		// The first error may be about a packet before: one that the server was not there to take.
		if _, err = to.client.back.Write(q.payload); err != nil {
			_, err = to.client.back.Write(q.payload)
		}
	} else {
		_, err = p.front.WriteToUDPAddrPort(q.payload, to.client.address)
	}
	if err != nil {
		c.Counters.Cut++
		return
	}
	c.Counters.Delivered++
}
