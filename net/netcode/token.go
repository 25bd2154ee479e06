package netcode

import (
	"cmp"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"slices"
	"time"
)

// Key is a private key, shared by the backend and its servers, or the key of one direction of one connection.
type Key [KeySize]byte

// Defaults of TokenRequest.
const (
	DefaultLifetime = 45 * time.Second
	DefaultTimeout  = 5 * time.Second
)

// ErrToken is wrapped by every error about the bytes of a token.
var ErrToken = errors.New("netcode: malformed connect token")

// PrivateToken is the part of a connect token that only the backend and its servers can read.
type PrivateToken struct {
	ClientID uint64
	terms
	UserData [UserDataSize]byte
}

// ConnectToken is the whole token, as the client can read it.
type ConnectToken struct {
	ProtocolID uint64
	Created    uint64 // Unix seconds
	Expires    uint64 // Unix seconds; the token is valid before this second
	nonce      [tokenNonceSize]byte
	sealed     [privateTokenSize]byte
	terms
}

// TokenRequest contains the fields of a new token.
type TokenRequest struct {
	ProtocolID uint64           // identifies a game and its wire version; a server refuses others
	Key        Key              // the private key of the servers
	ClientID   uint64           // identifies the authenticated client
	Servers    []netip.AddrPort // the client tries them in order: 1 to MaxServers. IPv6 zones are not carried
	UserData   []byte           // for the server: at most UserDataSize bytes, zero padded
	Lifetime   time.Duration    // how long the token is valid, in whole seconds, at least one. Zero: DefaultLifetime
	Timeout    time.Duration    // ends a connection if nothing arrives, in whole seconds, at least one. Zero: DefaultTimeout
	Random     io.Reader        // source of keys and nonce. Nil: crypto/rand. Tests use a fixed source
}

func (r *TokenRequest) validate() error {
	switch {
	case len(r.UserData) > UserDataSize:
		return fmt.Errorf("netcode: TokenRequest.UserData has %d bytes, want at most %d", len(r.UserData), UserDataSize)
	case r.Lifetime < time.Second:
		return fmt.Errorf("netcode: TokenRequest.Lifetime is %v, want at least 1s", r.Lifetime)
	case r.Timeout < time.Second || r.Timeout > math.MaxInt32*time.Second:
		return fmt.Errorf("netcode: TokenRequest.Timeout is %v, want 1s to 2^31-1 s", r.Timeout)
	}
	return checkAddresses("TokenRequest.Servers", r.Servers, MaxServers)
}

// checkAddresses returns an error that names the field if the list has not 1 to most addresses.
func checkAddresses(field string, list []netip.AddrPort, most int) error {
	if len(list) < 1 || len(list) > most {
		return fmt.Errorf("netcode: %s has %d addresses, want 1 to %d", field, len(list), most)
	}
	if i := slices.IndexFunc(list, func(a netip.AddrPort) bool { return !a.IsValid() }); i >= 0 {
		return fmt.Errorf("netcode: %s[%d] is not an address", field, i)
	}
	return nil
}

// GenerateToken makes a connect token of TokenSize bytes. It contains the keys of the connection, so send it to the client
// over a private channel. now is the time of the backend; servers compare the expiry with their own time.
func GenerateToken(r TokenRequest, now time.Time) ([]byte, error) {
	r.Lifetime, r.Timeout = cmp.Or(r.Lifetime, DefaultLifetime), cmp.Or(r.Timeout, DefaultTimeout)
	if err := r.validate(); err != nil {
		return nil, err
	}
	public := ConnectToken{ProtocolID: r.ProtocolID, Created: unixSeconds(now)}
	public.Expires = public.Created + uint64(r.Lifetime/time.Second)
	public.TimeoutSeconds = int32(r.Timeout / time.Second)
	random := cmp.Or(r.Random, rand.Reader)
	for _, part := range [][]byte{public.nonce[:], public.ClientToServer[:], public.ServerToClient[:]} {
		if _, err := io.ReadFull(random, part); err != nil {
			return nil, fmt.Errorf("netcode: TokenRequest.Random: %w", err)
		}
	}
	public.setServers(r.Servers)
	private := PrivateToken{ClientID: r.ClientID, terms: public.terms}
	copy(private.UserData[:], r.UserData)
	private.put(public.sealed[:])
	sealToken(public.sealed[:], newTokenAEAD(&r.Key), r.ProtocolID, public.Expires, public.nonce[:])

	token := make([]byte, TokenSize)
	public.put(token)
	return token, nil
}

