package netcode

import "net/netip"

// Outbox collects the datagrams that a Server or Client sends, in order. The caller writes them to the socket and calls
// Reset, which keeps the memory. The zero value is ready.
type Outbox struct {
	to   []netip.AddrPort
	ends []int
	buf  []byte
}

// Len returns the number of datagrams.
func (o *Outbox) Len() int { return len(o.to) }

// At returns datagram i and its destination. The bytes are valid until the next call with the Outbox.
func (o *Outbox) At(i int) (to netip.AddrPort, packet []byte) {
	start := 0
	if i > 0 {
		start = o.ends[i-1]
	}
	return o.to[i], o.buf[start:o.ends[i]:o.ends[i]]
}

// Divert passes the datagrams for which of returns true to write, and removes them. It returns the number of errors.
func (o *Outbox) Divert(of func(netip.AddrPort) bool, write func([]byte, netip.AddrPort) (int, error)) (failed int) {
	kept, start, end := 0, 0, 0 // end: of the bytes that are kept
	for i, to := range o.to {
		packet := o.buf[start:o.ends[i]]
		start = o.ends[i]
		if of(to) {
			if _, err := write(packet, to); err != nil {
				failed++
			}
			continue
		}
		if end += len(packet); end != start {
			copy(o.buf[end-len(packet):], packet)
		}
		o.to[kept], o.ends[kept] = to, end
		kept++
	}
	o.to, o.ends, o.buf = o.to[:kept], o.ends[:kept], o.buf[:end]
	return failed
}

// Bytes returns the sum of the sizes of the datagrams.
func (o *Outbox) Bytes() int { return len(o.buf) }

// Reset empties the Outbox.
func (o *Outbox) Reset() {
	o.to, o.ends, o.buf = o.to[:0], o.ends[:0], o.buf[:0]
}

// close ends the datagram that was appended to buf.
func (o *Outbox) close(to netip.AddrPort) {
	o.to = append(o.to, to)
	o.ends = append(o.ends, len(o.buf))
}
