package image_test

import (
	"math"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// Recordings replay only if the source never changes. These are the numbers of PCG-DXSM from these seeds.
func TestRandDrawsThePinnedSequence(t *testing.T) {
	r := image.NewRand(42)
	for i, x := range []uint64{0x64e2492ccb78b326, 0x35db68322fa3584d, 0x80d40ca0b856dd7, 0x58a2cc486d048f5f} {
		if got := r.Uint64(); got != x {
			t.Errorf("draw %d is %#x, pinned %#x", i, got, x)
		}
	}
	s := image.NewRand(42)
	for i, x := range []int{2, 1, 0, 2, 2, 2, 1, 3, 5, 3, 3, 5} {
		if got := s.IntN(6); got != x {
			t.Errorf("throw %d is %d, pinned %d", i, got, x)
		}
	}
	if image.NewRand(1).Uint64() == image.NewRand(2).Uint64() {
		t.Error("two seeds give one sequence")
	}
}

// A resimulated tick must draw the same numbers.
func TestRandIsPartOfTheState(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	a := sample.Saved(w)
	x := [3]uint64{w.Rand().Uint64(), w.Rand().Uint64(), w.Rand().Uint64()}
	if b := sample.Saved(w); b.Checksum() == a.Checksum() {
		t.Error("drawing does not change the state")
	}
	w.Image().Restore(a)
	if y := [3]uint64{w.Rand().Uint64(), w.Rand().Uint64(), w.Rand().Uint64()}; x != y {
		t.Error("after a restore the source draws", y, "instead of", x)
	}
	if v, err := ecs.NewWorld(sample.Bare(), 2); err != nil || sample.Saved(v).Checksum() == a.Checksum() {
		t.Error("the seed is not part of the state")
	}
}

// With 3·2⁶¹ choices, a draw without rejection yields every third number 25 % of the time instead of a third. Over
// 60 000 draws that is 40 σ. On 32-bit targets int has no such bound.
func TestIntNIsEven(t *testing.T) {
	r := image.NewRand(7)
	const draws = 60000
	var dice [6]int
	third := 0
	for range draws {
		dice[r.IntN(6)]++
		if r.IntN(math.MaxInt/4*3+3)%3 == 2 {
			third++
		}
	}
	for face, n := range dice {
		if n < draws/6-600 || n > draws/6+600 {
			t.Errorf("face %d comes %d times in %d", face, n, draws)
		}
	}
	if third < draws/3-800 || third > draws/3+800 {
		t.Errorf("every third number comes %d times in %d", third, draws)
	}
	hits := 0
	for range draws {
		if r.Chance(1, 4) {
			hits++
		}
	}
	if hits < draws/4-700 || hits > draws/4+700 {
		t.Errorf("one in four comes %d times in %d", hits, draws)
	}
	if r.IntN(1) != 0 {
		t.Error("one choice")
	}
	sample.MustPanic(t, "n ≥ 1", func() { r.IntN(0) })
}
