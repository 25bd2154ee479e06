package verify

import (
	"bytes"
	"slices"

	"tendon/ecs"
	"tendon/systems"
)

// Command is a request of the local player. The commands of a seat are numbered from 1 on, across connections and
// processes. A number always stands for the same command, which is executed at most once.
type Command struct {
	Number uint64
	Kind   CommandKind
	Input  ecs.InputBytes // of an input
	Given  uint64         // of an order: its number in a systems.Refusal
	Target ecs.Entity     // of an order
	Order  []byte         // of an order
	Sent   systems.Time   // when it was given
}

// CommandKind is the kind of a command.
type CommandKind uint8

// The kinds of commands.
const (
	CommandInput CommandKind = iota // a new input of the player, which holds until the next
	CommandOrder                    // an order
)

// Reason is the result of a command.
type Reason uint8

// The reasons. Those from ReasonInvalid to ReasonAbsent are the server's.
const (
	Accepted       Reason = iota // it took effect
	ReasonInvalid                // the game does not declare it, or Game.Validate or its OrderRule refused it
	ReasonRate                   // there were too many of its kind
	ReasonAbsent                 // the player was not in the match
	ReasonTimedOut               // no answer came, or will come: its result is unknown
)

// Answer is a command with its result.
type Answer struct {
	Command Command
	Reason  Reason
}

// commandQueue holds the local player's commands without an answer; list[0] has the number first. No command gets a number
// before the server has sent the numbers that the seat has used: another process may have used them.
type commandQueue struct {
	list    []Command
	known   bool // the server has sent the used numbers
	first   uint64
	sent    uint64   // numbers before it were sent on this connection
	answers []Answer // that were not drained yet
}

func (q *commandQueue) next() uint64 { return q.first + uint64(len(q.list)) }

func (q *commandQueue) add(c Command) {
	c.Number, c.Order = q.next(), bytes.Clone(c.Order)
	q.list = append(q.list, c)
}

// answer ends the oldest command. again reports whether it was an input that must be sent again, because its result is
// temporary or unknown.
func (q *commandQueue) answer(why Reason) (again bool) {
	c := q.list[0]
	q.list = slices.Delete(q.list, 0, 1)
	q.first++
	q.sent = max(q.sent, q.first)
	if len(q.answers) == maxAnswers {
		q.answers = q.answers[:0]
	}
	q.answers = append(q.answers, Answer{c, why})
	return c.Kind == CommandInput && why != Accepted && why != ReasonInvalid
}

// expire ends the commands that wait for longer than timeout, and reports whether an input must be sent again.
func (q *commandQueue) expire(now, timeout systems.Time) (again bool) {
	for len(q.list) > 0 && now-q.list[0].Sent >= timeout {
		again = q.answer(ReasonTimedOut) || again
	}
	return again
}

// receive accepts the server's answers. again reports whether an input must be sent again.
//
// An answer to a number that was not given here means that the server was restarted, or that another process had this
// seat. The results of the commands under way are then unknown.
func (q *commandQueue) receive(m *stateMessage) (rejected int, again bool) {
	q.known = true
	if q.next() <= m.answered {
		for len(q.list) > 0 {
			again = q.answer(ReasonTimedOut) || again
		}
		q.first, q.sent = m.answered+1, m.answered+1
		return 0, again
	}
	rejections := m.rejected
	for len(q.list) > 0 && q.first <= m.answered {
		for len(rejections) > 0 && rejections[0].number < q.first {
			rejections = rejections[1:]
		}
		why := Accepted
		if len(rejections) > 0 && rejections[0].number == q.first {
			why = rejections[0].reason
			rejected++
		}
		again = q.answer(why) || again
	}
	return rejected, again
}
