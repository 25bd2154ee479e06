package state

import (
	"math"
	"math/rand/v2"
	"testing"

	"tendon/ecs"
)

// quantised returns a rotation as four scalars.
func quantised(q [4]float64, scale float64) (values []uint64) {
	left := 0
	for i := range q {
		if math.Abs(q[i]) > math.Abs(q[left]) {
			left = i
		}
	}
	values = append(values, uint64(left))
	for i := range q {
		if i != left {
			values = append(values, uint64(int64(math.Round(math.Copysign(q[i], q[i]*q[left])*scale*math.Sqrt2))))
		}
	}
	return values
}

// spinning returns a rotation of constant angular speed after a number of ticks.
func spinning(r *rand.Rand) func(ticks float64) [4]float64 {
	unit := func() (v [4]float64) {
		n := 0.0
		for i := range v {
			v[i] = r.NormFloat64()
			n += v[i] * v[i]
		}
		for i := range v {
			v[i] /= math.Sqrt(n)
		}
		return v
	}
	a, b := unit(), unit()
	dot := a[0]*b[0] + a[1]*b[1] + a[2]*b[2] + a[3]*b[3]
	n := 0.0
	for i := range b { // at a right angle to a: the turn goes around an axis of its own
		b[i] -= dot * a[i]
		n += b[i] * b[i]
	}
	rate := r.Float64() / 30 // up to four turns a second at 60 ticks
	return func(ticks float64) (q [4]float64) {
		sin, cos := math.Sincos(rate * ticks)
		for i := range q {
			q[i] = a[i]*cos + b[i]/math.Sqrt(n)*sin
		}
		return q
	}
}

// An even turn is predicted across changes of the part that is left out.
func TestEvenTurnsArePredicted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := moments{count: 2, ticks: [maxMoments]ecs.Tick{12, 9}}
	m.prepare(18)
	changes, total := 0, 0.0
	const rounds = 2000
	for range rounds {
		at := spinning(r)
		var from [maxMoments][]uint64
		for i, tick := range m.ticks {
			from[i] = quantised(at(float64(tick)), 256)
		}
		want := quantised(at(18), 256)
		values, courses := make([]uint64, 4), make([]course, 4)
		predictRotation(values, courses, 256, from[1], from[0], m.factor)
		if want[0] != from[0][0] {
			changes++
		}
		if want[0] != values[0] { // two parts are nearly equal
			rebase(values, 256, want[0])
		}
		for k := 1; k < 4; k++ {
			off := magnitude(int64(want[k] - values[k]))
			total += float64(off)
			if off > 8 {
				t.Fatalf("%d: predicted as %d, from %d and %d", want, values, from[0], from[1])
			}
		}
	}
	if mean := total / rounds / 3; changes < rounds/20 || mean > 1.3 {
		t.Errorf("%d changes of the part that is left out, predictions are off by %.2f", changes, mean)
	}
}

// Numbers that are no rotation are left alone, whatever they are.
func TestOnlyRotationsAreTurned(t *testing.T) {
	m := moments{count: 2, ticks: [maxMoments]ecs.Tick{12, 9}}
	m.prepare(18)
	good := []uint64{1, 10, 20, 30}
	for _, bad := range [][]uint64{{4, 0, 0, 0}, {math.MaxUint64, 0, 0, 0}, {0, 513, 0, 0}, {0, 0, 1 << 63, 0}, {0, 0, 0, ^uint64(512)}} {
		for _, from := range [][2][]uint64{{bad, good}, {good, bad}} {
			values, courses := []uint64{9, 9, 9, 9}, make([]course, 4)
			predictRotation(values, courses, 256, from[0], from[1], m.factor)
			if values[0] != 9 {
				t.Errorf("%d: predicted as %d", from, values)
			}
		}
	}
	values := []uint64{1, 10, 20, 30}
	if rebase(values, 256, 4); values[1] != 10 {
		t.Errorf("rebased to part 4: %d", values)
	}
}
