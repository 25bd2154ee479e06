package simnet

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

// dice draws everything random about one direction, in integers: Log and Exp differ between targets in their last bit.
type dice struct{ pcg rand.PCG }

// Streams of one direction, mixed into its seed. Weather is what changes with time and not with the traffic.
const (
	streamDice uint64 = iota + 1
	streamBurst
	streamWalk
	streamCross
)

func newDice(seed, stream uint64) dice {
	var d dice
	d.pcg.Seed(mix(seed, stream), mix(stream, seed))
	return d
}

// mix hashes two words into one (the finaliser of SplitMix64 over their combination; Steele, Lea, Flood 2014).
func mix(a, b uint64) uint64 {
	z := bits.RotateLeft64(a, 32) ^ (b+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// hit is true with the chance p, in units of 2^-53, to which a float scales exactly. It draws nothing for a chance of zero.
func (d *dice) hit(p float64) bool {
	chance := uint64(p * (1 << 53))
	return chance > 0 && d.pcg.Uint64()>>11 < chance
}

// below returns a number in [0, n), n ≥ 1. Its bias is below n/2^64.
func (d *dice) below(n uint64) uint64 {
	hi, _ := bits.Mul64(d.pcg.Uint64(), n)
	return hi
}

// uniform is even in [−size, +size].
func (d *dice) uniform(size time.Duration) time.Duration {
	return time.Duration(d.below(2*uint64(size)+1)) - size
}

// exponential has the given mean.
func (d *dice) exponential(mean time.Duration) time.Duration {
	return scale(d.exponentialUnits(), mean)
}

// normal has mean zero and the standard deviation sigma. Half a normal is drawn by rejection from an exponential: x is
// accepted if a second exponential exceeds (x−1)²/2. Then a sign is drawn. 76 % of tries are accepted.
func (d *dice) normal(sigma time.Duration) time.Duration {
	for range 64 {
		x := d.exponentialUnits()
		distance := x - unit
		if x < unit {
			distance = unit - x
		}
		hi, lo := bits.Mul64(distance, distance)
		if d.exponentialUnits() < (hi<<32|lo>>32)/2 {
			continue
		}
		if d.pcg.Uint64()>>63 == 0 {
			return -scale(x, sigma)
		}
		return scale(x, sigma)
	}
	return 0 // once in 10^39 draws
}

// unit is 1 in fixed point with 32 bits after the point.
const unit uint64 = 1 << 32

// scale multiplies in fixed point. x is below 2^38 and size at most 10^15 ns, so the result is below 2^56.
func scale(x uint64, size time.Duration) time.Duration {
	hi, lo := bits.Mul64(x, uint64(size))
	return time.Duration(hi<<32 | lo>>32)
}

// exponentialUnits draws from the exponential distribution of mean 1 in units of 2^-32, after von Neumann (1951). The
// first of a falling run of uniforms is the fraction if the run's length is odd. Each run of even length adds one.
func (d *dice) exponentialUnits() uint64 {
	const most = 63 // reached once in 10^27 draws; it bounds the loop
	for whole := uint64(0); ; whole++ {
		first := d.pcg.Uint64()
		last, odd := first, true
		for {
			next := d.pcg.Uint64()
			if next >= last {
				break
			}
			last, odd = next, !odd
		}
		if odd || whole == most {
			return whole<<32 | first>>32
		}
	}
}
