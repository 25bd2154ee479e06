package netcode

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// addressList is a list of 1 to MaxServers addresses in a token. The layout is [count uint32], then one entry for each
// address: [1] [4 bytes] [port uint16] for IPv4, [2] [8 groups, uint16 each] [port uint16] for IPv6. All integers are
// little-endian, the groups of an IPv6 address too.
type addressList struct {
	count int
	at    [MaxServers]netip.AddrPort
}

const (
	addressIPv4 = 1
	addressIPv6 = 2
)

func (l *addressList) slice() []netip.AddrPort { return l.at[:l.count] }

// set copies addresses, at most MaxServers.
func (l *addressList) set(addresses []netip.AddrPort) {
	l.count = len(addresses)
	for i, a := range addresses {
		l.at[i] = plain(a)
	}
}

func (l *addressList) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(l.count))
	for _, a := range l.slice() {
		if a.Addr().Is4() {
			ip := a.Addr().As4()
			dst = append(append(dst, addressIPv4), ip[:]...)
		} else {
			ip := a.Addr().As16()
			dst = append(dst, addressIPv6)
			for i := 0; i < len(ip); i += 2 {
				dst = append(dst, ip[i+1], ip[i])
			}
		}
		dst = binary.LittleEndian.AppendUint16(dst, a.Port())
	}
	return dst
}

// take decodes a list and returns the rest. buf must have the size of the longest list, 4 + MaxServers*19 bytes, and
// of the fields after it.
func (l *addressList) take(buf []byte) (rest []byte, err error) {
	count := binary.LittleEndian.Uint32(buf)
	l.count = 0 // on an error
	if count < 1 || count > MaxServers {
		return nil, fmt.Errorf("%w: %d server addresses, want 1 to %d", ErrToken, count, MaxServers)
	}
	l.count = int(count)
	buf = buf[4:]
	for i := range l.count {
		var ip netip.Addr
		switch t := buf[0]; t {
		case addressIPv4:
			ip = netip.AddrFrom4([4]byte(buf[1:5]))
			buf = buf[5:]
		case addressIPv6:
			raw := [16]byte(buf[1:17])
			for i := 0; i < len(raw); i += 2 {
				raw[i], raw[i+1] = raw[i+1], raw[i]
			}
			ip = netip.AddrFrom16(raw).Unmap()
			buf = buf[17:]
		default:
			return nil, fmt.Errorf("%w: server address of type %d, want 1 or 2", ErrToken, t)
		}
		l.at[i] = netip.AddrPortFrom(ip, binary.LittleEndian.Uint16(buf))
		buf = buf[2:]
	}
	return buf, nil
}

// plain returns the address as tokens encode it: IPv4 in IPv6 form becomes IPv4, and a zone is removed.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// unmapped keeps the zone, which replies to a link-local address need.
func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}
