package entropy

import "math/bits"

// Model is the probability that a bit is set, learned from the bits that it was used for. The zero Model stands for
// even odds. The upper 12 bits are the probability in 4096ths, less 2048; the lower 4 count bits up to learned.
type Model uint16

// The first bit moves the probability by 1/2 of the way, the next two by 1/4, the next four by 1/8, and so on down to 1/32. So it
// is near the mean of all bits at first, and later near that of about the last 32.
const (
	probabilityBits = 12
	even            = 1 << (probabilityBits - 1)
	learned         = 15
)

// odds returns the probability of a set bit in (0, 4096).
func (m Model) odds() uint32 { return uint32(m>>4) ^ even }

// learn returns the model after a bit.
func (m Model) learn(set bool) Model {
	p, n := m.odds(), uint32(m&15)
	rate := bits.Len32(n + 1)
	if set {
		p += (1<<probabilityBits - p) >> rate
	} else {
		p -= p >> rate
	}
	return Model((p^even)<<4 | min(n+1, learned))
}

// learnBit is learn without a branch.
func (m Model) learnBit(bit uint32) Model {
	n := uint32(m & 15)
	rate := bits.Len32(n + 1)
	p, round := int32(m.odds()), int32(1)<<rate-1 // so that the shift of a negative number rounds as learn does
	p += (round + int32(bit)*(1<<probabilityBits-round) - p) >> rate
	return Model((uint32(p)^even)<<4 | min(n+1, learned))
}

// number returns 1 for true, else 0.
func number(set bool) (bit uint32) {
	if set {
		bit = 1
	}
	return bit
}

// likely returns the model of a bit that is set as often as the weights say.
func likely(set, unset uint64) Model {
	const least = 1 << (probabilityBits - 6) // nothing is so sure beforehand that it may cost more than 6 bits
	p := uint32(even)
	if set+unset > 0 {
		p = uint32(min(max(set<<probabilityBits/(set+unset), least), 1<<probabilityBits-least))
	}
	return Model((p^even)<<4 | trusted)
}

// trusted is for how many bits odds that were given count.
const trusted = 2

// Number is the models of a number: whether it is 0, and else how many bits it has, and the second of them. The bits
// below are taken as they come, so a Number suits what is about as large each time.
type Number struct {
	some   Model
	minus  Model
	second Model
	longer [longest]Model // whether a number has more than 1, 2, … bits
}

// longest is the greatest number of bits that models are used for.
const longest = 15

// Weights says how often numbers of so many bits are expected, relative to each other; no bits: 0.
type Weights [65]uint64

// Expect returns the models of numbers of which something is known beforehand. Weights are below 2^32.
func Expect(weights *Weights) (m Number) {
	above := uint64(0)
	for n := len(weights) - 1; n > 0; n-- {
		if n <= longest {
			m.longer[n-1] = likely(above, weights[n])
		}
		above += weights[n]
	}
	m.some = likely(above, weights[0])
	return m
}

const restBits = 6 // of a length above longest, less longest and 1

// Cost estimates the number of bits of a number in a model that has learned its size.
func Cost(v uint64) int {
	n := bits.Len64(v)
	return n + (n+63)>>6<<1 // without a branch
}
