package relay

import "tendon/ecs"

// inputWindow is how many ticks ahead of the server an input may be.
const inputWindow = 128

// seat holds one player's inputs on the server. Input of tick f lies in slot f % inputWindow, which stores its tick.
// For each tick exactly one input is taken, the player's own or a substitute.
type seat struct {
	slots [inputWindow]seatSlot
	last  ecs.InputBytes // what was used last
	merge ecs.InputBytes // late inputs whose presses go into the next tick
	late  bool           // merge holds something

	// The worst margin since it was last told, in 1/64 of a tick.
	hasMargin  bool
	marginTick ecs.Tick
	margin     int16

	substituted uint64
	lateInputs  uint64
	meanMargin  float64
}

type seatSlot struct {
	tick ecs.Tick
	set  bool
	in   ecs.InputBytes
}

// marginUnit is the resolution of margins on the wire: 1/64 of a tick.
const marginUnit = 64

// put stores the player's input of tick f, which arrived when the server had computed tick done. early is how many
// ticks before its use it arrived, negative if it is too late. It reports whether the input was new.
func (s *seat) put(f, done ecs.Tick, in ecs.InputBytes, early float64, game *ecs.Game) bool {
	slot := &s.slots[f%inputWindow]
	if slot.set && slot.tick >= f {
		return false
	}
	slot.tick, slot.set, slot.in = f, true, in
	s.measure(f, early)
	if f <= done {
		s.lateInputs++
		if s.late {
			in = game.MergeLate(s.merge, in)
		}
		s.merge, s.late = in, true
	}
	return true
}

func (s *seat) measure(f ecs.Tick, early float64) {
	s.meanMargin += 0.1 * (early - s.meanMargin)
	m := int16(min(max(early*marginUnit, -1<<15), 1<<15-1))
	if !s.hasMargin || m < s.margin {
		s.hasMargin, s.marginTick, s.margin = true, f, m
	}
}

// take returns the input to use in tick f, and whether it had to be substituted. What was late is merged in.
func (s *seat) take(f ecs.Tick, game *ecs.Game) (in ecs.InputBytes, substituted bool) {
	slot := &s.slots[f%inputWindow]
	if slot.set && slot.tick == f {
		in = slot.in
	} else {
		in, substituted = game.PredictInput(s.last), true
		s.substituted++
	}
	if s.late {
		in = game.MergeLate(s.merge, in)
		s.late = false
	}
	s.last = in
	return in, substituted
}

// vacate forgets the player's inputs: the seat is empty or somebody else's from now on.
func (s *seat) vacate() { *s = seat{} }
