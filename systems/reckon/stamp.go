package reckon

import (
	"tendon/ecs/fixed"
	"tendon/systems"
)

// Stamp is a moment on the wire, in units of 10 ms of its sender's clock (Cloud Wu). Closer moments count as one.
type Stamp int64

// stampUnit is the unit of a stamp.
const stampUnit = systems.Second / 100

// stampOf returns the stamp nearest to t.
func stampOf(t systems.Time) Stamp {
	t += stampUnit / 2
	if t < 0 {
		t -= stampUnit - 1
	}
	return Stamp(t / stampUnit)
}

// time returns the moment of a stamp.
func (s Stamp) time() systems.Time { return systems.Time(s) * stampUnit }

// age returns the age of a record with a stamp, at now on the sender's clock. Where clocks are not exchanged, it is
// Assumed: a prediction is then wrong by the speed times the difference to the real delay.
func (c *Config) age(s Stamp, now systems.Time) systems.Time {
	if c.Assumed > 0 {
		return c.Assumed
	}
	return now - s.time()
}

const (
	stampBits = 12 // of a stamp on the wire: 41 s
	ageBits   = 4
	ageUnit   = 16 * stampUnit
	ageMost   = 1<<ageBits - 1
)

// expand returns the stamp nearest to near with the given low bits.
func expand(near Stamp, low uint16) Stamp {
	const spare = 64 - stampBits
	return near + (Stamp(low)-near)<<spare>>spare
}

// seconds returns a time in seconds.
func seconds(t systems.Time) fixed.Num { return fixed.FromRatio(int64(t), int64(systems.Second)) }
