package verify

import (
	"slices"

	"tendon/ecs"
)

// seat is what the server knows of one player's commands. Numbers up to newest have come, numbers up to decided were
// decided on; those in between wait in the server's queue. What was decided on is never decided again: it is answered
// from rejected, and what is not in there was accepted.
//
// A seat outlives connections, so a command that was sent before a connection broke and again after it is one command.
type seat struct {
	newest   uint64
	decided  uint64
	first    uint64      // the client has answers to all numbers before it
	rejected []rejection // numbers ≥ first, ascending
	waiting  int         // commands in the queue
	rejects  uint64      // commands that were not accepted

	held ecs.InputBytes // what the player does, until he says otherwise
	said bool           // he said so in the running tick

	inputs int // inputs that he may still change
	orders int // orders that he may still give, in 1/TickRate
}

// numbersPerTick is by how much the numbers of a seat rise for each tick that a server finds behind it: by more than any
// player gives commands in a tick. So all that were given to the server before count as decided, and none is carried out
// again by one that was started anew.
const numbersPerTick = 1 << 16

// begin begins a tick. present says that the player is in the match throughout.
func (s *seat) begin(present bool, game *ecs.Game, c *Config) {
	s.inputs = min(s.inputs+c.InputsPerTick, c.InputBurst)
	s.orders = min(s.orders+c.OrdersPerSecond, c.OrderBurst*game.TickRate)
	s.said = false
	if !present {
		s.held = ecs.InputBytes{} // what somebody else did before does not go on
		return
	}
	s.held = game.Input.Predict(s.held)
}

// hear takes note that the client has answers to all numbers before first.
func (s *seat) hear(first uint64) {
	if first <= s.first {
		return
	}
	s.first = first
	s.newest = max(s.newest, first-1) // what it gave up will not come any more
	kept := s.rejected[:0]
	for _, r := range s.rejected {
		if r.number >= first {
			kept = append(kept, r)
		}
	}
	s.rejected = kept
}

// reject notes that a command was not accepted. At most maxOutstanding are kept: a client has no more without answers.
func (s *seat) reject(number uint64, why Reason) {
	s.rejects++
	if len(s.rejected) == maxOutstanding {
		s.rejected = append(s.rejected[:0], s.rejected[1:]...)
	}
	at := len(s.rejected)
	for at > 0 && s.rejected[at-1].number > number { // orders are decided on last
		at--
	}
	s.rejected = slices.Insert(s.rejected, at, rejection{number, why})
}

// mayChange takes one change of the input from the player's budget.
func (s *seat) mayChange() bool {
	if s.inputs == 0 {
		return false
	}
	s.inputs--
	return true
}

// mayOrder takes one order from the player's budget.
func (s *seat) mayOrder(ticksPerSecond int) bool {
	if s.orders < ticksPerSecond {
		return false
	}
	s.orders -= ticksPerSecond
	return true
}

// waiting is a command in the server's queue.
type waiting struct {
	seat    int
	command Command // its order lies in queue.text
}

// queue holds the commands that came since the last tick, in the order in which they came.
type queue struct {
	list []waiting
	text []byte
}

func (q *queue) push(seat int, c Command) {
	from := len(q.text)
	q.text = append(q.text, c.Order...)
	c.Order = q.text[from:len(q.text):len(q.text)] // stays where it is when text moves
	q.list = append(q.list, waiting{seat, c})
}

func (q *queue) reset() {
	clear(q.list)
	q.list, q.text = q.list[:0], q.text[:0]
}
