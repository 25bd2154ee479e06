package motion

import (
	"tendon/ecs/fixed"
	"tendon/systems"
)

// Stamp is a moment on the wire, in units of 10 ms of its sender's clock (Cloud Wu). Closer moments count as one.
type Stamp int64

// StampUnit is the unit of a stamp.
const StampUnit = systems.Second / 100

// StampOf returns the stamp nearest to t.
func StampOf(t systems.Time) Stamp {
	t += StampUnit / 2
	if t < 0 {
		t -= StampUnit - 1
	}
	return Stamp(t / StampUnit)
}

// Time returns the moment of a stamp.
func (s Stamp) Time() systems.Time { return systems.Time(s) * StampUnit }

const (
	stampBits = 12 // of a stamp on the wire: 41 s
	ageBits   = 4
	ageUnit   = 16 * StampUnit
	ageMost   = 1<<ageBits - 1
)

// MaxAge bounds the age that a record is extrapolated over.
const MaxAge = 60 * systems.Second

// expand returns the stamp nearest to near with the given low bits.
func expand(near Stamp, low uint16) Stamp {
	const spare = 64 - stampBits
	return near + (Stamp(low)-near)<<spare>>spare
}

// Seconds returns a time in seconds.
func Seconds(t systems.Time) fixed.Num { return fixed.FromRatio(int64(t), int64(systems.Second)) }
