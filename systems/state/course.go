package state

import (
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Even motion needs no bytes: the values of two held ticks predict the value now. A server codes against that prediction
// where it is nearer than the newer of the two values. Both sides compute in whole numbers that wrap around, so they get the
// same result for all numbers.

// courseOf appends the predicted values at tick now, and their paces. It extrapolates numbers evenly from the values of tick
// second through those of the later tick base. Patterns stay as they are at base.
func (s *schema) courseOf(dst []uint64, paces []pace, set image.ComponentSet, from, to []uint64, second, base, now ecs.Tick) ([]uint64, []pace) {
	at, span, ahead := 0, int64(base-second), int64(now-base)
	for ; set != 0; set &= set - 1 {
		p := &s.parts[bits.TrailingZeros64(uint64(set))]
		for k := range p.context {
			v, goes := to[at], pace(0)
			if by := int64(v - from[at]); by != 0 && !p.pattern[k] {
				by *= ahead
				if by < 0 {
					by -= span / 2
				} else {
					by += span / 2
				}
				by /= span
				v += uint64(by)
				goes = paceOf(by)
			}
			dst, paces = append(dst, v), append(paces, goes)
			at++
		}
	}
	return dst, paces
}
