package session

import "tendon/systems"

// Transport carries messages to one peer. A link and the message floor of the simulated network are wrapped into it.
type Transport interface {
	// Send takes a copy of a message of at most MaxMessage bytes (Reliable) or MaxDatagram bytes (Datagram). An error
	// says that it was not taken: a datagram is lost then, and a reliable message is offered again at the next Frame.
	Send(ch systems.Channel, message []byte) error
	// Room is how many bytes of reliable messages may be queued now.
	Room() int
}

// Sizes of the session's messages, in bytes.
const (
	// MaxMessage bounds a message on the reliable channel.
	MaxMessage = 64 << 10
	// MaxDatagram bounds a message on the datagram channel.
	MaxDatagram = systems.MaxDatagram + strategyHead
	// MaxStrategyReliable bounds what a strategy may send in one reliable message.
	MaxStrategyReliable = MaxMessage - strategyHead

	strategyHead = 2 // kind and epoch
)

// queue holds reliable messages until the transport takes them, at most limit bytes of them.
type queue struct {
	bytes []byte // messages one behind the other, from at on
	sizes []int  // of the messages, from first on
	at    int
	first int
	limit int
}

// push appends a message; ok is false if there is no room for it.
func (q *queue) push(message []byte) (ok bool) {
	if q.size()+len(message) > q.limit {
		return false
	}
	q.bytes = append(q.bytes, message...)
	q.sizes = append(q.sizes, len(message))
	return true
}

func (q *queue) size() int { return len(q.bytes) - q.at }

// drain hands messages to t while it takes them, and returns how many bytes left.
func (q *queue) drain(t Transport) (sent int) {
	for q.first < len(q.sizes) {
		n := q.sizes[q.first]
		if t.Room() < n || t.Send(systems.Reliable, q.bytes[q.at:q.at+n]) != nil {
			break
		}
		q.at += n
		q.first++
		sent += n
	}
	if q.first > 0 {
		q.bytes = q.bytes[:copy(q.bytes, q.bytes[q.at:])]
		q.sizes = q.sizes[:copy(q.sizes, q.sizes[q.first:])]
		q.at, q.first = 0, 0
	}
	return sent
}