// ParseConnectToken decodes a token of TokenSize bytes. Its error wraps ErrToken.
func ParseConnectToken(token []byte) (*ConnectToken, error) {
	t := new(ConnectToken)
	if err := t.take(token); err != nil {
		return nil, err
	}
	return t, nil
}

// put writes the plaintext, zero padded, into buf, of privateTokenSize bytes.
func (t *PrivateToken) put(buf []byte) {
	w := binary.LittleEndian.AppendUint64(buf[:0], t.ClientID)
	w = append(t.terms.append(w), t.UserData[:]...)
	clear(buf[len(w):privateTokenSize])
}

// take decodes the plaintext. The last tagSize bytes are ignored.
func (t *PrivateToken) take(buf []byte) error {
	// The longest plaintext ends at byte 944, so no field can be too short: 8 + (8 + 32*19 + 64) + 256.
	if len(buf) != privateTokenSize {
		return fmt.Errorf("%w: private part has %d bytes, want %d", ErrToken, len(buf), privateTokenSize)
	}
	t.ClientID = binary.LittleEndian.Uint64(buf)
	rest, err := t.terms.take(buf[8:])
	copy(t.UserData[:], rest)
	return err
}

// put writes the token, zero padded, into buf, of TokenSize bytes.
func (t *ConnectToken) put(buf []byte) {
	w := append(buf[:0], version...)
	w = binary.LittleEndian.AppendUint64(w, t.ProtocolID)
	w = binary.LittleEndian.AppendUint64(w, t.Created)
	w = binary.LittleEndian.AppendUint64(w, t.Expires)
	w = append(append(w, t.nonce[:]...), t.sealed[:]...)
	w = t.terms.append(w)
	clear(buf[len(w):TokenSize])
}

func (t *ConnectToken) take(buf []byte) error {
	if len(buf) != TokenSize {
		return fmt.Errorf("%w: %d bytes, want %d", ErrToken, len(buf), TokenSize)
	}
	if string(buf[:versionSize]) != version {
		return fmt.Errorf("%w: not a NETCODE 1.02 token", ErrToken)
	}
	buf = buf[versionSize:]
	t.ProtocolID = binary.LittleEndian.Uint64(buf)
	t.Created = binary.LittleEndian.Uint64(buf[8:])
	t.Expires = binary.LittleEndian.Uint64(buf[16:])
	if t.Created > t.Expires {
		return fmt.Errorf("%w: created after it expires", ErrToken)
	}
	n := 24
	n += copy(t.nonce[:], buf[n:])
	n += copy(t.sealed[:], buf[n:])
	_, err := t.terms.take(buf[n:])
	return err
}

// sealToken seals the first 1008 of the 1024 bytes in place; the last 16 become the tag.
func sealToken(buf []byte, key cipher.AEAD, protocolID, expires uint64, nonce []byte) {
	bound := tokenBound(protocolID, expires)
	key.Seal(buf[:0], nonce, buf[:privateTokenSize-tagSize], bound[:])
}

// tokenBound returns the associated data of the seal of a token.
func tokenBound(protocolID, expires uint64) (bound [versionSize + 16]byte) {
	copy(bound[:], version)
	binary.LittleEndian.PutUint64(bound[versionSize:], protocolID)
	binary.LittleEndian.PutUint64(bound[versionSize+8:], expires)
	return bound
}

// unixSeconds returns the timestamp of the standard. Times before 1970 are zero.
func unixSeconds(now time.Time) uint64 { return uint64(max(now.Unix(), 0)) }
