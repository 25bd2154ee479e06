package verify

import (
	"slices"

	"tendon/ecs"
	"tendon/net/limit"
)

// commandSeat is the server's record of one player's commands. Numbers up to newest have arrived. Numbers up to decided are
// decided, and those in between wait in the server's queue. No command is decided twice: it is answered from rejected, and
// was accepted if it is not in there.
//
// A seat outlives connections: a command that was sent before a connection broke, and again after it, is one command.
type commandSeat struct {
	newest   uint64
	decided  uint64
	first    uint64      // the client has answers to all numbers before it
	rejected []rejection // numbers ≥ first, ascending
	waiting  int         // commands in the queue
	rejects  uint64      // commands that were rejected

	held  ecs.InputBytes // the input, until the player changes it
	fresh bool           // it was changed in the running tick

	inputs limit.Limiter[ecs.Tick] // changes of the input, in 1/InputsPerTick of a tick
}

// numbersPerTick is how far the numbers of a player rise for each tick before a server's start: more than any player gives
// commands in a tick. So a server that is started again counts all commands of before as decided, and executes none twice.
const numbersPerTick = 1 << 16

// inputBurst is the most changes of a player's input that the server accepts at once.
const inputBurst = 32

// answered records that the client has answers to all numbers before first.
func (p *commandSeat) answered(first uint64) {
	if first <= p.first {
		return
	}
	p.first = first
	p.newest = max(p.newest, first-1) // commands that the client dropped do not arrive any more
	p.rejected = slices.DeleteFunc(p.rejected, func(r rejection) bool { return r.number < first })
}

// reject records that a command was rejected. At most maxOutstanding are kept: a client has no more without answers.
func (p *commandSeat) reject(number uint64, why Reason) {
	p.rejects++
	if len(p.rejected) == maxOutstanding {
		p.rejected = append(p.rejected[:0], p.rejected[1:]...)
	}
	at := len(p.rejected)
	for at > 0 && p.rejected[at-1].number > number { // orders are decided on last
		at--
	}
	p.rejected = slices.Insert(p.rejected, at, rejection{number, why})
}

// queued is a command that arrived since the last tick.
type queued struct {
	player  ecs.Player
	command Command
}
