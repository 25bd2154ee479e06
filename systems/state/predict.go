package state

import (
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
)

// maxMoments is the number of moments that a prediction uses.
const maxMoments = 3

// momentBits is the number of bits of a number of moments.
const momentBits = 2

// moments are the ticks whose values both sides know, descending. The first is the reference: the newest acknowledged tick.
type moments struct {
	ticks     [maxMoments]ecs.Tick
	sequences [maxMoments]uint64 // of the newest accepted delta up to each tick, on a server
	count     int
	// factors are the ratios of the time to predict to that between two moments, in 1/2^24.
	factors [maxMoments - 1]int64
}

const factorBits = 24

// prepare sets the factors of a delta of tick now.
func (m *moments) prepare(now ecs.Tick) {
	for i := range max(m.count-1, 0) {
		m.factors[i] = int64(now-m.ticks[0]) << factorBits / int64(m.ticks[i]-m.ticks[i+1])
	}
}

// course is how a prediction of a number goes on from the reference.
type course struct {
	size uint32 // of the way, and of its difference from that of uniform acceleration
	down bool
}

func courseOf(by, bend int64) course {
	const most = 1 << maxSize
	return course{size: uint32(min(magnitude(by), most) + min(magnitude(bend), most)), down: by < 0}
}

// predict appends the present values of numbers that continue evenly from the values at the last moments, and their courses.
// at holds their values at the moments; nil after those that are not known. Patterns stay as they are at the reference. It
// computes in integers that wrap around, so that server and client get the same result for all values.
func (s *schema) predict(dst []uint64, courses []course, set image.ComponentSet, at [maxMoments][]uint64, m *moments) ([]uint64, []course) {
	for ; set != 0; set &= set - 1 {
		p := &s.parts[bits.TrailingZeros64(uint64(set))]
		n := len(dst)
		for k := range p.context {
			v, by, bend := at[0][k], int64(0), int64(0)
			if !p.pattern[k] {
				by = scaled(v-at[1][k], m.factors[0])
				if at[2] != nil {
					bend = by - scaled(at[1][k]-at[2][k], m.factors[1])
				}
			}
			dst, courses = append(dst, v+uint64(by)), append(courses, courseOf(by, bend))
		}
		for _, k := range p.rotations {
			from := at
			for i := range from {
				if from[i] != nil {
					from[i] = from[i][k : k+4]
				}
			}
			predictRotation(dst[n+k:n+k+4], courses[n+k:n+k+4], p.scale[k], &from, m)
		}
		for i := range at {
			if at[i] != nil {
				at[i] = at[i][len(p.context):]
			}
		}
	}
	return dst, courses
}

func scaled(v uint64, factor int64) int64 {
	if v == 0 {
		return 0
	}
	return (int64(v)*factor + 1<<(factorBits-1)) >> factorBits
}
