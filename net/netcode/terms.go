package netcode

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// terms are the common end of both parts of a token: [timeout int32] [count uint32], then the addresses, then both keys.
// An address is [1] [4 bytes] [port uint16] for IPv4, [2] [8 groups, uint16 each] [port uint16] for IPv6. All integers
// are little-endian, the groups of an IPv6 address too.
type terms struct {
	TimeoutSeconds int32 // ends the connection if nothing arrives; zero or less: never (development only)
	ClientToServer Key
	ServerToClient Key
	servers        [MaxServers]netip.AddrPort
	count          int // of servers, 1 to MaxServers
}

const (
	addressIPv4 = 1
	addressIPv6 = 2
)

// Servers returns the addresses of the servers, in the order in which a client tries them. It aliases the token.
func (t *terms) Servers() []netip.AddrPort { return t.servers[:t.count] }

// setServers copies addresses, at most MaxServers.
func (t *terms) setServers(addresses []netip.AddrPort) {
	t.count = len(addresses)
	for i, a := range addresses {
		t.servers[i] = plain(a)
	}
}

func (t *terms) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(t.TimeoutSeconds))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(t.count))
	for _, a := range t.Servers() {
		if a.Addr().Is4() {
			ip := a.Addr().As4()
			dst = append(append(dst, addressIPv4), ip[:]...)
		} else {
			ip := reversed(a.Addr().As16())
			dst = append(append(dst, addressIPv6), ip[:]...)
		}
		dst = binary.LittleEndian.AppendUint16(dst, a.Port())
	}
	dst = append(dst, t.ClientToServer[:]...)
	return append(dst, t.ServerToClient[:]...)
}

// take decodes terms and returns the rest. buf must have at least the size of the longest terms, 680 bytes.
func (t *terms) take(buf []byte) (rest []byte, err error) {
	t.TimeoutSeconds = int32(binary.LittleEndian.Uint32(buf))
	count := binary.LittleEndian.Uint32(buf[4:])
	t.count = 0 // on an error
	if count < 1 || count > MaxServers {
		return nil, fmt.Errorf("%w: %d server addresses, want 1 to %d", ErrToken, count, MaxServers)
	}
	t.count = int(count)
	buf = buf[8:]
	for i := range t.count {
		var ip netip.Addr
		switch kind := buf[0]; kind {
		case addressIPv4:
			ip = netip.AddrFrom4([4]byte(buf[1:]))
			buf = buf[5:]
		case addressIPv6:
			ip = netip.AddrFrom16(reversed([16]byte(buf[1:]))).Unmap()
			buf = buf[17:]
		default:
			return nil, fmt.Errorf("%w: server address of type %d, want 1 or 2", ErrToken, kind)
		}
		t.servers[i] = netip.AddrPortFrom(ip, binary.LittleEndian.Uint16(buf))
		buf = buf[2:]
	}
	n := copy(t.ClientToServer[:], buf)
	n += copy(t.ServerToClient[:], buf[n:])
	return buf[n:], nil
}

// reversed swaps the two bytes of each group.
func reversed(ip [16]byte) [16]byte {
	for i := 0; i < len(ip); i += 2 {
		ip[i], ip[i+1] = ip[i+1], ip[i]
	}
	return ip
}

// plain returns the address as tokens encode it: IPv4 in IPv6 form becomes IPv4, and a zone is removed.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// unmapped keeps the zone, which replies to a link-local address need.
func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}
