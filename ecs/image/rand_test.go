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
	for i, x := range []int{3, 2, 3, 2, 2, 2, 3, 2} {
		if got := s.Weighted(1, 0, 5, 3); got != x {
			t.Errorf("choice %d is %d, pinned %d", i, got, x)
		}
	}
	cards := [6]int{0, 1, 2, 3, 4, 5}
	if s.Shuffle(len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] }); cards != [6]int{0, 4, 3, 5, 1, 2} {
		t.Errorf("the cards are %d", cards)
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

// Bounds are 5 σ.
func TestChoicesFollowTheirWeights(t *testing.T) {
	r := image.NewRand(8)
	weights := []int{3, 0, 1, math.MaxInt32, math.MaxInt32 / 2, 0}
	sum, counts := 0.0, make([]int, len(weights))
	for _, weight := range weights {
		sum += float64(weight)
	}
	const draws = 30000
	for range draws {
		counts[r.Weighted(weights...)]++
	}
	for i, n := range counts {
		p := float64(weights[i]) / sum
		if off := math.Abs(float64(n) - draws*p); off > 5*math.Sqrt(draws*p*(1-p)) {
			t.Errorf("choice %d of weight %d was drawn %d times, want about %v", i, weights[i], n, draws*p)
		}
	}
	for _, wrong := range [][]int{{}, {0, 0}, {1, -1}} {
		sample.MustPanic(t, "Rand.Weighted", func() { r.Weighted(wrong...) })
	}
	list := weights[:3]
	if n := testing.AllocsPerRun(100, func() { r.Weighted(list...); r.Weighted(1, 2, 3) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestShuffleYieldsEveryOrderAlike(t *testing.T) {
	r := image.NewRand(9)
	counts := map[[4]int]int{}
	const draws = 24000
	for range draws {
		cards := [4]int{0, 1, 2, 3}
		r.Shuffle(len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
		counts[cards]++
	}
	if len(counts) != 24 {
		t.Fatalf("%d orders, want 24", len(counts))
	}
	for cards, n := range counts {
		if off := math.Abs(float64(n) - draws/24); off > 5*math.Sqrt(draws/24) {
			t.Errorf("the order %d came %d times, want about %d", cards, n, draws/24)
		}
	}
	r.Shuffle(0, nil)
	sample.MustPanic(t, "Rand.Shuffle", func() { r.Shuffle(-1, nil) })
}
