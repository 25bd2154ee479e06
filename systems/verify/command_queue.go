package verify

import (
	"tendon/ecs"
	"tendon/systems"
)

// commandQueue holds the local player's commands without an answer: numbers first … next − 1, each in slot number % len.
// No command gets a number before the server has sent the numbers that the seat has used: others may have played it.
type commandQueue struct {
	slots   [maxOutstanding]Command // with orders in buffers of their slots
	known   bool                    // the server has sent the used numbers
	first   uint64
	next    uint64
	sent    uint64 // numbers before it were sent on this connection
	answers answers
}

func (a *commandQueue) slot(number uint64) *Command { return &a.slots[number%maxOutstanding] }

// outstanding returns the number of commands without an answer.
func (a *commandQueue) outstanding() int { return int(a.next - a.first) }

// add gives a command its number.
func (a *commandQueue) add(c Command) {
	c.Number = a.next
	slot := a.slot(a.next)
	c.Order = append(slot.Order[:0], c.Order...)
	*slot = c
	a.next++
}

// expire gives up the commands that wait for longer than timeout, and reports whether one was an input.
func (a *commandQueue) expire(now, timeout systems.Time) (input bool) {
	for a.first < a.next && now-a.slot(a.first).Sent >= timeout {
		c := a.slot(a.first)
		input = input || c.Kind == CommandInput
		a.answers.add(c, ReasonTimedOut)
		a.first++
	}
	a.sent = max(a.sent, a.first)
	return input
}

// receive accepts the server's answers. again reports whether an input must be sent again: one was rejected for a
// temporary reason, or its result is unknown.
//
// An answer to a number that was not given here means that the server was restarted, or that another process had this
// seat. The results of the commands under way are then unknown.
func (a *commandQueue) receive(m *stateMessage) (rejected int, again bool) {
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
func (a *commandQueue) appendFrom(dst []Command, number uint64) []Command {
	for ; number < a.next; number++ {
		dst = append(dst, *a.slot(number))
	}
	return dst
}

// answers are the results of commands that were not drained yet.
type answers struct {
	list []Answer
	text []byte // orders of list
}

// maxAnswers is the most answers that wait for Drain. Beyond it, all of them are dropped.
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

// controls is the local player's input.
type controls struct {
	now   ecs.InputBytes // the input from now on
	fresh bool           // it was set since a tick was last sampled
	last  ecs.InputBytes // the input of that tick
	again bool           // the server may hold another input than last: it must be sent
}

// set sets the input from now on. A press that was not sampled yet is not lost.
func (c *controls) set(in ecs.InputBytes, game *ecs.Game) {
	in = game.Input.Clean(in)
	if c.fresh {
		in = game.Input.MergeLate(c.now, in)
	}
	c.now, c.fresh = in, true
}

// change samples a tick and returns its input; changed is false for the predicted input.
func (c *controls) change(game *ecs.Game) (in ecs.InputBytes, changed bool) {
	expected := game.Input.Predict(c.last)
	if in = expected; c.fresh {
		in = c.now
	}
	changed = c.again || in != expected
	c.last, c.fresh, c.again = in, false, false
	return in, changed
}

// restart sets the input that the server has of the player. A held button stays held; presses of before are dropped.
func (c *controls) restart(held ecs.InputBytes, game *ecs.Game) {
	c.now, c.fresh, c.last, c.again = game.Input.Predict(c.now), true, held, false
}
