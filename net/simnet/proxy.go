package simnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// maxReadErrors in a row end a reader. A server that is not there makes one for each packet sent to it, so it takes a
// broken socket to get here.
const maxReadErrors = 1 << 16

// Proxy relays UDP between a client and a server, and does to the packets what its profile says, in real time. It
// listens on a free port of 127.0.0.1. A packet from a new address replaces the client. The proxy then opens a new socket
// towards the server, so that a client that connects again has a new address there too.
type Proxy struct {
	*realtime
	target   netip.AddrPort
	front    *net.UDPConn
	up, down *direction
	done     sync.WaitGroup

	// Guarded by mu.
	client netip.AddrPort
	back   *net.UDPConn // nil until the first packet
}

// NewProxy starts a proxy for the server at an address. seed is the root of all that is random. Close ends the proxy.
func NewProxy(target netip.AddrPort, profile Profile, seed uint64) (*Proxy, error) {
	if target.Port() == 0 {
		return nil, fmt.Errorf("simnet: the target of a proxy is %v; name the server's address and port", target)
	}
	r := newRealtime(Config{Seed: seed})
	server, client := r.network.AddNode(Clock{}), r.network.AddNode(Clock{})
	if err := r.network.Connect(client, server, profile); err != nil {
		return nil, err
	}
	front, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("simnet: proxy: %w", err)
	}
	p := &Proxy{realtime: r, target: target, front: front, up: r.network.direction(client, server), down: r.network.direction(server, client)}
	r.network.OnMessage(server, func(_ NodeID, _ Channel, packet []byte, _ Time) {
		// The first error may be about a packet before: one that the server was not there to take.
		if _, err := p.back.Write(packet); err != nil {
			p.back.Write(packet)
		}
	})
	r.network.OnMessage(client, func(_ NodeID, _ Channel, packet []byte, _ Time) { front.WriteToUDPAddrPort(packet, p.client) })
	p.done.Go(func() { p.read(front, p.receive) })
	return p, nil
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
	p.close()
	err := p.front.Close()
	if p.back != nil {
		err = errors.Join(err, p.back.Close())
	}
	p.mu.Unlock()
	p.done.Wait()
	return err
}

// read passes the packets of a socket to handle, with the lock held, until the socket is closed. It drops packets above
// MaxPacket.
func (p *Proxy) read(socket *net.UDPConn, handle func(from netip.AddrPort, packet []byte)) {
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
}

// receive sends a packet of a client up. The lock is held.
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
		p.done.Go(func() {
			p.read(back, func(_ netip.AddrPort, packet []byte) {
				if p.back == back {
					p.send(p.down, packet, 0)
				}
			})
		})
	}
	p.send(p.up, packet, 0)
}
