package record

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"tendon/ecs"
)

// ProofBytes is the size of a proof.
const ProofBytes = 16

// proofDomain begins the content of every proof, so that no other use of a key has the same content.
const proofDomain = "tendon final ticks 2"

// Digest is the SHA-256 chain of the codes of all ticks of a match up to one: each link hashes the link before it and a code. It is zero
// at tick 0. Unlike Chain, it differs for different ticks, whatever inputs clients choose.
type Digest [sha256.Size]byte

// Add adds the next tick, which has this code: see Codec.AppendTick. The flags of a file in its first byte do not count.
func (d *Digest) Add(code []byte) {
	var buf [256]byte
	b := append(append(buf[:0], d[:]...), code[0]&codeFlags)
	*d = sha256.Sum256(append(b, code[1:]...))
}

// Prover computes the proofs of a match. The proof of a tick is the HMAC-SHA-256, cut to ProofBytes, over the number of the
// match and the digest of all its ticks up to this one. It proves all of them: only a program with the key can compute it.
// The hash chain proves nothing, because a client can choose inputs that lead to a given chain.
type Prover struct {
	mac    hash.Hash
	match  uint64
	every  ecs.Tick
	digest Digest
	buf    []byte // scratch
}

// NewProver returns the prover of a match at a tick with this digest.
func NewProver(g *ecs.Game, key []byte, match uint64, at Digest) *Prover {
	return &Prover{mac: hmac.New(sha256.New, key), match: match, every: proofInterval(g), digest: at}
}

// proofInterval is the distance of two ticks with a proof: a tenth of a second. A server syncs its journals as often by default.
func proofInterval(g *ecs.Game) ecs.Tick { return ecs.Tick(max(g.TickRate/10, 1)) }

// Add adds the next tick f, which has this code: see Codec.AppendTick. It reports whether clients are to receive a proof of it.
func (p *Prover) Add(f ecs.Tick, code []byte) (due bool) {
	p.digest.Add(code)
	return f%p.every == 0
}

// Proof returns the proof of the last tick. It is valid until the next call of Proof.
func (p *Prover) Proof() []byte {
	p.buf = binary.LittleEndian.AppendUint64(append(p.buf[:0], proofDomain...), p.match)
	p.buf = append(p.buf, p.digest[:]...)
	p.mac.Reset()
	p.mac.Write(p.buf)
	p.buf = p.mac.Sum(p.buf[:0])
	return p.buf[:ProofBytes]
}

// Clone returns a prover at the same tick. The two share a hash, so only one goroutine at a time may use either.
func (p *Prover) Clone() *Prover {
	c := *p
	c.buf = nil
	return &c
}
