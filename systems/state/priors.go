package state

import (
	"math"
	"math/bits"

	"tendon/systems/internal/entropy"
)

// speed is the distance that a number is extrapolated by: half of its number of bits, with its sign. The error of an
// extrapolation grows with the distance and mostly has its direction. So each speed has models of its own, and differences
// count in its direction.
type speed int8

const maxSpeed = 5

func speedOf(by int64) speed {
	if by < 0 {
		return -speedOf(-max(by, -math.MaxInt64))
	}
	return min(speed(bits.Len64(uint64(by))+1)/2, maxSpeed)
}

func (p speed) magnitude() int { return int(max(p, -p)) }

// The kinds of numbers: whole ones, differences from a baseline, and differences from an extrapolation by its speed.
const (
	kindWhole = iota
	kindDifference
	kindExtrapolation // with speed 0
	kinds             = kindExtrapolation + maxSpeed + 1
)

// expected holds the initial models of each kind. Deltas are short, so initial models that fit save bits. They are
// rough, so that they adapt quickly to the numbers of a game.
var expected = func() (m [kinds]entropy.Number) {
	w := entropy.Weights{}
	for n := range w { // large numbers are not rare
		w[n] = uint64(1 + 60/(n+1))
	}
	m[kindWhole] = entropy.Expect(&w)
	for n := range w { // half as many with two more bits
		w[n] = uint64(1 + 200>>(n/2))
	}
	w[0] = 400
	m[kindDifference] = entropy.Expect(&w)
	for n := range w { // most stay at rest or move a little
		w[n] = uint64(1 + 300>>n)
	}
	w[0] = 700
	m[kindExtrapolation] = entropy.Expect(&w)
	for p := 1; p <= maxSpeed; p++ { // off by a quarter to all of the distance, smaller errors being rarer
		near := 250
		for n := 2*p - 1; n > 0; n-- {
			w[n] = uint64(20 + near)
			near = near * 5 / 8
		}
		for n := 2 * p; n < len(w); n++ {
			w[n] = uint64(1 + 250>>(n-2*p+1))
		}
		w[0] = 150
		m[kindExtrapolation+p] = entropy.Expect(&w)
	}
	return m
}()
