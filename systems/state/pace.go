package state

import (
	"math"
	"math/bits"

	"tendon/systems/internal/entropy"
)

// pace is the predicted change of a number from its baseline to now: half the number of bits of that change, with its sign.
// A large change may be off by much, and mostly in one direction. So numbers have models of their own for each pace, and
// differences are counted in its direction.
type pace int8

const mostPace = 5

func paceOf(by int64) pace {
	if by < 0 {
		return -paceOf(-max(by, -math.MaxInt64))
	}
	return min(pace(bits.Len64(uint64(by))+1)/2, mostPace)
}

func (p pace) magnitude() int {
	if p < 0 {
		return int(-p)
	}
	return int(p)
}

// The kinds of numbers: without a prediction, near a baseline, or with a pace.
const (
	kindWhole = iota
	kindDifference
	kindCourse // of pace 0
	kinds      = kindCourse + mostPace + 1
)

// expected is the models of each kind before anything was learned. Bodies are short: what both sides know beforehand
// need not be learned in each. It is no more than rough, so that what a game's numbers are like soon counts for more.
var expected = func() (m [kinds]entropy.Number) {
	w := entropy.Weights{}
	for n := range w { // large ones are not rare
		w[n] = uint64(1 + 60/(n+1))
	}
	m[kindWhole] = entropy.Expect(&w)
	for n := range w { // half as many with two bits more
		w[n] = uint64(1 + 200>>(n/2))
	}
	w[0] = 400
	m[kindDifference] = entropy.Expect(&w)
	for n := range w { // what rested rests on, or moves a little
		w[n] = uint64(1 + 300>>n)
	}
	w[0] = 700
	m[kindCourse] = entropy.Expect(&w)
	for p := 1; p <= mostPace; p++ { // off by a quarter to all of its change; small errors are rare
		near := 250
		for n := 2*p - 1; n > 0; n-- {
			w[n] = uint64(20 + near)
			near = near * 5 / 8
		}
		for n := 2 * p; n < len(w); n++ {
			w[n] = uint64(1 + 250>>(n-2*p+1))
		}
		w[0] = 150
		m[kindCourse+p] = entropy.Expect(&w)
	}
	return m
}()
