package lan

import (
	"bytes"
	"errors"

	"tendon/net/wire"
)

// Port is the UDP port on which servers answer.
const Port = 47777

// kind is the byte of a packet after magic and version.
type kind uint8

const (
	kindFind   kind = iota + 1 // client → all: asks for servers
	kindFound                  // server → client
	kindAsk                    // client → server: begins an exchange
	kindOffer                  // server → client
	kindTake                   // client → server
	kindSealed                 // server → client: the token
)

const (
	magic   = "tndlan"
	version = 1

	headSize   = len(magic) + 2
	idSize     = 8
	keySize    = 32 // X25519 and SHA-256
	nonceSize  = 16
	sealNonce  = 12
	sealTag    = 16
	MaxToken   = sealedSize - headSize - idSize - sealNonce - sealTag // bytes of a token without the zeros at its end
	sealedSize = 1280
)

// requestSizes are the sizes of requests, with the zeros that fill them. No answer is longer.
var requestSizes = map[kind]int{kindFind: 256, kindAsk: 96, kindTake: sealedSize}

// ErrPacket is returned for a packet that does not follow the standard.
var ErrPacket = errors.New("lan: malformed packet")

// begin returns a writer behind the head of a packet.
func begin(dst []byte, k kind, limit int) wire.Writer {
	w := wire.NewWriter(dst, limit)
	w.Raw([]byte(magic))
	w.U8(version)
	w.U8(uint8(k))
	return w
}

// request ends a request with zeros.
func request(w wire.Writer, k kind) []byte {
	w.Raw(make([]byte, requestSizes[k]-w.Len()))
	return w.Bytes()
}

// open returns a reader behind the head of a packet of a kind.
func open(packet []byte) (k kind, r wire.Reader, ok bool) {
	r = wire.NewReader(packet)
	ok = len(packet) >= headSize && string(r.Bytes(len(magic))) == magic && r.U8() == version
	k = kind(r.U8())
	return k, r, ok && r.Err() == nil
}

// padded reports whether a request has its size, and only zeros behind what r has read.
func padded(packet []byte, k kind, r *wire.Reader) bool {
	return r.Err() == nil && len(packet) == requestSizes[k] && len(bytes.Trim(r.Rest(), "\x00")) == 0
}

// Description describes a server in its answers. Texts are cut to their bounds.
type Description struct {
	Name        string // of the server, at most 32 bytes
	Game        string // name and version, at most 64 bytes
	Fingerprint uint64 // ecs.Game.Fingerprint
	Strategy    string // at most 32 bytes
	Players     int    // in the match now
	Places      int    // the maximum number of players
}

const (
	maxName     = 32
	maxGame     = 64
	maxStrategy = 32
	foundSize   = headSize + idSize + 8 + 8 + 2 + 2 + 3 + maxName + maxGame + maxStrategy
)

func appendFound(dst []byte, number, server uint64, d Description) []byte {
	w := begin(dst, kindFound, foundSize)
	w.U64(number)
	w.U64(server)
	w.U64(d.Fingerprint)
	w.U16(uint16(min(max(d.Players, 0), 1<<16-1)))
	w.U16(uint16(min(max(d.Places, 0), 1<<16-1)))
	w.Blob([]byte(wire.Clip(d.Name, maxName)))
	w.Blob([]byte(wire.Clip(d.Game, maxGame)))
	w.Blob([]byte(wire.Clip(d.Strategy, maxStrategy)))
	return w.Bytes()
}

// readFound reads a server's answer to the Find of a number. server is its own number.
func readFound(packet []byte, number uint64) (server uint64, d Description, err error) {
	k, r, ok := open(packet)
	echo := r.U64()
	server = r.U64()
	d.Fingerprint, d.Players, d.Places = r.U64(), int(r.U16()), int(r.U16())
	for _, text := range []struct {
		to   *string
		most int
	}{{&d.Name, maxName}, {&d.Game, maxGame}, {&d.Strategy, maxStrategy}} {
		b := string(r.Blob(text.most))
		*text.to, ok = b, ok && wire.Clip(b, text.most) == b
	}
	if r.Close() != nil || !ok || k != kindFound || echo != number {
		return 0, Description{}, ErrPacket
	}
	return server, d, nil
}
