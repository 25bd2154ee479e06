package simnet

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// maxReadErrors in a row end a reader. A server that is not there makes one for each packet sent to it, so it takes a
// broken socket to get here.
const maxReadErrors = 1 << 16

// The ends of the simulated route of a Proxy.
var (
	nearClient = netip.MustParseAddrPort("10.0.0.1:1")
	nearServer = netip.MustParseAddrPort("10.0.0.2:1")
)

// Proxy relays UDP between a client and a server over a simulated route, in real time. It listens on a free port of
// 127.0.0.1. A packet from a new address replaces the client. The proxy then opens a new socket towards the server, so
// that a client that connects again has a new address there too. A path with a Line has a quarter of it: the share of one of
// four clients.
type Proxy struct {
	route  *DatagramNet
	near   *PacketConn // next to the client
	far    *PacketConn // next to the server
	front  *net.UDPConn
	target netip.AddrPort
	done   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	client netip.AddrPort
	back   *net.UDPConn // towards the server; nil until the first packet
}

// NewProxy starts a proxy for the server at an address. seed is the root of all that is random. Close ends the proxy.
func NewProxy(target netip.AddrPort, profile Profile, seed uint64) (*Proxy, error) {
	if target.Port() == 0 {
		return nil, fmt.Errorf("simnet: the target of a proxy is %v; name the server's address and port", target)
	}
	p := &Proxy{route: NewDatagramNet(Config{Seed: seed}), target: target}
	err := p.SetProfile(profile)
	if err == nil {
		p.front, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	}
	if err != nil {
		p.route.Close()
		return nil, fmt.Errorf("simnet: proxy: %w", err)
	}
	p.near, _ = p.route.Listen(nearClient) // the route is empty, so both are free
	p.far, _ = p.route.Listen(nearServer)
	p.relay(p.front, p.receive)
	p.relay(p.near, func(_ netip.AddrPort, packet []byte) { p.front.WriteToUDPAddrPort(packet, p.client) })
	p.relay(p.far, func(_ netip.AddrPort, packet []byte) {
		// The first error may be about a packet before: one that the server was not there to take.
		if _, err := p.back.Write(packet); err != nil {
			p.back.Write(packet)
		}
	})
	return p, nil
}

// SetProfile changes the route while packets are on it.
func (p *Proxy) SetProfile(profile Profile) error {
	if err := profile.Validate(); err != nil {
		return err
	}
	profile.Up, profile.Down = quarter(profile.Up), quarter(profile.Down)
	return p.route.Route(nearClient.Addr(), nearServer.Addr(), profile)
}

// quarter returns the part of a path's Line that one of four clients has.
func quarter(p Path) Path {
	const clients = 4
	if p.Line != "" {
		p.Line, p.Bandwidth = "", max(1, p.Bandwidth/clients)
		p.QueueBytes = max(1, cmp.Or(p.QueueBytes, defaultQueueBytes)/clients)
		if p.Cross.Bandwidth > 0 {
			p.Cross.Bandwidth = max(1, p.Cross.Bandwidth/clients)
		}
	}
	return p
}

// Addr is where the client sends to.
func (p *Proxy) Addr() netip.AddrPort { return p.front.LocalAddr().(*net.UDPAddr).AddrPort() }

// Close stops the proxy and returns when all of its goroutines have ended. Packets in flight are lost. A second call
// does nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	err := p.front.Close()
	if p.back != nil {
		err = errors.Join(err, p.back.Close())
	}
	p.mu.Unlock()
	p.route.Close()
	p.done.Wait()
	return err
}

// relay starts a goroutine that passes the packets of a socket to handle, with the lock held, until the socket is closed.
// It drops packets above MaxPacket.
func (p *Proxy) relay(socket interface {
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
}, handle func(from netip.AddrPort, packet []byte)) {
	p.done.Go(func() {
		buffer := make([]byte, MaxPacket+1)
		for errs := 0; errs < maxReadErrors; {
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
				handle(from, buffer[:n])
				p.mu.Unlock()
			}
		}
	})
}

// receive sends a packet of a client up.
func (p *Proxy) receive(from netip.AddrPort, packet []byte) {
	if from != p.client && !p.closed {
		back, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(p.target))
		if err != nil {
			return
		}
		if p.back != nil {
			p.back.Close() // ends its reader
		}
		p.client, p.back = from, back
		p.relay(back, func(_ netip.AddrPort, packet []byte) {
			if p.back == back {
				p.far.WriteToUDPAddrPort(packet, nearClient)
			}
		})
	}
	p.near.WriteToUDPAddrPort(packet, nearServer)
}
