package netcode

import (
	"crypto/cipher"
	"encoding/binary"
)

// challengeToken is sealed by the server, sent to the client and returned by it. It proves that the client receives
// packets at its address. Only the server has its key.
type challengeToken struct {
	clientID uint64
	userData [UserDataSize]byte
}

// put writes the plaintext, zero padded, into buf, of challengeSize bytes.
func (t *challengeToken) put(buf []byte) {
	binary.LittleEndian.PutUint64(buf, t.clientID)
	n := 8 + copy(buf[8:], t.userData[:])
	clear(buf[n:challengeSize])
}

// take is the inverse of put. Every plaintext of that size is valid.
func (t *challengeToken) take(buf []byte) {
	t.clientID = binary.LittleEndian.Uint64(buf)
	copy(t.userData[:], buf[8:])
}

// sealChallenge seals the first 284 of the 300 bytes in place; the last 16 become the tag.
func (c *codec) sealChallenge(buf []byte, key cipher.AEAD, sequence uint64) {
	key.Seal(buf[:0], c.setNonce(sequence), buf[:challengeSize-tagSize], nil)
}

// openChallenge is the inverse of sealChallenge, in place.
func (c *codec) openChallenge(buf []byte, key cipher.AEAD, sequence uint64) bool {
	_, err := key.Open(buf[:0], c.setNonce(sequence), buf[:challengeSize], nil)
	return err == nil
}
