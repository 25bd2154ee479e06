package image

import (
	"math/bits"
	"math/rand/v2"
)

// Rand is a random source. A world's source is part of its state, so a resimulated tick draws the same numbers. The
// generator is PCG-DXSM of math/rand/v2.
type Rand struct{ pcg rand.PCG }

// NewRand returns a source of its own, for bots and tools, which must not draw from a world's.
func NewRand(seed uint64) *Rand {
	r := &Rand{}
	r.pcg.Seed(seed, mix(seed+1))
	return r
}

// Uint64 returns a number uniform in [0, 2^64).
func (r *Rand) Uint64() uint64 { return r.pcg.Uint64() }

// IntN returns a number uniform in [0, n). It panics if n ≤ 0. It rejects the few draws that would be biased
// (Lemire, "Fast Random Integer Generation in an Interval", 2019).
func (r *Rand) IntN(n int) int {
	if n <= 0 {
		panic("ecs: Rand.IntN wants n ≥ 1: pass the number of choices")
	}
	bound := uint64(n)
	hi, lo := bits.Mul64(r.Uint64(), bound)
	if lo < bound {
		for threshold := -bound % bound; lo < threshold; {
			hi, lo = bits.Mul64(r.Uint64(), bound)
		}
	}
	return int(hi)
}

// Chance reports true with probability of/in.
func (r *Rand) Chance(of, in int) bool { return r.IntN(in) < of }
