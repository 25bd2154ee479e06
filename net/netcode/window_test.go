package netcode

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The same window written as a plain set, against which random sequences are compared.
func TestWindowAgreesWithASetOfNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, start := range []uint64{0, 200, 1 << 32, 1 << 63, math.MaxUint64 - 3000} {
		var w window
		received := map[uint64]bool{}
		newest, refused := uint64(0), 0
		at := start
		for range 5000 {
			if random.IntN(4) > 0 && at < math.MaxUint64-400 {
				at += random.Uint64N(3)
			}
			if random.IntN(200) == 0 && at < math.MaxUint64-1000 {
				at += random.Uint64N(600)
			}
			sequence := at - min(at, random.Uint64N(300))
			want := received[sequence] || newest >= windowSize && sequence <= newest-windowSize
			if got := w.seen(sequence); got != want {
				t.Fatalf("start %d: seen(%d) = %v, want %v (newest %d)", start, sequence, got, want, newest)
			}
			if want {
				refused++
				continue
			}
			w.mark(sequence)
			received[sequence] = true
			newest = max(newest, sequence)
		}
		if refused == 0 {
			t.Errorf("start %d: nothing was refused, so nothing was tested", start)
		}
	}
}

// The published list of mistakes: a test written with an addition wraps at the top of the sequence space.
func TestWindowAcceptsTheTopmostSequenceNumbersOnce(t *testing.T) {
	var w window
	for s := uint64(math.MaxUint64 - 300); ; s++ {
		if w.seen(s) {
			t.Fatalf("%d refused though never received", s)
		}
		w.mark(s)
		if !w.seen(s) {
			t.Fatalf("%d accepted twice", s)
		}
		if s == math.MaxUint64 {
			break
		}
	}
}

func TestWindowStartsEmptyAndKnowsZero(t *testing.T) {
	var w window
	if w.seen(0) {
		t.Fatal("0 refused by an empty window")
	}
	w.mark(0)
	if !w.seen(0) {
		t.Fatal("0 accepted twice")
	}
	w.mark(windowSize) // 0 falls out, 1 is the oldest that is known
	if !w.seen(0) || w.seen(1) {
		t.Fatalf("after %d: seen(0) = %v, seen(1) = %v, want true, false", windowSize, w.seen(0), w.seen(1))
	}
}
