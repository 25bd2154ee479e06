package wire

// Expand16 returns the 64-bit counter with the low 16 bits low, in [near-32768, near+32767], or 65536 further inside where
// that is below zero or above 2^64-1. The caller checks whether the counter is plausible.
func Expand16(near uint64, low uint16) uint64 {
	return expand(near, int64(int16(low-uint16(near))), 1<<16)
}

// Expand32 is [Expand16] for 32 bits: the answer lies in [near-2^31, near+2^31-1].
func Expand32(near uint64, low uint32) uint64 {
	return expand(near, int64(int32(low-uint32(near))), 1<<32)
}

func expand(near uint64, distance int64, period uint64) uint64 {
	v := near + uint64(distance)
	switch {
	case distance < 0 && v > near: // below zero
		return v + period
	case distance > 0 && v < near: // above 2^64-1
		return v - period
	}
	return v
}
