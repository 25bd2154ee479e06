package verify

import (
	"tendon/ecs"
	"tendon/systems"
)

// asks are the commands of the local player that are not answered: numbers first … next − 1, each in slot number % len.
// Nothing is numbered before the server has said which numbers the seat has used: others may have played it before.
type asks struct {
	slots   [maxOutstanding]Command // orders lie in buffers of their slots
	known   bool
	first   uint64
	next    uint64
	sent    uint64 // numbers before it were sent on this connection
	answers answers
}

func (a *asks) slot(number uint64) *Command { return &a.slots[number%maxOutstanding] }

// outstanding returns how many commands are not answered.
func (a *asks) outstanding() int { return int(a.next - a.first) }

// add gives a command its number.
func (a *asks) add(c Command) {
	c.Number = a.next
	slot := a.slot(a.next)
	c.Order = append(slot.Order[:0], c.Order...)
	*slot = c
	a.next++
}

// expire gives up the commands that wait for longer than timeout, and reports whether one was an input.
func (a *asks) expire(now, timeout systems.Time) (input bool) {
	for a.first < a.next && now-a.slot(a.first).Sent >= timeout {
		c := a.slot(a.first)
		input = input || c.Kind == CommandInput
		a.answers.add(c, ReasonTimedOut)
		a.first++
	}
	a.sent = max(a.sent, a.first)
	return input
}

// hear takes the server's answers. again reports whether an input has to be stated again: one was rejected for a
// reason that passes, or nobody knows what came of it.
//
// An answer to a number that was not given here comes of a server that was started again, or of another process with
// this seat: then what became of the commands under way is not known.
func (a *asks) hear(m *stateMessage) (rejected int, again bool) {
	a.known = true
	if a.next <= m.answered {
		for ; a.first < a.next; a.first++ {
			c := a.slot(a.first)
			again = again || c.Kind == CommandInput
			a.answers.add(c, ReasonTimedOut)
		}
		a.first, a.next = m.answered+1, m.answered+1
		a.sent = a.first
		return 0, again
	}
	rejections := m.rejected
	for ; a.first < a.next && a.first <= m.answered; a.first++ {
		for len(rejections) > 0 && rejections[0].number < a.first {
			rejections = rejections[1:]
		}
		c, why := a.slot(a.first), Accepted
		if len(rejections) > 0 && rejections[0].number == a.first {
			why = rejections[0].reason
			rejected++
			again = again || c.Kind == CommandInput && why != ReasonInvalid
		}
		a.answers.add(c, why)
	}
	a.sent = max(a.sent, a.first)
	return rejected, again
}

// appendFrom appends commands from a number on.
func (a *asks) appendFrom(dst []Command, number uint64) []Command {
	for ; number < a.next; number++ {
		dst = append(dst, *a.slot(number))
	}
	return dst
}

// answers are what came of commands and was not asked for yet.
type answers struct {
	list []Answer
	text []byte // orders of list
}

// maxAnswers bounds the answers that wait for somebody who does not ask; what is older is forgotten.
const maxAnswers = 256

func (a *answers) add(c *Command, why Reason) {
	if len(a.list) == maxAnswers {
		a.list, a.text = a.list[:0], a.text[:0]
	}
	a.text = append(a.text, c.Order...)
	a.list = append(a.list, Answer{*c, why})
}

func (a *answers) drain(f func(Answer)) {
	at := 0
	for _, answer := range a.list {
		size := len(answer.Command.Order)
		answer.Command.Order = a.text[at : at+size : at+size]
		at += size
		f(answer)
	}
	a.list, a.text = a.list[:0], a.text[:0]
}

// controls are what the local player does with his input.
type controls struct {
	now   ecs.InputBytes // what he does
	fresh bool           // he said so since a tick was last sampled
	last  ecs.InputBytes // what he did when it was
	again bool           // the server may hold another one than last: it has to be told
}

// set says what the player does from now on. A press that was not sampled yet is not lost.
func (c *controls) set(in ecs.InputBytes, game *ecs.Game) {
	game.CleanInput(&in)
	if c.fresh {
		in = game.MergeLate(c.now, in)
	}
	c.now, c.fresh = in, true
}

// change samples a tick and returns what the player does in it; changed is false if everybody expects that.
func (c *controls) change(game *ecs.Game) (in ecs.InputBytes, changed bool) {
	expected := game.PredictInput(c.last)
	if in = expected; c.fresh {
		in = c.now
	}
	changed = c.again || in != expected
	c.last, c.fresh, c.again = in, false, false
	return in, changed
}

// restart says which input the server has of the player. What he holds down he goes on to hold; presses of before are
// forgotten.
func (c *controls) restart(held ecs.InputBytes, game *ecs.Game) {
	c.now, c.fresh, c.last, c.again = game.PredictInput(c.now), true, held, false
}
