package relay

import (
	"math"

	"tendon/ecs"
)

// inputWindow is how many ticks of a player's inputs are held: half of them may lie ahead of the server, half behind.
const inputWindow = 128

// seat holds one player's inputs on the server. Input of tick f lies in slot f % inputWindow, which stores its tick;
// what came first stays. For each tick exactly one input is taken, the player's own or a substitute.
type seat struct {
	slots [inputWindow]seatSlot
	last  ecs.InputBytes // what was used last
	merge ecs.InputBytes // late inputs whose presses go into the next tick
	late  bool           // merge holds something
	since ecs.Tick       // inputs of ticks up to it are of no use: nobody was here

	worst      margin // the worst margin since it was last told
	meanMargin float64
	measured   bool // meanMargin holds something

	substituted uint64
	lateInputs  uint64
	strikes     int // times that the player's state differed
}

type seatSlot struct {
	tick ecs.Tick
	set  bool
	in   ecs.InputBytes
}

// margin is how much before its use the input of a tick arrived, in 1/64 of a tick, negative if too late.
type margin struct {
	tick  ecs.Tick
	value int16
	set   bool
}

// marginUnit is the resolution of margins on the wire.
const marginUnit = 64

// put stores the player's input of tick f, which arrived when the server had computed tick done. It reports whether
// the input was new: it tells how late the player's inputs are, even before there is a player to use them for.
func (s *seat) put(f, done ecs.Tick, in ecs.InputBytes, game *ecs.Game) bool {
	slot := &s.slots[f%inputWindow]
	if slot.set && slot.tick >= f {
		return false
	}
	slot.tick, slot.set, slot.in = f, true, in
	if f <= done && f > s.since {
		s.lateInputs++
		if s.late {
			in = game.MergeLate(s.merge, in)
		}
		s.merge, s.late = in, true
	}
	return true
}

// measure notes that the input of tick f arrived early ticks before its use.
func (s *seat) measure(f ecs.Tick, early float64) {
	if !s.measured {
		s.meanMargin, s.measured = early, true
	}
	s.meanMargin += 0.1 * (early - s.meanMargin)
	m := int16(min(max(math.Round(early*marginUnit), -1<<15), 1<<15-1))
	if !s.worst.set || m < s.worst.value {
		s.worst = margin{tick: f, value: m, set: true}
	}
}

// take returns the input to use in tick f, and whether it is another than the player sent for it. What was late is
// merged in.
func (s *seat) take(f ecs.Tick, game *ecs.Game) (in ecs.InputBytes, altered bool) {
	slot := &s.slots[f%inputWindow]
	if slot.set && slot.tick == f {
		in = slot.in
	} else {
		in, altered = game.PredictInput(s.last), true
		s.substituted++
	}
	if s.late {
		merged := game.MergeLate(s.merge, in)
		altered = altered || merged != in
		in, s.late = merged, false
	}
	s.last = in
	return in, altered
}

// vacant is called in every tick before which the player was not in the match: what somebody else did before does not
// go on, and is not held against who comes next.
func (s *seat) vacant(f ecs.Tick) {
	s.last, s.late, s.since, s.strikes = ecs.InputBytes{}, false, f, 0
}

// forget drops the inputs that wait after tick done, when another connection takes the seat: its owner may be another
// one too.
func (s *seat) forget(done ecs.Tick) {
	s.since = done
	for i := range s.slots {
		s.slots[i].set = false
	}
	s.late, s.worst, s.measured = false, margin{}, false
}
