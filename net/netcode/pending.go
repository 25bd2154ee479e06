package netcode

import "net/netip"

// pending is what a server holds of one open challenge: the keys that the answer will be sealed with. The client's user
// data is not here; the client carries it, sealed, in the challenge token.
type pending struct {
	live           bool
	addr           netip.AddrPort
	token          tokenID
	tokenExpires   uint64 // Unix seconds
	clientID       uint64
	challenge      uint64 // sequence of the one challenge token made for this entry
	timeoutSeconds int32
	deadline       int64 // nanoseconds of the server's time
	clientToServer Key
	serverToClient Key
}

// pendingTable holds the open challenges, at most one per address, in a ring of fixed size. A new entry replaces the
// oldest. An entry costs its maker a token sealed by the backend.
type pendingTable struct {
	ring   []pending
	next   int
	byAddr map[netip.AddrPort]int32
}

func (t *pendingTable) init(size int) {
	t.ring = make([]pending, size)
	t.byAddr = make(map[netip.AddrPort]int32, size)
}

// find returns the open challenge of an address, or nil. An entry found past its deadline is removed.
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

// add returns an empty entry for an address that has none, and whether a live one had to go.
func (t *pendingTable) add(addr netip.AddrPort, at int64) (p *pending, evicted bool) {
	p = &t.ring[t.next]
	if p.live {
		evicted = at <= p.deadline
		t.remove(p)
	}
	t.byAddr[addr] = int32(t.next)
	t.next = (t.next + 1) % len(t.ring)
	p.live, p.addr = true, addr
	return p, evicted
}

// remove frees an entry and wipes its keys.
func (t *pendingTable) remove(p *pending) {
	delete(t.byAddr, p.addr)
	*p = pending{}
}
