package web

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"tendon/net/wire"
)

// Endpoint describes how browsers reach a server.
type Endpoint struct {
	Address netip.AddrPort // the server's address in connect tokens
	Web     string         // its address for browsers, HOST:PORT, 1 to MaxWeb bytes
	Hashes  []Hash         // of its self-signed certificates, at most 4
}

// Bounds of a list of endpoints.
const (
	MaxEndpoints = 32  // in a list: as many as servers in a connect token
	MaxWeb       = 255 // bytes of an Endpoint.Web
	maxHashes    = 4
)

// ErrEndpoints is wrapped by every error of ParseEndpoints.
var ErrEndpoints = errors.New("web: not a list of endpoints")

// AppendEndpoints appends a list of endpoints, as in STANDARD.md. It skips endpoints whose Address is invalid or whose Web is not 1 to MaxWeb
// bytes, then those beyond MaxEndpoints. It drops hashes beyond the fourth.
func AppendEndpoints(dst []byte, list []Endpoint) []byte {
	list = slices.DeleteFunc(slices.Clone(list), func(e Endpoint) bool { return len(e.Web) == 0 || len(e.Web) > MaxWeb || !e.Address.IsValid() })
	list = list[:min(len(list), MaxEndpoints)]
	w := wire.NewWriter(dst, MaxEndpoints*(MaxWeb+maxHashes*len(Hash{})+32))
	w.Uvarint(uint64(len(list)))
	for _, e := range list {
		w.Blob(e.Address.Addr().Unmap().WithZone("").AsSlice())
		w.U16(e.Address.Port())
		w.Blob([]byte(e.Web))
		hashes := e.Hashes[:min(len(e.Hashes), maxHashes)]
		w.Uvarint(uint64(len(hashes)))
		for _, h := range hashes {
			w.Raw(h[:])
		}
	}
	return w.Bytes()
}

// ParseEndpoints is the inverse of AppendEndpoints. It checks all sizes before it allocates.
func ParseEndpoints(b []byte) ([]Endpoint, error) {
	r := wire.NewReader(b)
	const least = 1 + 4 + 2 + 1 + 1 + 1 // bytes of an endpoint
	list := make([]Endpoint, 0, r.Count(MaxEndpoints, least))
	for range cap(list) {
		var e Endpoint
		addr, ok := netip.AddrFromSlice(r.Blob(16))
		e.Address = netip.AddrPortFrom(addr, r.U16())
		e.Web = string(r.Blob(MaxWeb))
		e.Hashes = make([]Hash, r.Count(maxHashes, len(Hash{})))
		for i := range e.Hashes {
			copy(e.Hashes[i][:], r.Bytes(len(Hash{})))
		}
		if r.Err() == nil && (!ok || e.Web == "") {
			return nil, fmt.Errorf("%w: endpoint %d has no valid address, or no web address", ErrEndpoints, len(list))
		}
		list = append(list, e)
	}
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEndpoints, err)
	}
	return list, nil
}

// Targets returns the targets of the Listener at a public address, HOST:PORT: WebTransport, then WebSocket. hashes are those of its
// self-signed certificates, if it uses them. On a loopback address it then accepts WebSockets without TLS.
func Targets(address string, hashes []Hash) []Target {
	socket := "wss://"
	if Plain(address, hashes) {
		socket = "ws://"
	}
	return []Target{{URL: "https://" + address + Path, Hashes: hashes}, {URL: socket + address + Path, Hashes: hashes}}
}

// ParseHashes returns the hashes of a list of bytes. It leaves out those of another size.
func ParseHashes(list [][]byte) (hashes []Hash) {
	for _, b := range list {
		if len(b) == len(Hash{}) {
			hashes = append(hashes, Hash(b))
		}
	}
	return hashes
}

// HashBytes is the inverse of ParseHashes.
func HashBytes(hashes []Hash) (list [][]byte) {
	for _, h := range hashes {
		list = append(list, h[:])
	}
	return list
}

// Plain reports whether the Listener at a public address serves pages and WebSockets without TLS: with self-signed certificates on a
// loopback address.
func Plain(address string, hashes []Hash) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.Addr().IsLoopback() && len(hashes) > 0
}
