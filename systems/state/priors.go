package state

import "tendon/systems/internal/entropy"

// maxSize is the greatest size of a prediction. The size is the number of bits of the course and the entity's spread together.
// The error of a prediction grows with both, so each size has models of its own.
const maxSize = 12

// The kinds of numbers: whole ones, differences from a baseline, and differences from a prediction by its size.
const (
	kindWhole = iota
	kindDifference
	kindPrediction // of size 0
	kinds          = kindPrediction + maxSize + 1
)

// expected holds the initial models of each kind. They save bits in deltas without a checkpoint. They are rough, so they adapt
// quickly to the numbers of a game.
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
	m[kindPrediction] = entropy.Expect(&w)
	for p := 1; p <= maxSize; p++ { // off by a quarter to all of the size, smaller errors being rarer
		near := 250
		for n := p; n > 0; n-- {
			w[n] = uint64(20 + near)
			near = near * 5 / 8
		}
		for n := p + 1; n < len(w); n++ {
			w[n] = uint64(1 + 250>>(n-p))
		}
		w[0] = 150
		m[kindPrediction+p] = entropy.Expect(&w)
	}
	return m
}()
