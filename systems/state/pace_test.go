package state

import (
	"math"
	"testing"
)

// A pace chooses models, so whatever a hostile server makes of a course has one.
func TestEveryCourseHasAPace(t *testing.T) {
	for by, want := range map[int64]pace{0: 0, 1: 1, -1: -1, 3: 1, 4: 2, -15: -2, 16: 3, 255: 4, 256: 5, 1 << 40: mostPace, math.MaxInt64: mostPace, math.MinInt64: -mostPace} {
		if got := paceOf(by); got != want || paceOf(by).magnitude() > mostPace {
			t.Errorf("%d has the pace %d, want %d", by, got, want)
		}
	}
}
