package state

import (
	"math"
	"testing"
)

// A speed chooses models, so whatever a hostile server makes of an extrapolation has one.
func TestEveryCourseHasAPace(t *testing.T) {
	for by, want := range map[int64]speed{0: 0, 1: 1, -1: -1, 3: 1, 4: 2, -15: -2, 16: 3, 255: 4, 256: 5, 1 << 40: maxSpeed, math.MaxInt64: maxSpeed, math.MinInt64: -maxSpeed} {
		if got := speedOf(by); got != want || speedOf(by).magnitude() > maxSpeed {
			t.Errorf("%d has the speed %d, want %d", by, got, want)
		}
	}
}
