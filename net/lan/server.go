package lan

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"net"
	"net/netip"
	"time"

	"tendon/net/limit"
)

// ServerConfig describes a Server.
type ServerConfig struct {
	// Describe returns what clients see in their list. It is called once a second at most, and must not block. Required.
	Describe func() Description
	// Mint returns a connect token for a client at an address, at most MaxToken bytes without the zeros at its end. Required.
	Mint func(client netip.AddrPort) ([]byte, error)
	// Admitted receives the client of each new token, and the code words: at most one a second, eight at once. Optional.
	Admitted func(client netip.AddrPort, words Words)
}

// Server answers clients of the local network. It is not safe for concurrent use.
type Server struct {
	config  ServerConfig
	key     *ecdh.PrivateKey
	secret  [32]byte // of nonces
	number  uint64   // of this server
	seed    maphash.Seed
	sources [256]limit.Limiter[time.Duration] // by hash of the address
	offers  limit.Limiter[time.Duration]
	tokens  limit.Limiter[time.Duration]
	began   time.Time
	shown   Description   // as Describe returned it
	until   time.Duration // when it is called again
	last    transcript    // of the newest token
	sealed  []byte        // the answer with it
}

const nonceLife = 8 * time.Second // a nonce is valid for this to twice this time

// NewServer returns a server with a new key.
func NewServer(c ServerConfig) (*Server, error) {
	if c.Describe == nil || c.Mint == nil {
		return nil, errors.New("lan: ServerConfig.Describe or Mint is nil: set both")
	}
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("lan: no key: %w", err)
	}
	s := &Server{config: c, key: key, seed: maphash.MakeSeed(), offers: limit.New(time.Second/50, 100), tokens: limit.New(time.Second, 8)}
	rand.Read(s.secret[:]) // never fails
	s.number = binary.LittleEndian.Uint64(s.key.PublicKey().Bytes())
	for i := range s.sources {
		s.sources[i] = limit.New(time.Second/10, 30)
	}
	return s, nil
}

// Serve answers requests until the socket is closed.
func (s *Server) Serve(socket Socket) {
	buffer, answer := make([]byte, sealedSize+1), []byte(nil)
	for {
		n, from, err := socket.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		} else if err != nil {
			time.Sleep(time.Second / 100) // such as an ICMP error about an earlier answer
			continue
		}
		at := netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		if answer = s.Answer(answer[:0], buffer[:n], at, time.Now()); len(answer) > 0 {
			_, _ = socket.WriteToUDPAddrPort(answer, from) // best effort
		}
	}
}

// local reports whether an address is of the local network or this host.
func local(a netip.Addr) bool { return a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsLoopback() }

// Answer appends the answer to a request, which is not longer than the request. It appends nothing to a request that is malformed,
// from another network or above a rate limit.
func (s *Server) Answer(dst, packet []byte, from netip.AddrPort, now time.Time) []byte {
	k, r, ok := open(packet)
	if !ok || requestSizes[k] != len(packet) || !local(from.Addr()) {
		return dst
	}
	if s.began.IsZero() {
		s.began = now
	}
	at := now.Sub(s.began)
	if !s.sources[maphash.Comparable(s.seed, from.Addr())%uint64(len(s.sources))].Allow(at) {
		return dst
	}
	switch k {
	case kindFind:
		if number := r.U64(); padded(packet, k, &r) {
			if at >= s.until {
				s.shown, s.until = s.config.Describe(), at+time.Second
			}
			return appendFound(dst, number, s.number, s.shown)
		}
	case kindAsk:
		if c := r.Bytes(keySize); padded(packet, k, &r) && s.offers.Allow(at) {
			return s.offer(dst, [keySize]byte(c), from, at)
		}
	case kindTake:
		key, opening, nonce := r.Bytes(keySize), r.Bytes(nonceSize), r.Bytes(nonceSize)
		if padded(packet, k, &r) {
			return s.take(dst, key, opening, [nonceSize]byte(nonce), from, at)
		}
	}
	return dst
}

func (s *Server) offer(dst []byte, c [keySize]byte, from netip.AddrPort, at time.Duration) []byte {
	nonce := s.nonce(c, from, at/nonceLife)
	w := begin(dst, kindOffer, requestSizes[kindAsk])
	w.Raw(c[:idSize])
	w.Raw(s.key.PublicKey().Bytes())
	w.Raw(nonce[:])
	return w.Bytes()
}

// nonce returns the server's nonce for a commitment in a period. Only an Offer for that commitment contains it, so a server keeps nothing
// of an exchange.
func (s *Server) nonce(c [keySize]byte, from netip.AddrPort, period time.Duration) (nonce [nonceSize]byte) {
	h := hmac.New(sha256.New, s.secret[:])
	h.Write(c[:])
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(period)))
	address, _ := from.MarshalBinary() // never fails
	h.Write(address)
	copy(nonce[:], h.Sum(nil))
	return nonce
}

func (s *Server) take(dst, key, opening []byte, nonce [nonceSize]byte, from netip.AddrPort, at time.Duration) []byte {
	c, period := commitment(key, opening), at/nonceLife
	if nonce != s.nonce(c, from, period) && nonce != s.nonce(c, from, period-1) {
		return dst
	}
	t := transcriptOf(c, s.key.PublicKey().Bytes(), nonce, key, opening)
	if t == s.last { // the answer was lost
		return append(dst, s.sealed...)
	}
	if !s.tokens.Allow(at) {
		return dst
	}
	seal, err := t.sealer(s.key, key)
	if err != nil {
		return dst
	}
	token, err := s.config.Mint(from)
	if token = bytes.TrimRight(token, "\x00"); err != nil || len(token) == 0 || len(token) > MaxToken {
		return dst
	}
	var number [sealNonce]byte
	rand.Read(number[:]) // never fails
	w := begin(s.sealed[:0], kindSealed, sealedSize)
	w.Raw(c[:idSize])
	w.Raw(number[:])
	w.Raw(seal.Seal(nil, number[:], token, t[:]))
	s.last, s.sealed = t, w.Bytes()
	if s.config.Admitted != nil {
		s.config.Admitted(from, t.words())
	}
	return append(dst, s.sealed...)
}
