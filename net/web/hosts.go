//go:build !js

package web

import (
	"net"
	"net/netip"
	"sync"
)

// hosts counts the connections of each network.
type hosts struct {
	mu    sync.Mutex
	max   int // of all
	count int
	of    map[netip.Prefix]int
}

// admit counts a connection, until release is called. ok is false if there are too many.
func (h *hosts) admit(a netip.Addr) (release func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	network := networkOf(a)
	if h.count >= h.max || h.of[network] >= connectionsOfHost && !a.IsLoopback() {
		return nil, false
	}
	h.count++
	h.of[network]++
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.count--
		if h.of[network]--; h.of[network] == 0 {
			delete(h.of, network)
		}
	}), true
}

// guarded is a TCP listener that closes connections above the limits of hosts.
type guarded struct {
	net.Listener
	hosts *hosts
}

func (g *guarded) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		release, ok := g.hosts.admit(addrPort(conn.RemoteAddr()).Addr())
		if !ok {
			conn.Close()
			continue
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(socketSendBuffer) // a larger buffer adds delay on a congested line
		}
		return &counted{conn, release}, nil
	}
}

// counted is a connection that is released when it is closed.
type counted struct {
	net.Conn
	release func()
}

func (c *counted) Close() error {
	c.release()
	return c.Conn.Close()
}

// addrPort returns the address of a UDP or TCP peer, or the zero address.
func addrPort(a net.Addr) netip.AddrPort {
	switch a := a.(type) {
	case *net.UDPAddr:
		return a.AddrPort()
	case *net.TCPAddr:
		return a.AddrPort()
	}
	return netip.AddrPort{}
}
