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
const proofDomain = "tendon final ticks 1"

// Prover computes the proofs of a match. The proof of a tick is the HMAC-SHA-256, cut to ProofBytes, over the number of the
// match and the codes of all its ticks up to this one. It proves all of them: only a program with the key can compute it.
// The hash chain proves nothing, because a client can choose inputs that lead to a given chain.
type Prover struct {
	mac   hash.Hash
	every ecs.Tick
	sum   [sha256.Size]byte
}

// NewProver returns the prover of a match at tick 0.
func NewProver(g *ecs.Game, key []byte, match uint64) *Prover {
	p := &Prover{mac: hmac.New(sha256.New, key), every: proofInterval(g)}
	p.mac.Write(binary.LittleEndian.AppendUint64([]byte(proofDomain), match))
	return p
}

// proofInterval is the distance of two ticks with a proof: a tenth of a second. A server syncs its journals as often by default.
func proofInterval(g *ecs.Game) ecs.Tick { return ecs.Tick(max(g.TickRate/10, 1)) }

// Add adds the next tick f, which has this code: see Codec.AppendTick. It reports whether clients are to receive a proof of it.
func (p *Prover) Add(f ecs.Tick, code []byte) (due bool) {
	p.mac.Write(code)
	return f%p.every == 0
}

// Proof returns the proof of the last tick. It is valid until the next call.
func (p *Prover) Proof() []byte { return p.mac.Sum(p.sum[:0])[:ProofBytes] }

// Clone returns a prover at the same tick that shares nothing with p.
func (p *Prover) Clone() *Prover {
	c, err := p.mac.(hash.Cloner).Clone()
	if err != nil {
		panic("record: the hash of a Prover cannot be cloned: use one that has a Clone")
	}
	return &Prover{mac: c, every: p.every}
}
