package reckon

import (
	"tendon/ecs/fixed"
	"tendon/systems"
)

// Stamp is a moment on the wire, in units of 10 ms of its sender's clock (Cloud Wu). What is closer counts as at the
// same time.
type Stamp int64

// Unit is the unit of a stamp.
const Unit = systems.Second / 100

// StampOf returns the stamp nearest to t.
func StampOf(t systems.Time) Stamp {
	t += Unit / 2
	if t < 0 {
		t -= Unit - 1
	}
	return Stamp(t / Unit)
}

// Time returns the moment that a stamp stands for.
func (s Stamp) Time() systems.Time { return systems.Time(s) * Unit }

// Dating says how old a record is when it arrives. With Assumed at zero, the clocks say it; otherwise there is no clock
// exchange (NoClock) and every record counts as Assumed old: what is predicted is then wrong by the speed times the
// difference to the real delay, which for an even delay is a constant and for a jittery one is not.
type Dating struct {
	// Assumed is the way from sender to receiver, [0, 3 s].
	Assumed systems.Time
}

// Age returns the age of a record of stamp s at now, which is what the sender's clock shows; now is not looked at
// without clocks.
func (d Dating) Age(s Stamp, now systems.Time) systems.Time {
	if d.Assumed > 0 {
		return d.Assumed
	}
	return now - s.Time()
}

const (
	stampBits = 12 // of a stamp on the wire: 41 s
	ageBits   = 4
	ageUnit   = 16 * Unit
	ageMost   = 1<<ageBits - 1
)

// expand returns the stamp nearest to near that ends in the low bits.
func expand(near Stamp, low uint16) Stamp {
	const spare = 64 - stampBits
	return near + (Stamp(low)-near)<<spare>>spare
}

// seconds returns a time in seconds.
func seconds(t systems.Time) fixed.Num { return fixed.FromRatio(int64(t), int64(systems.Second)) }
