package netcode

import "net/netip"

// tokenID identifies a token: the tag of the sealed private part.
type tokenID [tagSize]byte

type usedToken struct {
	used    bool // for a connection
	token   tokenID
	addr    netip.AddrPort
	expires uint64 // Unix seconds
}

// history holds the tokens presented last, in a ring of fixed size. A token belongs to the address that presented it
// first, and after its connection to no address. A new token replaces one of the next historyScan that has expired or
// was never connected, and otherwise the oldest. So a used token is dropped in its lifetime only after as many further
// tokens of the backend as the ring holds.
type history struct {
	ring     []usedToken
	next     int
	byToken  map[tokenID]int32
	counters *Counters
}

// historyScan bounds the search for an entry that may be replaced.
const historyScan = 16

func (h *history) init(size int) {
	h.ring = make([]usedToken, size)
	h.byToken = make(map[tokenID]int32, size)
}

func (h *history) entry(token tokenID, addr netip.AddrPort, expires, unix uint64) *usedToken {
	if i, ok := h.byToken[token]; ok {
		return &h.ring[i]
	}
	at, forgotten := h.next, uint64(1)
	for i := range min(historyScan, len(h.ring)) {
		old := &h.ring[(h.next+i)%len(h.ring)]
		if !old.used || old.expires <= unix {
			at, forgotten = (h.next+i)%len(h.ring), 0
			break
		}
	}
	h.counters[HistoryForgotten] += forgotten
	h.next = (at + 1) % len(h.ring)
	e := &h.ring[at]
	delete(h.byToken, e.token)
	*e = usedToken{token: token, addr: addr, expires: expires}
	h.byToken[token] = int32(at)
	return e
}
