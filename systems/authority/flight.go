package authority

import (
	"slices"

	"tendon/ecs"
)

// Flight lists the messages that were sent to a peer on the reliable channel and are not acknowledged.
type Flight struct {
	Bytes    int // of all
	messages []flightMessage
}

type flightMessage struct {
	last  ecs.Tick
	bytes int
}

// Len returns the number of messages.
func (l *Flight) Len() int { return len(l.messages) }

// Add adds a message, whose last tick is higher than that of the message before.
func (l *Flight) Add(last ecs.Tick, bytes int) {
	l.messages = append(l.messages, flightMessage{last, bytes})
	l.Bytes += bytes
}

// Acknowledge removes the messages whose last tick is ≤ f.
func (l *Flight) Acknowledge(f ecs.Tick) {
	n := 0
	for n < len(l.messages) && l.messages[n].last <= f {
		l.Bytes -= l.messages[n].bytes
		n++
	}
	l.messages = slices.Delete(l.messages, 0, n)
}

// Clear removes all messages.
func (l *Flight) Clear() { l.Bytes, l.messages = 0, l.messages[:0] }
