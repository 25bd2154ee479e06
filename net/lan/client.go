package lan

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Found is a server that answered.
type Found struct {
	Description
	Address netip.AddrPort // that answered: for Join. Of several addresses of a server, the first one that is not of this host
	server  uint64
}

// MaxFound bounds the servers that Find returns.
const MaxFound = 64

// ErrNoAnswer is returned by Join.
var ErrNoAnswer = errors.New("lan: the server does not answer")

const again = time.Second / 4 // when a request without an answer is repeated

// Socket is a UDP socket. *net.UDPConn implements it, and so do simulated networks.
type Socket interface {
	ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
	Close() error
}

// Find asks these addresses, such as those of Broadcast, and returns the servers that answer within a time, in the order of their
// addresses. It closes the socket.
func Find(ctx context.Context, s Socket, to []netip.AddrPort, wait time.Duration) (list []Found, err error) {
	defer s.Close()
	var number [8]byte
	rand.Read(number[:]) // never fails
	w := begin(nil, kindFind, requestSizes[kindFind])
	w.Raw(number[:])
	packet, sent := request(w, kindFind), false
	send := func() {
		for _, at := range to {
			_, failed := s.WriteToUDPAddrPort(packet, at)
			if sent = sent || failed == nil; failed != nil {
				err = failed
			}
		}
	}
	if send(); !sent {
		return nil, err // no network
	}
	receive(ctx, s, wait, send, func(p received) bool {
		server, d, err := readFound(p.packet, binary.LittleEndian.Uint64(number[:]))
		known := slices.IndexFunc(list, func(f Found) bool { return f.server == server })
		switch {
		case err != nil:
		case known < 0 && len(list) < MaxFound:
			list = append(list, Found{d, p.from, server})
		case known >= 0 && list[known].Address.Addr().IsLoopback():
			list[known].Address = p.from
		}
		return false
	})
	slices.SortFunc(list, func(a, b Found) int { return a.Address.Compare(b.Address) })
	return list, ctx.Err()
}

// Join returns a connect token of the server at an address, without the zeros at its end, and the code words that the server shows too.
// Without a token after a time, it returns ErrNoAnswer. It closes the socket.
func Join(ctx context.Context, s Socket, server netip.AddrPort, wait time.Duration) (token []byte, words Words, err error) {
	defer s.Close()
	x, err := NewExchange()
	if err != nil {
		return nil, words, err
	}
	done := false
	send := func() { _, _ = s.WriteToUDPAddrPort(x.Request(), server) } // repeated
	send()
	receive(ctx, s, wait, send, func(p received) bool {
		if p.from == server {
			var changed bool
			if changed, done, _ = x.Receive(p.packet); changed {
				send()
			}
		}
		return done
	})
	switch {
	case done:
		return x.Token, x.Words, nil
	case ctx.Err() != nil:
		return nil, words, ctx.Err()
	}
	return nil, words, ErrNoAnswer
}

type received struct {
	packet []byte
	from   netip.AddrPort
}

// receive passes packets to f until it returns true, until a time has passed, or until the context is done. It calls repeat four times a
// second. The socket must be closed afterwards.
func receive(ctx context.Context, s Socket, wait time.Duration, repeat func(), f func(received) (done bool)) {
	packets, stop := make(chan received), make(chan struct{})
	defer close(stop)
	go func() {
		for {
			buffer := make([]byte, sealedSize+1)
			n, from, err := s.ReadFromUDPAddrPort(buffer)
			if errors.Is(err, net.ErrClosed) {
				return
			} else if err != nil { // such as an ICMP error about an earlier request
				n = 0
			}
			select {
			case packets <- received{buffer[:n], netip.AddrPortFrom(from.Addr().Unmap(), from.Port())}:
			case <-stop:
				return
			}
		}
	}()
	end, ticker := time.After(wait), time.NewTicker(again)
	defer ticker.Stop()
	for {
		select {
		case p := <-packets:
			if f(p) {
				return
			}
		case <-ticker.C:
			repeat()
		case <-end:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Broadcast returns the addresses that reach every server of the local networks of this host, and those on this host. IPv4 only.
func Broadcast() []netip.AddrPort {
	list := []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), Port)}
	for _, p := range Networks() {
		if at := netip.AddrPortFrom(broadcastOf(p), Port); !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	return list
}

// broadcastOf returns the address that reaches every host of an IPv4 network.
func broadcastOf(p netip.Prefix) netip.Addr {
	ip := p.Addr().As4()
	binary.BigEndian.PutUint32(ip[:], binary.BigEndian.Uint32(ip[:])|(1<<(32-p.Bits())-1))
	return netip.AddrFrom4(ip)
}

// Networks returns the IPv4 address of this host in each local network, with the bits of the network.
func Networks() (list []netip.Prefix) {
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagBroadcast == 0 {
			continue
		}
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
				ones, bits := n.Mask.Size()
				if addr := netip.AddrFrom4([4]byte(n.IP.To4())); bits > 0 && ones >= 8 && local(addr) {
					list = append(list, netip.PrefixFrom(addr, ones-(bits-32)))
				}
			}
		}
	}
	return list
}
