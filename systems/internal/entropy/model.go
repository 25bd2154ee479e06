package entropy

import "math/bits"

// Model is the probability that a bit is set, learned from the bits that it was used for. The zero Model stands for
// even odds. The upper 12 bits are the probability in 4096ths, less 2048; the lower 4 count bits up to slowest.
type Model uint16

// The probability moves by 1/2 of the way at the first bit, by 1/4 at the second, and so on down to 1/16: near the mean
// of what was seen at first, and later that of about the last 16, since codes are short.
const (
	probabilityBits = 12
	even            = 1 << (probabilityBits - 1)
	slowest         = 4
)

// odds returns the probability of a set bit in (0, 4096).
func (m Model) odds() uint32 { return uint32(m>>4) ^ even }

// learn returns the model after a bit.
func (m Model) learn(set bool) Model {
	p, n := m.odds(), uint32(m&15)
	rate := min(n+1, slowest)
	if set {
		p += (1<<probabilityBits - p) >> rate
	} else {
		p -= p >> rate
	}
	return Model((p^even)<<4 | min(n+1, slowest))
}

// Number is the models of a number: whether it is 0, and else how many bits it has. The bits below its first are taken
// as they come, so a Number suits what is about as large each time.
type Number struct {
	some   Model
	length [64]Model // a tree: node 1 is the root
}

const lengthBits = 6 // of a length in [1, 64], less 1

// Signed maps an integer to a number that is small if its magnitude is: 0, −1, 1, −2.
func Signed(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

// Unsigned is the inverse of Signed.
func Unsigned(z uint64) int64 { return int64(z>>1) ^ -int64(z&1) }

// Cost returns about how many bits a number takes in a model that has learned its size, for guesses of what fits.
func Cost(v uint64) int {
	if v == 0 {
		return 0
	}
	return bits.Len64(v) + 2
}
