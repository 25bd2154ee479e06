package state

import (
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
)

// extrapolate appends the values at tick now of numbers that went evenly from the values at tick second to those at a later
// tick base, and their speeds. Patterns stay as they are at base. It computes in integers that wrap around, so that server
// and client get the same result for all values.
func (s *schema) extrapolate(dst []uint64, speeds []speed, set image.ComponentSet, from, to []uint64, second, base, now ecs.Tick) ([]uint64, []speed) {
	at, span, ahead := 0, int64(base-second), int64(now-base)
	for ; set != 0; set &= set - 1 {
		p := &s.parts[bits.TrailingZeros64(uint64(set))]
		for k := range p.context {
			v, goes := to[at], speed(0)
			if by := int64(v - from[at]); by != 0 && !p.pattern[k] {
				by *= ahead
				if by < 0 {
					by -= span / 2
				} else {
					by += span / 2
				}
				by /= span
				v += uint64(by)
				goes = speedOf(by)
			}
			dst, speeds = append(dst, v), append(speeds, goes)
			at++
		}
	}
	return dst, speeds
}
