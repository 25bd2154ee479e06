package netcode

import "net/netip"

// pending is one pending challenge. The user data is not kept: it is in the challenge token.
type pending struct {
	addr           netip.AddrPort // invalid in an empty entry
	token          TokenID
	tokenExpires   uint64 // Unix seconds
	clientID       uint64
	challenge      uint64 // sequence of the one challenge token made for this entry
	first          uint64 // sequence of the first packet of the connection
	timeoutSeconds int32
	deadline       int64 // nanoseconds of the server's time
	clientToServer Key
	serverToClient Key
}

// pendingTable holds the pending challenges, at most one per address and per token, in a ring of fixed size. A new entry
// replaces the oldest. Each entry requires a token sealed by the backend.
type pendingTable struct {
	ring     []pending
	next     int
	byAddr   map[netip.AddrPort]int32
	counters *Counters
}

func (t *pendingTable) init(size int) {
	t.ring = make([]pending, size)
	t.byAddr = make(map[netip.AddrPort]int32, size)
}

// find returns the pending challenge of an address, or nil. It removes an entry after its deadline.
func (t *pendingTable) find(addr netip.AddrPort, at int64) *pending {
	i, ok := t.byAddr[addr]
	if !ok {
		return nil
	}
	p := &t.ring[i]
	if at > p.deadline {
		t.remove(p)
		return nil
	}
	return p
}

// entry returns the pending challenge of an address, an empty one for an address without one. A token that was presented
// from another address before takes its entry along, so one token has one entry, whatever its addresses.
func (t *pendingTable) entry(addr netip.AddrPort, token TokenID, before netip.AddrPort, at int64) *pending {
	p := t.find(addr, at)
	if old := t.find(before, at); old != nil && before != addr && old.token == token {
		if p == nil {
			i := t.byAddr[before]
			delete(t.byAddr, before)
			t.byAddr[addr] = i
			*old = pending{addr: addr}
			return old
		}
		t.remove(old)
	}
	if p != nil {
		return p
	}
	p = &t.ring[t.next]
	if p.addr.IsValid() {
		if at <= p.deadline {
			t.counters[PendingEvicted]++
		}
		t.remove(p)
	}
	t.byAddr[addr] = int32(t.next)
	t.next = (t.next + 1) % len(t.ring)
	p.addr = addr
	return p
}

func (t *pendingTable) remove(p *pending) {
	delete(t.byAddr, p.addr)
	*p = pending{}
}
