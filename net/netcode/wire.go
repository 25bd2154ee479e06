package netcode

import (
	"crypto/cipher"
	"encoding/binary"

	"golang.org/x/crypto/chacha20poly1305"
)

// Sizes in bytes. All of them are fixed by the standard.
const (
	KeySize      = 32   // a private key, or the key of one direction
	TokenSize    = 2048 // a connect token as the backend sends it
	UserDataSize = 256  // opaque bytes a token carries to the server
	MaxServers   = 32   // server addresses in one token
	MaxPayload   = 1200 // largest payload; the smallest is 1
	MaxPacket    = 1 + maxSequenceSize + MaxPayload + tagSize

	versionSize      = 13
	nonceSize        = 12 // packets and challenge tokens
	tokenNonceSize   = 24 // connect tokens
	tagSize          = 16
	maxSequenceSize  = 8
	privateTokenSize = 1024
	challengeSize    = 300
	requestSize      = 1 + versionSize + 8 + 8 + tokenNonceSize + privateTokenSize
	minPacket        = 1 + 1 + tagSize // shortest sealed packet
)

// version begins every token and request, and is part of the associated data of every seal.
const version = "NETCODE 1.02\x00"

// kind is the packet type: the low four bits of the first byte of a packet.
type kind uint8

const (
	kindRequest kind = iota
	kindDenied
	kindChallenge
	kindResponse
	kindKeepAlive
	kindPayload
	kindDisconnect
	kindCount
)

// bodySizes are the smallest and the largest body of each kind, in plaintext bytes. A request is
// not sealed: its least is above its most, so that no body fits. The standard's denial is empty: see Arrival.Reason.
var bodySizes = [kindCount][2]int{
	kindRequest: {1, 0}, kindDenied: {0, 1}, kindChallenge: {8 + challengeSize, 8 + challengeSize},
	kindResponse: {8 + challengeSize, 8 + challengeSize}, kindKeepAlive: {8, 8}, kindPayload: {1, MaxPayload}, kindDisconnect: {0, 0},
}

// bodyFits reports whether a body of n plaintext bytes is valid for the kind.
func (k kind) bodyFits(n int) bool { return n >= bodySizes[k][0] && n <= bodySizes[k][1] }

// header is the readable part of a sealed packet: [kind | sequence length << 4] [sequence, 1 to 8 bytes, little-endian].
type header struct {
	prefix   byte
	kind     kind
	size     int // bytes of prefix and sequence, in [2, 9]
	sequence uint64
}

// parseHeader decodes the header of a sealed packet whose kind is in allowed, a bit set. The second result is the reason
// why the packet must be dropped, or zero.
func parseHeader(packet []byte, allowed uint) (header, Counter) {
	if len(packet) < minPacket {
		return header{}, DropShort
	}
	if len(packet) > MaxPacket {
		return header{}, DropLong
	}
	h := header{prefix: packet[0], kind: kind(packet[0] & 15)}
	if h.kind >= kindCount || allowed&(1<<h.kind) == 0 {
		return header{}, DropKind
	}
	n := int(h.prefix >> 4)
	if n < 1 || n > maxSequenceSize {
		return header{}, DropSequence
	}
	h.size = 1 + n
	if len(packet) < h.size+tagSize {
		return header{}, DropShort
	}
	for i, b := range packet[1:h.size] {
		h.sequence |= uint64(b) << (8 * i)
	}
	return h, 0
}

// codec seals and opens packets of one protocol id. It contains the buffers that are passed to the cipher, so that no
// packet allocates. One goroutine may use it at a time.
type codec struct {
	bound [versionSize + 8 + 1]byte // associated data; the last byte is the prefix of the packet at hand
	nonce [nonceSize]byte
	body  [8 + challengeSize]byte // plaintext of the packet being built
}

func (c *codec) init(protocolID uint64) {
	copy(c.bound[:], version)
	binary.LittleEndian.PutUint64(c.bound[versionSize:], protocolID)
}

func (c *codec) setNonce(sequence uint64) []byte {
	binary.LittleEndian.PutUint64(c.nonce[4:], sequence) // the first four bytes stay zero
	return c.nonce[:]
}

// seal appends a sealed packet to dst. The body may be a part of c.body, never of dst's spare capacity.
func (c *codec) seal(dst []byte, key cipher.AEAD, k kind, sequence uint64, body []byte) []byte {
	at := len(dst)
	dst = append(dst, 0)
	n := 0
	for rest := sequence; n == 0 || rest != 0; rest >>= 8 {
		dst = append(dst, byte(rest))
		n++
	}
	prefix := byte(k) | byte(n)<<4
	dst[at], c.bound[len(c.bound)-1] = prefix, prefix
	return key.Seal(dst, c.setNonce(sequence), body, c.bound[:])
}

// open opens a packet in place and returns its body, which aliases packet. A packet that fails is overwritten. The window
// refuses replays, except of the handshake, whose packets repeat by design. The second result is the reason why the packet
// must be dropped, or zero.
func (c *codec) open(packet []byte, key cipher.AEAD, h header, w *window) ([]byte, Counter) {
	checked := h.kind >= kindKeepAlive
	if checked && w.seen(h.sequence) {
		return nil, DropReplay
	}
	c.bound[len(c.bound)-1] = h.prefix
	sealed := packet[h.size:]
	body, err := key.Open(sealed[:0], c.setNonce(h.sequence), sealed, c.bound[:])
	if err != nil {
		return nil, DropForged
	}
	if checked {
		w.mark(h.sequence)
	}
	if !h.kind.bodyFits(len(body)) {
		return nil, DropBody
	}
	return body, 0
}

// sealChallenge returns the body of a challenge packet: a sequence and the challenge token, which proves that a client
// receives packets at its address. Only the server has its key. The body is valid until the codec is used again.
func (c *codec) sealChallenge(key cipher.AEAD, sequence, clientID uint64, userData *[UserDataSize]byte) []byte {
	binary.LittleEndian.PutUint64(c.body[:], sequence)
	token := c.body[8:]
	binary.LittleEndian.PutUint64(token, clientID)
	clear(token[8+copy(token[8:], userData[:]):])
	key.Seal(token[:0], c.setNonce(sequence), token[:challengeSize-tagSize], nil)
	return c.body[:]
}

// openChallenge is the inverse of sealChallenge, in place. Every plaintext is valid. The user data aliases body.
func (c *codec) openChallenge(key cipher.AEAD, body []byte) (clientID uint64, userData *[UserDataSize]byte, ok bool) {
	token, err := key.Open(body[8:8], c.setNonce(binary.LittleEndian.Uint64(body)), body[8:8+challengeSize], nil)
	if err != nil {
		return 0, nil, false
	}
	return binary.LittleEndian.Uint64(token), (*[UserDataSize]byte)(token[8:]), true
}

// keepAlive returns the body of a keep-alive packet, valid until the codec is used again.
func (c *codec) keepAlive(slot, maxClients uint32) []byte {
	binary.LittleEndian.PutUint32(c.body[0:], slot)
	binary.LittleEndian.PutUint32(c.body[4:], maxClients)
	return c.body[:8]
}

func newAEAD(key *Key) cipher.AEAD { return must(chacha20poly1305.New(key[:])) }

func newTokenAEAD(key *Key) cipher.AEAD { return must(chacha20poly1305.NewX(key[:])) }

func must(aead cipher.AEAD, err error) cipher.AEAD {
	if err != nil {
		panic("netcode: the cipher refuses a 32-byte key: " + err.Error())
	}
	return aead
}
