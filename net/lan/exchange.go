package lan

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"

	"tendon/net/wire"
)

// commitment binds a client to its key before it sees that of the server.
func commitment(key, opening []byte) [keySize]byte {
	return hashOf("tendon lan commitment", key, opening)
}

func hashOf(label string, parts ...[]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write([]byte(label))
	for _, part := range parts {
		h.Write(part)
	}
	h.Sum(sum[:0])
	return sum
}

// transcript is the hash of all that both sides have sent before the token.
type transcript [sha256.Size]byte

func transcriptOf(commitment [keySize]byte, server []byte, nonce [nonceSize]byte, client, opening []byte) transcript {
	return hashOf("tendon lan 1", commitment[:], server, nonce[:], client, opening)
}

func (t transcript) words() Words {
	sum := hashOf("tendon lan words", t[:])
	return Words(sum[:len(Words{})])
}

// sealer returns the cipher of the token.
func (t transcript) sealer(own *ecdh.PrivateKey, theirs []byte) (cipher.AEAD, error) {
	public, err := ecdh.X25519().NewPublicKey(theirs)
	if err != nil {
		return nil, err
	}
	shared, err := own.ECDH(public)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, shared, t[:], "tendon lan token", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Exchange is the client's half of an exchange, without a socket. Send Request to the server until Receive returns done. Then Token and
// Words are valid.
type Exchange struct {
	Token []byte // without the zeros at its end
	Words Words

	key        *ecdh.PrivateKey
	opening    [nonceSize]byte
	commitment [keySize]byte
	offered    bool
	server     [keySize]byte
	nonce      [nonceSize]byte
}

// NewExchange returns an exchange with a new key.
func NewExchange() (*Exchange, error) {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("lan: no key: %w", err)
	}
	x := &Exchange{key: key}
	rand.Read(x.opening[:]) // never fails
	x.commitment = commitment(key.PublicKey().Bytes(), x.opening[:])
	return x, nil
}

// Request returns the packet to send now.
func (x *Exchange) Request() []byte {
	if !x.offered {
		w := begin(nil, kindAsk, requestSizes[kindAsk])
		w.Raw(x.commitment[:])
		return request(w, kindAsk)
	}
	w := begin(nil, kindTake, requestSizes[kindTake])
	w.Raw(x.key.PublicKey().Bytes())
	w.Raw(x.opening[:])
	w.Raw(x.nonce[:])
	return request(w, kindTake)
}

// Receive reads a packet from the server. changed reports that Request has a new packet, and done that the exchange is over. An error is
// that of a packet to ignore.
func (x *Exchange) Receive(packet []byte) (changed, done bool, err error) {
	k, r, ok := open(packet)
	if !ok || string(r.Bytes(idSize)) != string(x.commitment[:idSize]) {
		return false, false, ErrPacket
	}
	switch {
	case k == kindOffer && !x.offered:
		server, nonce := r.Bytes(keySize), r.Bytes(nonceSize)
		if r.Close() != nil {
			return false, false, ErrPacket
		}
		x.server, x.nonce, x.offered = [keySize]byte(server), [nonceSize]byte(nonce), true
		return true, false, nil
	case k == kindSealed && x.offered:
		if x.Token, err = x.unseal(&r); err != nil {
			return false, false, err
		}
		x.Words = x.transcript().words()
		return false, true, nil
	}
	return false, false, ErrPacket
}

func (x *Exchange) transcript() transcript {
	return transcriptOf(x.commitment, x.server[:], x.nonce, x.key.PublicKey().Bytes(), x.opening[:])
}

var errSeal = errors.New("lan: a token that was not sealed for this exchange")

func (x *Exchange) unseal(r *wire.Reader) ([]byte, error) {
	nonce, sealed := r.Bytes(sealNonce), r.Rest()
	if r.Err() != nil || len(sealed) <= sealTag || len(sealed) > MaxToken+sealTag {
		return nil, ErrPacket
	}
	t := x.transcript()
	c, err := t.sealer(x.key, x.server[:])
	if err != nil {
		return nil, errSeal
	}
	token, err := c.Open(nil, nonce, sealed, t[:])
	if err != nil {
		return nil, errSeal
	}
	return token, nil
}
