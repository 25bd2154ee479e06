package netcode

import "net/netip"

// TokenID identifies a token: the tag of the sealed private part.
type TokenID [tagSize]byte

type usedToken struct {
	used    bool // for a connection
	counted bool // in byClient
	token   TokenID
	client  uint64
	addr    netip.AddrPort // that presented it last
	expires uint64         // Unix seconds
}

// history holds the presented tokens in a ring of fixed size. A token may be presented from any address until it has had its
// connection. A new token replaces one that has expired or was never connected. Without such an entry it is refused. An expired
// token stays until it is replaced. So floor stays low, and few new tokens are refused after the clock is set back.
type history struct {
	ring     []usedToken
	next     int
	sweep    int    // next entry that release examines
	floor    uint64 // latest expiry of the used tokens that were dropped: a clock that is set back makes none of them valid
	byToken  map[TokenID]int32
	byClient map[uint64]int // used tokens that have not expired
}

const (
	// historyScan bounds the search for an entry that may be replaced, and the entries that release examines.
	historyScan = 64
	// tokensPerClient bounds the used tokens of one client, so that it cannot fill the history.
	tokensPerClient = 64
)

func (h *history) init(size int) {
	*h = history{ring: make([]usedToken, size), byToken: make(map[TokenID]int32, size), byClient: map[uint64]int{}}
}

// entry returns the entry of a token, a new one for a token that was not presented. It returns nil if there is no place.
func (h *history) entry(token TokenID, client uint64, addr netip.AddrPort, expires, unix uint64) *usedToken {
	if i, ok := h.byToken[token]; ok {
		return &h.ring[i]
	}
	if expires <= h.floor || h.byClient[client] >= tokensPerClient {
		return nil
	}
	for range min(historyScan, len(h.ring)) {
		at := h.next
		h.next = (at + 1) % len(h.ring)
		if e := &h.ring[at]; !e.used || e.expires <= unix {
			h.drop(e)
			*e = usedToken{token: token, client: client, addr: addr, expires: expires}
			h.byToken[token] = int32(at)
			return e
		}
	}
	return nil
}

// use marks the token of an entry as used.
func (h *history) use(e *usedToken) {
	e.used, e.counted = true, true
	h.byClient[e.client]++
}

// release removes expired tokens among the next entries from byClient, so that their clients may use others.
func (h *history) release(unix uint64) {
	for range min(historyScan, len(h.ring)) {
		if e := &h.ring[h.sweep]; e.expires <= unix {
			h.uncount(e)
		}
		h.sweep = (h.sweep + 1) % len(h.ring)
	}
}

// drop empties an entry.
func (h *history) drop(e *usedToken) {
	if e.used {
		h.floor = max(h.floor, e.expires)
	}
	h.uncount(e)
	delete(h.byToken, e.token)
	*e = usedToken{}
}

// uncount removes an entry from byClient, if it is counted there.
func (h *history) uncount(e *usedToken) {
	if !e.counted {
		return
	}
	e.counted = false
	if h.byClient[e.client]--; h.byClient[e.client] == 0 {
		delete(h.byClient, e.client)
	}
}
