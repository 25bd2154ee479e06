package state

import (
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
)

// maxMoments is the number of moments that a prediction uses.
const maxMoments = 2

// momentBits is the size of a coded number of moments.
const momentBits = 2

// moments are the ticks that predictions are made from, descending. The first is the reference: the newest acknowledged tick.
type moments struct {
	ticks    [maxMoments]ecs.Tick
	count    int
	factor   int64  // ratio of the time to predict to that between two moments, in 1/2^factorBits
	sequence uint64 // of the delta of the second, on a server
}

const factorBits = 24

// prepare sets the factor of a delta of tick now.
func (m *moments) prepare(now ecs.Tick) {
	if m.count == maxMoments {
		m.factor = int64(now-m.ticks[0]) << factorBits / int64(m.ticks[0]-m.ticks[1])
	}
}

// course is the difference of a predicted number from the reference.
type course struct {
	size uint32 // magnitude, limited
	sign int32  // −1 if it is negative, else 1
}

func courseOf(by int64) course {
	return course{size: uint32(min(magnitude(by), 1<<maxSize)), sign: int32(signOf(by))}
}

func signOf(v int64) int64 { return v>>63 | 1 }

// predict appends values predicted from those at the second moment (from) and at the reference (to), and their courses. It
// extrapolates linearly. Patterns keep their values at the reference. It computes in integers that wrap around, so server and
// client compute the same result for all values.
func (s *schema) predict(dst []uint64, courses []course, set image.ComponentSet, from, to []uint64, factor int64) ([]uint64, []course) {
	dst, courses = append(dst, to...), append(courses, make([]course, len(to))...)
	values, by := dst[len(dst)-len(to):], courses[len(courses)-len(to):]
	for ; set != 0; set &= set - 1 {
		p := &s.parts[bits.TrailingZeros64(uint64(set))]
		for _, k := range p.numbers {
			values[k], by[k] = continued(from[k], to[k], factor)
		}
		for _, k := range p.rotations {
			if predictRotation(values[k:], by[k:], p.scale[k], from[k:], to[k:], factor) {
				continue
			}
			for i := k + 1; i < k+4; i++ {
				values[i], by[i] = continued(from[i], to[i], factor)
			}
		}
		n := len(p.context)
		values, by, from, to = values[n:], by[n:], from[n:], to[n:]
	}
	return dst, courses
}

// continued returns a number that is predicted linearly, and its course.
func continued(from, to uint64, factor int64) (uint64, course) {
	by := (int64(to-from)*factor + 1<<(factorBits-1)) >> factorBits
	return to + uint64(by), courseOf(by)
}
